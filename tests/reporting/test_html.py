"""The page: whole, bounded, the same for the same input, and nothing foreign is more than text."""

import io
import re
import struct
import zlib
from base64 import b64decode
from html.parser import HTMLParser

import pytest

from reporting.html import grid, heat, nodes, series, strip, write
from reporting.html.bands import bands
from reporting.html.png import data_url
from tests.reporting import pages


def page(cluster, sections=(), causes=()):
    file = io.BytesIO()
    write(file, cluster, sections, causes)
    return file.getvalue().decode()


class Reader(HTMLParser):
    """Keeps the tags of a page, and its texts without those of style and script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self._in = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in.append(tag)

    def handle_endtag(self, tag):
        while self._in and self._in.pop() != tag:
            pass

    def handle_data(self, data):
        if self._in and self._in[-1] not in {"style", "script"}:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


@pytest.mark.parametrize("size", [0, 1, 3, 31, 250])
def test_a_page_says_the_verdict_of_any_number_of_nodes(size):
    told = Reader(page(pages.merged(*(pages.row(f"n{k}") for k in range(size)))))

    assert "✓ PASS Node-Local Smoke Test Report" in told.text
    assert f"PASS: {size} of {size} expected nodes passed" in told.text


def test_the_same_merge_gives_the_same_bytes():
    assert page(pages.many(100)) == page(pages.many(100))


def test_a_node_that_failed_or_warned_is_there_in_full_and_no_other():
    odd = pages.found("host.shm", "WARN", message="small", value=3.5, limit=8)
    cluster = pages.merged(
        pages.row("good"),
        pages.row("bad", pages.found("gpu.bind", "HUNG", "gpu1", "gpu1: bind hung")),
        pages.row("odd", odd),
        pages.missing("gone", named=True),
    )

    shown = nodes.details(grid.lines(cluster)).shown

    assert [(x.row.name, x.word, x.first) for x in shown] == [
        ("bad", "FAIL", "gpu1: bind hung"),
        ("gone", "MISSING", "no result and no mark"),
        ("odd", "WARN", "small"),
    ]
    assert "▲ WARN host.shm small 3.5 8" in Reader(page(cluster)).text


def test_a_page_does_not_grow_beyond_what_opens(monkeypatch):
    monkeypatch.setattr(nodes, "MOST_BYTES", 20_000)
    bad = [pages.row(f"n{k}", pages.found("gpu.bind")) for k in range(50)]

    found = nodes.details(grid.lines(pages.merged(*bad)))

    assert 0 < len(found.shown) < 50
    assert (found.cut, found.left) == (50 - len(found.shown), f"n[{len(found.shown)}-49]")
    assert f"and {found.cut} more: {found.left}" in Reader(page(pages.merged(*bad))).text


def test_a_section_and_a_cause_are_shown_as_they_are_given():
    told = Reader(page(pages.many(3), pages.sections("6.8 on n7"), pages.causes())).text

    assert "✕ FAIL 2 port is DOWN (figures differ) rdma.port_state" in told
    assert "6.8 on n7 6.8 on n7 Key 6.8 on n7 6.8 on n7 6.8 on n7 and 3 more" in told
    assert "Tier 2 perf summary" not in told


def test_where_a_cause_is_names_the_first_nodes_folded():
    (cause,) = pages.causes()
    cause.nodes, cause.devices = ["<missing-0>", "n1", "n2"], []
    assert "n[1-2], <missing-0>" in Reader(page(pages.many(3), causes=[cause])).text

    cause.nodes = [f"r{k:03d}-n{k}" for k in range(40)]
    told = Reader(page(pages.many(3), causes=[cause])).text
    assert "r010-n10,r011-n11 and 28 more" in told
    assert "r012-n12" not in told


def test_what_is_foreign_is_text_and_nothing_else():
    calm = Reader(page(pages.merged(pages.row("n1"), pages.row("n2", pages.found("x.y")))))
    for text in pages.HOSTILE:
        given = page(pages.hostile(), pages.sections(text), pages.causes(text))
        told = Reader(given)
        assert {tag for tag, _ in told.tags} <= {tag for tag, _ in calm.tags}
        assert [tag for tag, _ in told.tags].count("script") == 2
        assert not any(name.startswith("on") for _, attrs in told.tags for name in attrs)
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", given)
        assert "x" * 2000 not in given


def test_a_page_needs_no_network_and_allows_only_what_is_in_it():
    told = Reader(page(pages.many(40)))

    (policy,) = (attrs["content"] for tag, attrs in told.tags if "http-equiv" in attrs)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    links = [attrs[name] for _, attrs in told.tags for name in ("src", "href") if name in attrs]
    assert {link.partition(":")[0].partition("#")[0] for link in links} == {"", "data"}
    assert not any("style" in attrs for _, attrs in told.tags)


def cells(*rows):
    """Return the grid of nodes as text: a line a node, a sign an area."""
    found = grid.lines(pages.merged(*rows))
    return [
        "".join(grid.SIGNS[grid.state_of(line, area)] for area in grid.areas(found))
        for line in found
    ]


def test_an_area_is_as_bad_as_its_worst_check():
    warned = pages.found("gpu.mode", "WARN")
    node = pages.row("n", warned, pages.found("gpu.bind"), pages.found("rdma.gid", "UNKNOWN"))

    assert cells(pages.row("ok"), node, pages.missing()) == [
        "✓✓✓✓✓✓✓·",
        "✓✓✓✓✕✓?·",
        "--------",
    ]


def test_an_area_that_only_a_result_knows_has_a_place():
    assert grid.areas(grid.lines(pages.merged(pages.row("n", pages.found("new.x")))))[-1] == "new"


def test_a_rack_is_one_shape_of_the_grid():
    lines = grid.lines(pages.many(96))

    drawn = str(grid.picture(lines, grid.areas(lines), bands(len(lines))))

    fabric = drawn.partition(">rdma</text>")[2].partition("</text>")[0]
    (path,) = re.findall(r'class="fail" d="([^"]*)"', fabric)
    assert path.count("M") == 1
    assert "h384v9" in path


@pytest.mark.parametrize(
    ("size", "columns", "count"), [(3, 100, 1), (300, 139, 3), (10_000, 800, 13)]
)
def test_all_nodes_fit_on_about_a_screen(size, columns, count):
    layout = bands(size)

    assert (layout.columns, layout.count) == (columns, count)
    assert [k for band in layout.each() for k in band] == list(range(size))


def levels(key, values, limit=None):
    """Return the level of each value, each of a node of its own."""
    rows = []
    for k, value in enumerate(values):
        rows.append(pages.row(f"n{k}", gpus=1))
        rows[-1].digest.gpus[0].numbers = {key: value}
        rows[-1].digest.limits = {f"performance.{key}": limit} if limit else {}
    (found,) = (s for s in series.series(pages.merged(*rows)) if s.key == key)
    return [series.LEVELS[level[0]] for level in found.levels]


def test_a_level_is_how_much_worse_than_its_peers():
    given = [100.0] * 20 + [98.5, 96, 92, 85, 70, 109]

    assert levels("hbm_gbs", given)[20:] == [
        "as its peers", "up to 5 % worse", "5 to 10 % worse", "10 to 20 % worse",
        "more than 20 % worse", "better than its peers",
    ]  # fmt: skip
    assert levels("temperature_c", given)[23:] == ["better than its peers"] * 2 + [
        "5 to 10 % worse"
    ]
    assert levels("hbm_gbs", given, limit=90.0)[22:24] == ["5 to 10 % worse", "below its limit"]


def test_what_is_usual_among_peers_is_no_level_of_its_own():
    assert set(levels("hbm_gbs", [90.0, 95, 100, 105, 110] * 4)) == {"as its peers"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300, -1e300])
def test_a_number_that_nothing_measures_is_no_value(value):
    assert levels("hbm_gbs", [100.0, 100.0, value])[2] == "no value"


def test_gpus_are_compared_with_their_like():
    other = pages.row("b", gpus=4)
    other.digest.limits = {"performance.gemm_tflops": 200.0}
    for gpu in other.digest.gpus:
        gpu.model, gpu.numbers = "NVIDIA A100", {"gemm_tflops": 250.0}

    found = series.series(pages.merged(pages.row("a"), other))[0]

    assert [(g.name, len(g.values)) for g in found.groups] == [
        ("NVIDIA A100 x 4", 4),
        ("NVIDIA H200 x 8", 8),
    ]
    assert set(found.levels[1]) == {series.ALIKE}


def test_the_worst_are_named_for_who_does_not_see_colours():
    slow = pages.row("n9", numbers={3: {"gemm_tflops": 500.0}})
    found = series.series(pages.merged(*(pages.row(f"n{k}") for k in range(9)), slow))[0]

    assert series.worst(found, [f"n{k}" for k in range(10)]) == ["n9 gpu3: 500"]
    assert series.summary(found) == "80 values; 1 below its limit."


def test_a_picture_has_a_pixel_a_gpu():
    cluster = pages.many(150)
    found = series.series(cluster)[0]

    raw = b64decode(heat.picture(found, bands(151)).partition(",")[2])

    width, height, depth, colour = struct.unpack(">IIBB", raw[16:26])
    assert (width, height, depth, colour) == (100, 17, 8, 3)
    start = raw.index(b"IDAT") + 4
    pixels = zlib.decompress(raw[start:])
    assert len(pixels) == 17 * 101
    assert list(pixels[1:4]) == [found.levels[k][0] for k in range(3)]


def test_a_picture_is_a_png_whose_parts_are_whole():
    raw = b64decode(data_url([bytes([0, 1])], [(0, 0, 0, 0), (1, 2, 3, 255)]).partition(",")[2])

    at, names = 8, []
    while at < len(raw):
        (length,) = struct.unpack(">I", raw[at : at + 4])
        body = raw[at + 4 : at + 8 + length]
        assert struct.unpack(">I", raw[at + 8 + length : at + 12 + length]) == (zlib.crc32(body),)
        names.append(body[:4])
        at += 12 + length
    assert names == [b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"]


@pytest.mark.parametrize("values", [[5.0], [5.0, 5.0], [0.0, 0.0], [1e14, -1e14], [1.0, 2.0, 3.0]])
def test_a_plot_of_any_values_stays_on_its_paper(values):
    group = series.Group("H200 x 1", [(0, v) for v in values], median=values[0], limit=values[-1])
    found = series.Series("x", "x", "u", 1, [], [], [group], [])

    drawn = str(strip.plot(group, found))

    places = [float(x) for x in re.findall(r"M([-0-9.e+]+) ", drawn)]
    assert places
    assert all(0 <= x <= 1200 for x in places)
    assert "nan" not in drawn


@pytest.mark.parametrize(
    "values",
    [
        (0.0, 5e-324),
        (1e-320, 2e-320),
        (1e-320, 1e-320),
        (-1e14, 1e14),
        (1.0, 1.0000000000000002),
        (0.0, 0.0),
    ],
)
def test_numbers_of_any_size_can_be_drawn(values):
    numbers = {k: {"gemm_tflops": value} for k, value in enumerate(values)}
    cluster = pages.merged(*(pages.row(f"n{k}", gpus=2, numbers=numbers) for k in range(3)))
    (found, *_) = series.series(cluster)
    found.groups[0].limit = None

    svg = str(strip.plot(found.groups[0], found))

    drawn = [float(x) for x in re.findall(r"M([-+.e0-9]+) ", svg)]
    assert all(0 <= x <= 1200 for x in drawn)
    assert "nodes" in page(cluster)
