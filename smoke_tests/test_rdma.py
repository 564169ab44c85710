"""RDMA: the ports that training talks through, all there, up, reachable and as fast as expected."""

import pytest

pytestmark = [pytest.mark.tier1, pytest.mark.quick]


def test_selection(rdma_selection):
    """With seven of eight NICs a job runs, at the pace of the rail that is missing."""
    rdma_selection()


def test_port_state(rdma_port):
    """A port that is not up takes its rail out of every collective, or the job with it."""
    rdma_port.is_up()


def test_gid(rdma_port):
    """Without a routable GID at the index that NCCL uses, connections to other nodes time out."""
    rdma_port.has_a_gid()


def test_rate(rdma_port):
    """A port that trained at a lower rate than its likes slows every rank of the job."""
    rdma_port.has_its_rate()


def test_lag(rdma_port):
    """A bond with a leg down still says that it is up, at half of its rate."""
    rdma_port.has_all_legs()


def test_counters(rdma_port):
    """Error counters that grow are a link that is about to flap under load."""
    rdma_port.counts_no_errors()
