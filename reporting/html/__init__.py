"""The report as one page: no network, nothing to install, and no script needed to read it."""

from .page import write

__all__ = ["write"]
