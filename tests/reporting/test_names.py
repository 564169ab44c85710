"""Names: as files, keys, lines, in order."""

import pytest
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
from hypothesis import given
from hypothesis import strategies as st

from reporting import names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("node-01.a_b", "node-01.a_b"),
        ("10.1.2.3", "10.1.2.3"),
        ("../x", "%2E.%2Fx"),
        (".", "%2E"),
        ("", "%"),
        ("a|b\n", "a%7Cb%0A"),
        ("é", "%C3%A9"),
        ("n1~n2", "n1%7En2"),
        ("\udcff", "%3F"),
    ],
)
def test_a_stem_keeps_what_is_safe_and_encodes_the_rest(name, expected):
    assert names.stem(name) == expected


def test_long_names_that_differ_at_the_end_get_different_stems():
    assert names.stem("x" * 10_000) != names.stem("x" * 9_999 + "y")


def test_a_second_machine_gets_a_file_of_its_own_under_the_first_ones_name():
    stem = names.stem_of_machine("n1", "../host")

    assert stem == "n1~%2E.%2Fhost"
    assert names.name_of_stem(stem) == "n1"


@pytest.mark.parametrize("name", ["node1", "a|b", "../x", "é", "10.0.0.1"])
def test_the_name_of_a_stem_is_the_name(name):
    assert names.name_of_stem(names.stem(name)) == name


def test_the_order_is_that_of_the_numbers():
    given = ["n10", "N9", "n010", "a", "n1", "n\u0661", "n" + "9" * 5000, "n"]

    ordered = sorted(given, key=names.natural)

    assert ordered == ["a", "n", "n1", "N9", "n010", "n10", "n" + "9" * 5000, "n\u0661"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two\nlines\tand\r\nmore", "two lines and more"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "link"),
        ("a\x00b\x9bc\u202ed\u200be", "abcde"),
        ("  x  ", "x"),
    ],
)
def test_a_line_holds_only_what_can_be_printed(text, expected):
    assert names.plain(text) == expected


def test_a_long_text_is_cut_with_a_sign():
    assert names.plain("x" * 11, 10) == "x" * 9 + "…"
    assert names.plain("x" * 10, 10) == "x" * 10
    assert names.plain("x" * 10_000_000, 10) == "x" * 9 + "…"
    assert names.plain("\x00" * 1000, 10).endswith("…")


HOSTILE = [
    "a\nb", "a,b", "a b", "", "x" * 256, "a\u2028b",
    "n[1-9]", "@all", "^file", "!n", "a&b", "a%b", "a*",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_one_line_of_a_list(name):
    line = names.listed(name)

    assert line == names.stem(name)
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize("name", [*HOSTILE, "-x", "n1"])
def test_a_name_stands_in_a_list_as_in_a_hostlist(name):
    assert names.listed(name) == names.hostlist([name])
    assert NodeSet(names.listed(name), resolver=RESOLVER_NOGROUP) == NodeSet(names.hostlist([name]))
    assert not names.listed(name).startswith("-")


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("gpu0 (0000:18:00.0, GPU-1): it hung", "gpu0: it hung"),
        ("WARN: gpu0 (0000:18:00.0): it is hot", "WARN: gpu0: it is hot"),
        ("mlx5_2:1: its state is DOWN (0)", "mlx5_2:1: its state is DOWN (0)"),
        ("gpu0 (0000:18:00.0) hung", "gpu0 (0000:18:00.0) hung"),
    ],
)
def test_a_reason_can_do_without_the_address_of_its_gpu(reason, expected):
    assert names.unaddressed(reason) == expected


def test_an_ordinary_name_is_listed_as_it_is():
    assert names.listed("node-01.site") == "node-01.site"


@pytest.mark.parametrize(
    ("name", "host", "same"),
    [("n1", "N1", True), ("n1", "n1.site", True), ("n1", "n2.site", False), ("n1.a", "n1", False)],
)
def test_a_host_with_a_domain_is_the_same_host(name, host, same):
    assert names.same_host(name, host) is same


RACKS = [f"r{rack:02d}-n{n}" for rack in range(3) for n in range(1, 5)]


@pytest.mark.parametrize(
    ("given", "folded"),
    [
        ([], ""),
        (["n2", "n1", "n10", "n1"], "n[1-2,10]"),
        (["n1", "n01", "n001", "n"], "n,n[1,01,001]"),
        (RACKS, "r00-n[1-4],r01-n[1-4],r02-n[1-4]"),
        (["n1.site", "n2.site"], "n1.site,n2.site"),
        (["10.0.0.1", "10.0.0.2", "7", "8"], "[7-8],10.0.0.[1-2]"),
        (["a[1-9]"], "a%5B1-9%5D"),
        (["a,b", "@all", "-x", "a b", "a&b", "a!b", ""],
         "%,%2Dx,%40all,a%20b,a%21b,a%26b,a%2Cb"),
    ],
)  # fmt: skip
def test_a_hostlist_is_folded_where_every_reader_understands_it(given, folded):
    assert names.hostlist(given) == folded


@given(st.lists(st.one_of(st.from_regex(r"[a-z-]{0,4}[0-9]{0,30}", fullmatch=True), st.text())))
def test_a_hostlist_holds_each_name_once_whatever_the_names(given):
    folded = names.hostlist(given)

    assert len(NodeSet(folded, resolver=RESOLVER_NOGROUP)) == len(set(given))
