"""Plays recorded cases under the real suite: fake tools, a tree for sysfs, and what came of it."""
