"""Performance: every GPU at once, as in training, then what they do together."""

import pytest

pytestmark = pytest.mark.tier2


def test_gemm_tflops(gpu, host):
    """The slowest GPU sets the pace of the whole job: its matrix rate (8192³, bf16)."""
    gpu.completes("gemm_tflops")
    host.can_measure()
    gpu.is_fast("gemm_tflops")


def test_hbm_gbs(gpu, host):
    """A GPU whose memory is slow holds back every rank (device-to-device copy, read + write)."""
    gpu.completes("hbm_gbs")
    host.can_measure()
    gpu.is_fast("hbm_gbs")


def test_h2d_gbs(gpu, host):
    """A slow way from the host to one GPU holds back data loading for all (pinned, nearest)."""
    gpu.completes("copies_alone")
    host.can_measure()
    gpu.is_fast("h2d_gbs")


def test_d2h_gbs(gpu, host):
    """A slow way from one GPU to the host makes every checkpoint as slow (pinned, nearest)."""
    gpu.completes("copies_alone")
    host.can_measure()
    gpu.is_fast("d2h_gbs")


def test_reproducible(gpu):
    """A core that is wrong now and then shows when the same product has other bits."""
    gpu.arithmetic.repeats_itself()
    gpu.agrees_with_its_like()


def test_whole_memory(gpu):
    """One bad word anywhere in the memory meets every job that fills it."""
    gpu.arithmetic.remembers("whole_memory")


def test_errors(gpu):
    """Memory that is sound while idle and errs under load spoils results, or ends the job."""
    gpu.load.got_no_new_errors()


def test_links(gpu):
    """A link that is lost or errs under load slows every collective, and soon ends one."""
    gpu.load.kept_its_links()


def test_slowdown(gpu):
    """Heat or a power brake that holds one GPU's clocks down makes the whole job wait for it."""
    gpu.load.was_not_slowed()


def test_tools(tools):
    """A tool that answered before the load and not after it waits for a driver that is wedged."""
    tools.answer_after_load()


def test_all_reduce(all_reduce, host):
    """Gradients are summed over all GPUs at every step: rightly, and at the links' pace."""
    all_reduce.is_right("all_reduce")
    host.can_measure()
    all_reduce.is_fast("all_reduce")


def test_all_reduce_large(all_reduce, host):
    """A buffer that fills the links shows one that is slow where a small one hides it."""
    all_reduce.is_right("all_reduce_large")
    host.can_measure()
    all_reduce.is_fast("all_reduce_large")
