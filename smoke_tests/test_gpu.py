"""GPUs: there, usable, nobody else's."""

import pytest

pytestmark = pytest.mark.tier1


def test_visible(gpus_visible):
    """With fewer GPUs than its ranks need, a job dies at start or shares a device."""
    gpus_visible()


def test_bind(gpu):
    """A wedged driver or a stale context shows first where a process binds its device."""
    gpu.is_itself(gpu.completes("bind"))


def test_memory(gpu):
    """A GPU that can't tell its memory can't be given any."""
    gpu.has_memory()


def test_allocate(gpu):
    """Memory that can't be allocated, written and synchronised is the job's first out-of-memory."""
    gpu.completes("allocate")


def test_gemm(gpu):
    """A GPU that multiplies into infinities or NaN ruins the loss of every rank."""
    gpu.multiplies()


def test_memory_in_use(gpu, judge):
    """Memory in use before we came is a leaked process: the next job runs out of memory."""
    used = gpu.memory_in_use().used / 2**30
    judge.expect("memory in use before the test", used, below="hbm_busy_threshold_gib")
