"""The way between GPUs and NICs: near, direct, and allowed."""

import pytest

pytestmark = pytest.mark.tier1


@pytest.mark.quick
def test_nearest_nic(gpu, gpudirect):
    """A GPU whose NIC hangs on another CPU sends slower than the others, which wait for it."""
    gpudirect.has_near_nic(gpu.device)


@pytest.mark.quick
def test_memory(gpudirect):
    """Without GPUDirect RDMA every message is copied through the host's memory, unnoticed."""
    gpudirect.reaches_memory()


@pytest.mark.quick
def test_acs(gpudirect):
    """Where ACS redirects, traffic between a GPU and the NIC beside it goes through the CPU."""
    gpudirect.goes_straight()


@pytest.mark.quick
def test_iommu(gpudirect):
    """An IOMMU that translates slows traffic between GPU and NIC, or stops it."""
    gpudirect.is_not_translated()
