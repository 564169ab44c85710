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


@pytest.mark.quick
def test_nofile(host):
    """Every socket, data file and loader takes an open file; a job runs out hours after start."""
    host.opens_enough_files()


@pytest.mark.quick
def test_tmp_space(host):
    """Compilers' caches and data loaders write to /tmp, and a full one ends the job."""
    host.has_space("free_tmp", "tmp_free_min_gib")


@pytest.mark.quick
def test_dump_space(host):
    """What can't be written is lost: this node's result first, checkpoints after it."""
    host.has_space("free_dump", "dump_free_min_gib")


@pytest.mark.quick
def test_pages(host):
    """Huge pages, set aside or made by the kernel, are what nodes of one kind quietly differ in."""
    host.tells("hugepages", "thp")


@pytest.mark.quick
def test_numa_nodes(host):
    """A BIOS that splits its sockets otherwise moves memory away from the GPUs that use it."""
    host.has_numa_nodes()


@pytest.mark.quick
def test_numa_balancing(host):
    """A kernel that moves pages between NUMA nodes by itself stalls GPUs that share them."""
    host.leaves_pages()


@pytest.mark.quick
def test_cpus(host):
    """With too few CPUs a job feeds its GPUs late, and every number measured here is too low."""
    host.has_its_cpus()


@pytest.mark.quick
def test_governor(host):
    """CPUs that clock up late launch kernels late: one such node holds back the job."""
    host.is_clocked_up()


@pytest.mark.quick
def test_clocksource(host):
    """A kernel that has lost trust in the CPUs' clock makes every look at the time slow."""
    host.counts_time_fast()
