"""The host: limits that training jobs run into."""

import pytest

pytestmark = pytest.mark.tier1

UNLIMITED = -1


def test_torch(torch_imports):
    """A node on which torch can't be imported runs no job, whatever its GPUs can do."""
    torch_imports()


@pytest.mark.quick
def test_memlock(host_limit, judge):
    """RDMA pins memory: below this limit the job fails when the fabric is loaded, not at start."""
    soft = host_limit("memlock").value
    if soft == UNLIMITED:
        judge.record(UNLIMITED, "GiB")
    else:
        what = "locked memory (memlock, soft limit)"
        judge.expect(what, soft / 2**30, at_least="ulimit_l_min_gb")


@pytest.mark.quick
def test_shm(host_limit, judge):
    """NCCL's shared-memory transport and data loaders live in /dev/shm."""
    judge.expect("/dev/shm", host_limit("shm").value / 2**30, at_least="shm_min_gb")
