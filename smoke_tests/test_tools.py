"""The vendors' tools: what operators, monitoring and half of these checks rely on."""

import pytest

pytestmark = pytest.mark.tier1


@pytest.mark.quick
def test_answer(tools):
    """A driver that is about to wedge first shows in a tool that takes long, or hangs."""
    tools.answer()


@pytest.mark.quick
def test_present(tools):
    """Without its tool a check is blind: that must be known, and may be refused."""
    tools.present()
