"""What stands in a table is short: the address of a GPU is told where there is room."""

from tests.reporting import make, pages, test_html, test_render


def test_the_table_leaves_out_the_address_of_a_gpu_and_the_full_reason_has_it(tmp_path):
    reason = "gpu0 (0000:18:00.0, GPU-7): bind hung"
    make.result(tmp_path, "n1", **make.failing(reason))

    lines = test_render.report(tmp_path)

    assert test_render.table(lines)[0].endswith("| gpu0: bind hung |")
    assert f"- {reason}" in lines


def test_a_table_gives_a_reason_without_the_address_and_the_full_one_below():
    reason = "gpu1 (0000:19:00.0, GPU-7): bind hung"
    bad = pages.row("bad", pages.found("gpu.bind", "HUNG", "gpu1", reason))
    section = pages.Section(heading="Issues", columns=["Issue"], rows=[[f"HUNG: {reason}"]])

    told = test_html.Reader(test_html.page(pages.merged(bad), [section])).texts

    assert told.count("gpu1: bind hung") == 2
    assert told.count("HUNG: gpu1: bind hung") == 1
    assert told.count(reason) == 1
