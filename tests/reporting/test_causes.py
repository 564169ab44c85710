"""Causes: what nodes have in common is said once, whatever figures and devices it is said of."""

from reporting.model import Kind, Row
from reporting.sections import causes
from tests.reporting.clusters import cluster, finding, healthy, row

HUNG = "bind hung: no answer in 15 s (--per-gpu-timeout-sec)"


def sick(*found, name="n1"):
    """Return the row of a node that failed by these findings."""
    one = row(name, kind=Kind.FAIL, reasons=[check.message for check in found])
    one.digest.findings = list(found)
    return one


def test_one_message_of_many_nodes_and_devices_is_one_cause():
    rows = [
        sick(finding("gpu.bind", f"gpu{k} (0000:0{k}:00.0, GPU-ab{k}): {HUNG}", f"gpu{k}"), name=n)
        for k, n in enumerate(["n1", "n2", "n3"])
    ]

    (cause,) = causes(cluster(*rows))

    assert (cause.message, cause.check, cause.severity) == (HUNG, "gpu.bind", "FAIL")
    assert (cause.nodes, cause.devices) == (["n1", "n2", "n3"], ["gpu0", "gpu1", "gpu2"])
    assert not cause.varies


def test_figures_may_differ_and_that_is_said():
    rows = [
        sick(
            finding("gpu.memory_in_use", f"gpu0: memory in use is {k}.5 GiB", "gpu0"), name=f"n{k}"
        )
        for k in (3, 1)
    ]

    (cause,) = causes(cluster(*rows))

    assert cause.message == "memory in use is 3.5 GiB"
    assert cause.varies


def test_other_words_are_another_cause():
    rows = [sick(finding("a.b", text), name=text) for text in ("no cable", "no switch")]

    assert [cause.message for cause in causes(cluster(*rows))] == ["no cable", "no switch"]


def test_failures_come_first_and_then_the_most_shared():
    warned = healthy(6)
    for one in warned:
        one.digest.findings = [finding("tools.present", "lsof is missing", outcome="WARN")]
    rows = [
        sick(finding("a.b", "rare"), name="a1"),
        *[sick(finding("a.c", "common"), name=f"b{k}") for k in range(3)],
        *warned,
    ]

    found = causes(cluster(*rows))

    assert [cause.message for cause in found] == ["common", "rare", "lsof is missing"]


def test_what_another_failure_explains_is_no_cause():
    bind = finding("gpu.bind", "gpu1: bind hung", "gpu1")
    late = finding("gpu.gemm", "gpu1: gemm was not reached: bind hung", "gpu1", cause="gpu.bind")
    other = finding("gpu.gemm", "gpu2: gemm was not reached: bind hung", "gpu2", cause="gpu.bind")

    found = causes(cluster(sick(bind, late, other)))

    assert [(cause.check, cause.devices) for cause in found] == [
        ("gpu.bind", ["gpu1"]),
        ("gpu.gemm", ["gpu2"]),
    ]


def test_nodes_without_a_result_have_their_kind_for_a_check():
    rows = [Row(f"n{k}", Kind.MISSING, ["it never started"]) for k in range(3)]

    (cause,) = causes(cluster(*rows))

    assert (cause.check, cause.severity, cause.nodes) == ("MISSING", "FAIL", ["n0", "n1", "n2"])


def test_a_reason_that_is_a_findings_message_is_counted_once():
    one = sick(finding("host.shm", "shm is 1 GiB"))
    one.reasons = ["shm is 1 GiB", "host.shm: shm is 1 GiB", "asked for tier2; judged tier1 only"]

    found = causes(cluster(one))

    assert [(cause.check, cause.count) for cause in found] == [("FAIL", 1), ("host.shm", 1)]


def test_a_device_that_only_the_message_names_is_not_lost():
    one = row("n1", kind=Kind.FAIL, reasons=["gpu3 (0000:5d:00.0): bind hung"])

    (cause,) = causes(cluster(one))

    assert (cause.devices, cause.message) == (["gpu3"], "bind hung")


def test_long_and_hostile_messages_are_bounded():
    rows = [sick(*[finding("a.b", "f" * 10**6, f"gpu{k}") for k in range(3000)])]

    (cause,) = causes(cluster(*rows))

    assert len(cause.message) == 1000
    assert len(cause.devices) == 1000
