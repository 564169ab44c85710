"""The clock: kept, and by somebody."""

import pytest

pytestmark = pytest.mark.tier1


@pytest.mark.quick
def test_synchronised(clock_synchronised):
    """With clocks apart, logs of a job's nodes can't be put in order, and tokens expire early."""
    clock_synchronised()


@pytest.mark.quick
def test_daemon(clock_has_daemon):
    """A clock that nobody keeps drifts by seconds a day."""
    clock_has_daemon()
