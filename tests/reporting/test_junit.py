"""The JUnit file, read back by a reader that is not ours."""

import io

import junitparser
import msgspec
import pytest

from reporting import junit
from reporting.model import Node
from tests.reporting import make

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
            junit.suite(xml, msgspec.convert(node, Node))
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
