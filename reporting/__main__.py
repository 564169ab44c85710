"""`python -m reporting`, the same command as the installed `node-smoke`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
