"""The report: what is scraped stands where it is looked for, and foreign text does nothing."""

import pytest

from reporting.expected import Expected
from reporting.judge import judge
from reporting.model import Cluster, Kind, Row
from reporting.render import escape, markdown, terminal
from tests.reporting import clusters, make


def section(lines, title):
    """Return the lines of one section that are not empty."""
    rest = lines[lines.index(f"## {title}") + 1 :]
    end = next((n for n, line in enumerate(rest) if line.startswith("## ")), len(rest))
    return [line for line in rest[:end] if line]


def report(dump, *names, count=None):
    cluster = judge(make.sight(dump), Expected(names=list(names) or None, count=count))
    return markdown(cluster).splitlines()


def table(report):
    """Return the rows of the status table."""
    start = report.index("| Node | Hostname | Status | Duration | Top fail reason |") + 2
    return report[start : report.index("", start)]


def test_the_verdict_and_the_counts_stand_in_the_first_ten_lines(tmp_path):
    make.result(tmp_path, "n1", rank=0)
    make.result(tmp_path, "n2", rank=1, **make.failing())

    head = report(tmp_path, "n1", "n2", "n3")[:10]

    assert head[0] == "# Node-Local Smoke Test Report"
    assert "**FAIL: 2 of 3 nodes did not pass: n2, n3**" in head
    for line in (
        "- Expected nodes: 3",
        "- Reported nodes: 2",
        "- PASS: 1  FAIL: 2",
        f"- Run id: {make.RUN}; tiers judged: tier1",
    ):
        assert line in head


def test_the_tiers_judged_are_those_of_the_results_whoever_judged_them(tmp_path):
    """A node that died judged nothing, whatever its mark had announced."""
    make.result(tmp_path, "n1", tiers=["tier1"])
    make.result(tmp_path, "n2", tiers=["tier2", "tier1"], **make.failing())
    make.started(tmp_path, "n3", tiers=["tier3"])

    assert f"- Run id: {make.RUN}; tiers judged: tier1, tier2" in report(tmp_path, "n1", "n2", "n3")


def test_where_nobody_reported_no_tier_was_judged(tmp_path):
    make.started(tmp_path, "n1")

    assert f"- Run id: {make.RUN}; tiers judged: none" in report(tmp_path, "n1")


def test_each_node_has_a_line_in_the_table(tmp_path):
    make.result(tmp_path, "n1", rank=0, durations={"total": 4.25})
    make.result(tmp_path, "n2", rank=1, hostname="other.site", **make.failing("a\nb"))

    rows = table(report(tmp_path, "n1", "n2", "n3"))

    assert rows[0] == "| 0 | n1 | PASS | 4.2 s | - |"
    assert rows[1] == "| 1 | n2 (host other.site) | FAIL | 5.0 s | a b |"
    assert rows[2].startswith("| - | n3 | FAIL | - | no result and no mark")


def test_the_failing_nodes_are_told_in_full(tmp_path):
    make.result(tmp_path, "n1", verdict="FAIL", reasons=["one " + "x" * 200, "two"])

    lines = report(tmp_path)

    start = lines.index("## Failing nodes -- full reasons")
    section = [line for line in lines[start + 1 : lines.index("## Kernel events")] if line]
    assert section == ["### n1", "- one " + "x" * 200, "- two"]
    assert len(table(lines)[0]) < 200


def test_a_healthy_cluster_gets_one_line_a_section(tmp_path):
    make.result(tmp_path, "n1")

    lines = report(tmp_path, "n1")

    assert "**PASS: 1 of 1 expected nodes passed**" in lines
    assert "*No failing nodes.*" in lines
    assert "*No warnings.*" in lines


def warned(message, outcome="WARN", name="tools.present"):
    return make.check(name, "", outcome, message=message)


def test_warnings_and_what_could_not_be_looked_at_have_a_section_each(tmp_path):
    checks = [make.check(), warned("w"), warned("u", "UNKNOWN", "kernel.gpu")]
    make.result(tmp_path, "n1", checks=checks, coverage={})

    lines = report(tmp_path)

    head = "| Devices | Count | Nodes |"
    rule = "|---|---|---|---|---|"
    row = "| tools.present | w | - | 1 | n1 |"
    assert section(lines, "Warnings and unknowns") == [f"| Check | Warning {head}", rule, row]
    row = "| kernel.gpu | u | - | 1 | n1 |"
    assert section(lines, "Coverage") == [f"| Check | Why {head}", rule, row]


def rows(tmp_path):
    return section(report(tmp_path), "Warnings and unknowns")[2:]


def test_a_warning_stands_once_with_the_nodes_that_gave_it_the_commonest_first(tmp_path):
    """On a thousand nodes with the same old driver it is one line."""
    for k in range(12):
        make.result(tmp_path, f"n{k}", checks=[make.check(), warned("old driver")], coverage={})
    make.result(tmp_path, "m1", checks=[make.check(), warned("another")], coverage={})

    assert rows(tmp_path) == [
        "| tools.present | old driver | - | 12 | n\\[0-11\\] |",
        "| tools.present | another | - | 1 | m1 |",
    ]


def test_a_hundred_warnings_are_told_and_the_rest_counted(tmp_path):
    words = [f"{chr(97 + k // 10)}{chr(97 + k % 10)}x" for k in range(103)]
    make.result(tmp_path, "n1", checks=[make.check(), *map(warned, words)], coverage={})

    told = rows(tmp_path)

    assert len(told) == 101
    assert told[100:] == ["*and 3 more, in summary.json or in the nodes' results (smoke/)*"]


def test_a_foreign_warning_is_shown_and_does_nothing(tmp_path):
    checks = [make.check(), warned("# a <i>\n| b")]
    make.result(tmp_path, "<b>", checks=checks, coverage={})

    assert rows(tmp_path) == ["| tools.present | # a &lt;i&gt; \\| b | - | 1 | %3Cb%3E |"]


def test_the_limits_are_those_of_the_results_and_no_default_of_ours(tmp_path):
    make.result(tmp_path, "n1", options={"shm_min_gb": {"value": 4, "source": "--shm-min-gb"}})
    make.result(tmp_path, "n2", options={"shm_min_gb": {"value": 16, "source": "profile x"}})
    make.result(tmp_path, "n3", options={"shm_min_gb": {"value": 16, "source": "profile x"}})

    lines = report(tmp_path)

    start = lines.index("## Options in force")
    assert [line for line in lines[start + 1 :] if line] == [
        "| Option | Value | From | Nodes |",
        "|---|---|---|---|",
        "| shm_min_gb | 16 | profile x | 2 |",
        "| shm_min_gb | 4 | --shm-min-gb | 1 |",
    ]


def test_without_any_result_no_options_are_claimed(tmp_path):
    assert "*No result says which options were in force.*" in report(tmp_path, "n1")


def test_a_rehearsal_is_marked_in_title_and_verdict(tmp_path):
    make.result(tmp_path, "n1", rehearsal=True)

    head = report(tmp_path)[:3]

    assert head[0] == "# Node-Local Smoke Test Report (REHEARSAL — no verdict on hardware)"
    assert head[2] == ("**REHEARSAL, no verdict on hardware: PASS: 1 of 1 expected nodes passed**")


def test_the_rule_that_tells_runs_without_an_id_apart_is_told(tmp_path):
    make.result(tmp_path, "n1", run_id="local")

    assert any("began within one hour" in line for line in report(tmp_path)[:12])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", "a\\|b"),
        ("a\\|b", "a\\\\\\|b"),
        ("`x`", "\\`x\\`"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("[x](http://y)", "\\[x\\](http://y)"),
        ("*x*", "\\*x\\*"),
        ("a\nb\x1b[1m", "a b"),
    ],
)
def test_foreign_text_is_shown_and_does_nothing(text, expected):
    assert escape(text, 100) == expected


def test_text_is_cut_before_it_is_escaped():
    assert escape("|" * 200, 120) == "\\|" * 119 + "…"


def test_a_foreign_reason_does_not_begin_a_heading(tmp_path):
    make.result(tmp_path, "n1", verdict="FAIL", reasons=["# not a heading"])

    assert "- \\# not a heading" in report(tmp_path)


def test_ten_thousand_reasons_are_cut_with_their_number(tmp_path):
    make.result(tmp_path, "n1", verdict="FAIL", reasons=["x"] * 10_000)

    lines = report(tmp_path)

    assert len(lines) < 330
    assert "- and 9800 more, in its result file" in lines


def test_everything_foreign_is_escaped_wherever_it_stands():
    bad = "<x>|`"
    cluster = Cluster(bad, [Row(bad, Kind.FAIL, [bad])], 1, [bad], notes=[bad])

    text = markdown(cluster)

    assert "<x>" not in text
    assert "`" not in text.replace("\\`", "").replace("(`rocm-smi --version`)", "")


WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def test_the_terminal_gets_the_verdict_and_eight_causes():
    rows = [Row(f"n{k}", Kind.FAIL, [f"reason\n{word}"]) for k, word in enumerate(WORDS)]

    lines = terminal(Cluster("r", rows, 10, []))

    assert lines[0].startswith("FAIL: 10 of 10 nodes did not pass: n0, n1,")
    assert lines[0].endswith("n7 and 2 more")
    assert lines[1] == "  n7: reason eight"
    assert lines[9:] == ["  and 2 more causes, in the report"]


def test_the_terminal_tells_a_shared_cause_once():
    rows = [Row(f"n{k}", Kind.FAIL, [f"gpu{k}: no answer in {k} s"]) for k in range(10)]

    lines = terminal(Cluster("r", rows, 10, []))

    devices = ", ".join(f"gpu{k}" for k in range(10))
    said = "no answer in 0 s (figures differ among them)"
    told = f"  n[0-9] (10 nodes): {devices}: {said}"
    assert lines[1:] == [told]


def test_the_terminal_says_what_else_the_report_has():
    rows = clusters.healthy(3)
    rows[0].digest.software["kernel"] = "5.4"
    rows[1].digest.gpus[2].hash = "bad0"

    lines = terminal(clusters.cluster(*rows))

    beside = "1 value that drifts, 1 product whose bits disagree"
    assert lines[1:] == [f"  in the report as well: {beside}"]


def many(passing, failing=0):
    """Return a report on more nodes than have a row each."""
    bad = [Row(f"bad{k:03}", Kind.FAIL, [f"reason {k}"]) for k in range(failing)]
    rows = [*[Row(f"n{k:05}", Kind.PASS) for k in range(passing)], *bad]
    return markdown(Cluster("r", rows, len(rows), [])).splitlines()


def test_up_to_two_hundred_nodes_have_a_row_each():
    assert len(table(many(199, 1))) == 200


def test_above_two_hundred_nodes_those_that_passed_are_folded():
    lines = many(9_999, 1)

    assert table(lines) == ["| - | bad000 | FAIL | - | reason 0 |"]
    assert "9999 nodes passed: n\\[00000-09998\\] (passing_nodes.txt has each)" in lines


def test_of_many_failing_nodes_the_rest_is_counted_and_said_where_it_is():
    lines = many(1, 300)

    assert len(table(lines)) == 200
    assert "*and 100 more that did not pass, in failing_nodes.txt and summary.json*" in lines
    told = "*and 200 more nodes, in failing_nodes.txt and summary.json: bad\\[100-299\\]*"
    assert told in lines


def test_all_is_told_of_a_run_in_which_nobody_reported():
    """Nobody to compare is not the same as all being alike."""
    lines = markdown(Cluster("r", [Row("n1", Kind.MISSING, ["never started"])], 1, ["n1"]))

    assert "All nodes match" not in lines
    assert "*No node reported.*" in lines
