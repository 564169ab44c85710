"""Run from a clone: load the plugin that an installed copy loads by its entry point."""

import sys

if "node_smoke.fixtures.plugin" not in sys.modules:
    pytest_plugins = ["fixtures.plugin"]
