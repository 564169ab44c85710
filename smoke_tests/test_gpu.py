"""GPUs: there, usable, healthy, nobody else's."""

import pytest

pytestmark = pytest.mark.tier1


@pytest.mark.quick
def test_visible(gpus_visible):
    """With fewer GPUs than its ranks need, a job dies at start or shares a device."""
    gpus_visible()


@pytest.mark.quick
def test_enumerated(tools):
    """A GPU that PCI shows and the vendor's tool does not (or the reverse) is about to be lost."""
    tools.list_the_same()


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
    gpu.arithmetic.is_finite()


def test_exact_product(gpu):
    """A core that multiplies wrongly, be it once in a million, gives a model that never learns."""
    gpu.arithmetic.is_exact()


def test_memory_pattern(gpu):
    """Memory that does not hold what was written spoils weights where ECC does not see it."""
    gpu.arithmetic.remembers("memory_pattern")


@pytest.mark.quick
def test_processes(gpu):
    """A process that an earlier job left on the GPU keeps its memory and its time."""
    gpu.owners.is_nobodys()


@pytest.mark.quick
def test_unplaced_processes(gpu_processes_unplaced):
    """Some tools tell which processes hold GPUs and not which GPU each of them holds."""
    gpu_processes_unplaced()


@pytest.mark.quick
def test_memory_in_use(gpu, judge):
    """Memory in use before we came is a leaked process: the next job runs out of memory."""
    used = gpu.health.memory_in_use().used / 2**30
    judge.expect("memory in use before the test", used, below="hbm_busy_threshold_gib")


@pytest.mark.quick
def test_ecc(gpu):
    """An uncorrectable memory error has already spoilt somebody's results, or ended their job."""
    gpu.health.has_no_errors()


@pytest.mark.quick
def test_repairs(gpu):
    """Memory that waits for its repair, or can't be repaired any more, fails under load."""
    gpu.health.needs_no_repair()


@pytest.mark.quick
def test_recovery(gpu):
    """A device that its driver has lost, or wants reset, does not survive the next job."""
    gpu.health.needs_no_recovery()


@pytest.mark.quick
def test_throttle(gpu):
    """Clocks held down by heat or power while nothing runs are worse when something does."""
    gpu.health.is_not_slowed()


@pytest.mark.quick
def test_pcie(gpu):
    """A link with lanes missing slows every copy between host, network and GPU."""
    gpu.health.has_its_whole_link()


@pytest.mark.quick
def test_activity(gpu):
    """A GPU that is busy before we use it works for somebody else."""
    gpu.health.is_idle()


@pytest.mark.quick
def test_mode(gpu):
    """A GPU cut into MIG instances offers each rank a fraction of itself."""
    gpu.health.is_undivided()


@pytest.mark.quick
def test_links(gpu):
    """Without NVLink or XGMI between two GPUs, collectives fall back to PCIe unnoticed."""
    gpu.links.are_whole()


@pytest.mark.quick
def test_parts(gpu):
    """A GPU with fewer lanes, links or less memory than its like is the slow one of the job."""
    gpu.parts.are_all_there()
