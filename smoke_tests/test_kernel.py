"""The kernel's log: faults that the hardware and its drivers have reported of late."""

import pytest

pytestmark = pytest.mark.tier1


@pytest.mark.quick
def test_gpu(kernel):
    """A GPU that had a hardware fault minutes ago has it again in the next job."""
    kernel.has_no_faults("gpu")


@pytest.mark.quick
def test_pcie(kernel):
    """PCIe errors come before a device is lost, and slow it down until then."""
    kernel.has_no_faults("pcie")


@pytest.mark.quick
def test_machine(kernel):
    """Machine checks, stuck processors and tasks, and failing disks end jobs without a word."""
    kernel.has_no_faults("machine")


@pytest.mark.quick
def test_network(kernel):
    """An adapter whose firmware stopped answering takes every rank of a job with it."""
    kernel.has_no_faults("network")
