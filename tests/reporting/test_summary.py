"""summary.json: one document, whatever is in it, that tells machines what the report tells."""

import json

from reporting.model import Kind, Row
from reporting.sections import find
from reporting.summary import chunks
from tests.reporting.clusters import LIMITS, cluster, finding, healthy, row


def summary(*rows, **fields):
    merged = cluster(*rows, **fields)
    return json.loads(b"".join(chunks(merged, LIMITS, find(merged))))


def test_a_run_is_told_with_its_verdict_and_counts():
    missing = Row("n9", Kind.MISSING, ["never started"])

    told = summary(*healthy(2), missing, notes=["a note"])

    assert (told["schema"], told["run_id"], told["verdict"]) == (1, "123.0", "FAIL")
    assert (told["expected"], told["reported"], told["passed"], told["failed"]) == (3, 2, 2, 1)
    assert told["kinds"] == {"PASS": 2, "MISSING": 1}
    assert told["limits"]["clock_skew_warn_sec"] == 30
    assert told["notes"] == ["a note"]


def test_every_node_is_there_with_how_it_stands():
    rows = [*healthy(1), row("n2", kind=Kind.FAIL, reasons=["bind hung"])]
    rows[1].digest.counts = {"checks": 2, "WARN": 2}

    nodes = summary(*rows, Row("n3", Kind.MISSING, ["never started"]))["nodes"]

    assert [node["name"] for node in nodes] == ["n1", "n2", "n3"]
    assert [node["kind"] for node in nodes] == ["PASS", "FAIL", "MISSING"]
    assert [node["warnings"] for node in nodes] == [0, 2, 0]
    assert [node["reasons"] for node in nodes] == [[], ["bind hung"], ["never started"]]
    assert [node["group"] for node in nodes] == ["8 x NVIDIA H200"] * 2 + [None]


def test_what_comparing_has_shown_is_there():
    rows = healthy(4)
    rows[0].digest.software["kernel"] = "5"
    rows[1].digest.gpus[2].numbers["gemm_tflops"] = 500.0
    rows[2].digest.gpus[2].hash = "0bad"
    rows[3].digest.findings = [finding("a.b", "w", outcome="WARN")]

    told = summary(*rows)

    assert [(one["key"], one["vote"]["majority"]) for one in told["drift"]] == [
        ("kernel", "6.8.0-60")
    ]
    assert [(one["node"], one["device"], one["peers"]) for one in told["outliers"]] == [
        ("n2", "gpu2", 31)
    ]
    assert told["hashes"][0]["vote"]["others"][0]["devices"] == {"n3": ["gpu2"]}
    assert [(one["check"], one["nodes"]) for one in told["causes"]] == [
        ("a.b", ["n4"]),
        ("outliers.gemm_tflops", ["n2"]),
        ("outliers.hash", ["n3"]),
    ]
    assert [one["severity"] for one in told["causes"]] == ["WARN"] * 3
    assert [one["warnings"] for one in told["nodes"]] == [0, 1, 1, 0]


def test_nobody_is_a_document_as_well():
    told = summary()

    assert (told["nodes"], told["causes"], told["drift"]) == ([], [], [])


def test_reasons_are_bounded_and_the_rest_counted():
    reasons = [f"{k} " + "x" * 5000 for k in range(300)]

    (node,) = summary(Row("n1", Kind.FAIL, reasons))["nodes"]

    assert (len(node["reasons"]), node["more_reasons"]) == (200, 100)
    assert max(map(len, node["reasons"])) == 2000


def test_a_name_that_is_no_text_does_not_stop_it():
    """A file name may be any bytes, and stands in the reason that it can't be read."""
    told = summary(row("n\udcff", kind=Kind.FAIL, reasons=["smoke/\udcff.json can't be read\x1b"]))

    assert told["nodes"][0]["name"] == "n?"
    assert told["nodes"][0]["reasons"] == ["smoke/?.json can't be read\x1b"]
    assert told["causes"][0]["message"] == "smoke/?.json can't be read\x1b"
