"""The JUnit file, read back by a reader that is not ours."""

import io

import junitparser
import msgspec
import pytest

from reporting import junit
from reporting.model import Kind, Result, Row
from tests.reporting import make, pages

CHECKS = [
    make.check("gpu.bind", "gpu0"),
    make.check(
        "gpu.memory", "gpu0", "FAIL", message='a <b> & "c"\x00', value=3.5, unit="GiB", limit=2
    ),
    make.check("gpu.gemm", "gpu1", "HUNG", message="stuck"),
    make.check("gpu.gemm", "gpu2", "LOST", message="lost"),
    make.check("host.dmesg", "", "UNKNOWN", message="no permission"),
    make.check("gpu.links", "", "N/A", message="one GPU"),
    make.check("host.shm", "", "WARN", message="small"),
]


def read(*nodes):
    """Return the test suites of *nodes*, written and read back."""
    file = io.BytesIO()
    with junit.document(file) as xml:
        for node in nodes:
            junit.suite(xml, msgspec.convert(node, Result))
    return list(junitparser.JUnitXml.fromstring(file.getvalue()))


@pytest.fixture
def cases():
    (suite,) = read(make.node(checks=CHECKS))
    return list(suite)


def test_a_suite_is_a_node_with_its_counts():
    (suite,) = read(make.node("n1", checks=CHECKS, durations={"total": 4.5}))

    assert (suite.name, suite.tests, suite.failures, suite.errors) == ("n1", 7, 1, 2)
    assert (suite.skipped, suite.time) == (2, 4.5)


def test_a_case_is_a_check_of_a_node(cases):
    assert [(case.classname, case.name) for case in cases][:2] == [
        ("n1.gpu", "bind[gpu0]"),
        ("n1.gpu", "memory[gpu0]"),
    ]
    assert (cases[4].classname, cases[4].name) == ("n1.host", "dmesg")


def test_each_outcome_is_what_a_junit_reader_calls_it(cases):
    kinds = [type(case.result[0]).__name__ if case.result else "" for case in cases]

    assert kinds == ["", "Failure", "Error", "Error", "Skipped", "Skipped", ""]


def test_a_message_arrives_as_it_was_without_what_xml_cannot_hold(cases):
    assert cases[1].result[0].message == 'a <b> & "c"'


def test_numbers_and_warnings_are_properties(cases):
    numbers, warning = (
        {p.name: p.value for p in case.child(junitparser.Properties)}
        for case in (cases[1], cases[6])
    )

    assert numbers == {"value": "3.5", "unit": "GiB", "limit": "2"}
    assert warning == {"warning": "small"}


@pytest.mark.parametrize(
    ("value", "written"),
    [(20000.0, "20000"), (0.1, "0.1"), (1 / 3, "0.333333333"), (150754820096.0, "1.5075482e+11")],
)
def test_a_value_is_written_with_the_digits_that_it_was_measured_with(value, written):
    (suite,) = read(make.node(checks=[make.check(value=value)]))
    (case,) = suite

    assert [(p.name, p.value) for p in case.child(junitparser.Properties)] == [("value", written)]


def test_many_nodes_go_into_one_document():
    names = [suite.name for suite in read(make.node("a"), make.node("b\x1b\ud800"))]

    assert names == ["a", "b"]


def test_no_two_nodes_go_by_one_name():
    suites = read(make.node("b"), make.node("b\x00"), make.node("b\u202e"))

    assert [suite.name for suite in suites] == ["b", "b~2", "b~3"]
    assert len({case.classname for suite in suites for case in suite}) == 3


def test_a_check_that_ran_in_two_tiers_is_two_cases():
    twice = [make.check("gpu.bind", tier=tier) for tier in ("tier1", "tier2")]
    (suite,) = read(make.node(checks=twice))

    assert [case.name for case in suite] == ["bind[gpu0]", "bind[gpu0]~2"]


def merged(*rows, checks=None):
    """Return the suites of a merge, and the names of the nodes whose checks were read again."""
    file, asked = io.BytesIO(), []

    def checks_of(row):
        asked.append(row.name)
        return checks or [msgspec.convert(make.check(), junit.Check), *row.digest.findings]

    junit.cluster(file, pages.merged(*rows), checks_of)
    suites = list(junitparser.JUnitXml.fromstring(file.getvalue()))
    return {suite.name: [*suite] for suite in suites}, asked, suites


def test_each_check_of_a_small_cluster_is_a_case():
    cases, _, _ = merged(pages.row("good"), pages.row("bad", pages.found("gpu.memory")))

    assert {name: len(found) for name, found in cases.items()} == {"good": 1, "bad": 2}


def test_of_many_nodes_those_that_passed_are_one_case_each_with_their_numbers():
    quiet = [pages.row(f"n{k}", gpus=2) for k in range(junit.MOST_WHOLE)]
    warned = pages.row("odd", pages.found("host.shm", "WARN"))
    unknown = pages.row("unseen", pages.found("kernel.gpu", "UNKNOWN"))

    cases, asked, _ = merged(*quiet, warned, unknown, pages.row("bad", pages.found("gpu.bind")))

    assert asked == ["odd", "bad"]
    (case,) = cases["n7"]
    numbers = {p.name: p.value for p in case.child(junitparser.Properties)}
    assert (case.classname, case.name, numbers["checks"]) == ("n7.node", "verdict", "120")
    assert len(numbers["gemm_tflops"].split()) == 2
    assert len(cases["odd"]) == len(cases["bad"]) == 2


def test_a_missing_node_is_an_error():
    cases, _, (suite,) = merged(pages.missing())

    (case,) = cases["<missing-0>"]
    assert (suite.tests, suite.errors) == (1, 1)
    assert (case.classname, case.result[0].message) == (
        "<missing-0>.node",
        "no result and no mark",
    )
    assert (type(case.result[0]).__name__, case.result[0].type) == ("Error", "MISSING")


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.PASS])
def test_a_node_that_does_not_pass_is_no_green_suite(kind):
    row = Row("n", kind, ["why"], node=pages.row("n").node, digest=pages.digest())

    _, _, (suite,) = merged(row)

    bad = (1, 0) if kind is Kind.FAIL else (0, 1)
    assert (suite.tests, suite.failures, suite.errors) == (2, *bad)


def test_each_reason_that_no_check_tells_is_a_failure_of_its_own():
    bad = pages.row("n", pages.found("gpu.bind", device="gpu0", message="gpu0: hung"))
    told = ["gpu0: hung", "gpu.bind[gpu0]: gpu0: hung"]
    bad.reasons = [*told, "gpu1 is slow (--fail-outliers)", "gpu2 is hot (--fail-outliers)"]

    cases, _, (suite,) = merged(bad)

    assert (suite.tests, suite.failures, suite.errors) == (4, 3, 0)
    assert [(case.name, case.result[0].message) for case in cases["n"][2:]] == [
        ("verdict", "gpu1 is slow (--fail-outliers)"),
        ("verdict~2", "gpu2 is hot (--fail-outliers)"),
    ]


def test_a_failure_that_a_check_tells_is_told_once():
    _, _, (suite,) = merged(pages.row("n", pages.found("gpu.bind")))

    assert (suite.tests, suite.failures, suite.errors) == (2, 1, 0)


def test_hostile_names_are_names():
    cases, _, _ = merged(*pages.hostile().rows)

    assert len(cases) == len(pages.HOSTILE) + 1
    assert max(map(len, cases)) == 300
