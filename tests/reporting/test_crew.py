"""Several processes read what one would have read; one that dies costs nothing."""

import gc
import os
import threading

import pytest

from reporting import crew, load
from reporting.load import Folder
from tests.reporting import make

HERE = os.getpid()
FILES = list(range(1000))


@pytest.fixture(autouse=True)
def _two(monkeypatch):
    """Let two processes read, however few the files and the processors are."""
    monkeypatch.setattr(crew, "FEWEST", 2)
    monkeypatch.setattr(crew, "_processors", lambda: 2)
    monkeypatch.setattr(crew, "_may_fork", lambda: True)


def where(file):
    return file, os.getpid()


def test_answers_come_in_order_from_several_processes():
    found = crew.read_all(where, FILES)

    assert [file for file, _ in found] == FILES
    assert len({pid for _, pid in found}) == 2
    assert HERE not in {pid for _, pid in found}


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 129])
def test_any_number_of_files_is_read(count):
    assert [file for file, _ in crew.read_all(where, range(count))] == list(range(count))


def test_what_a_process_that_died_did_not_deliver_is_read_here():
    def deadly(file):
        if file == 500 and os.getpid() != HERE:
            os._exit(1)
        return file, os.getpid()

    found = crew.read_all(deadly, FILES)

    assert [file for file, _ in found] == FILES
    assert found[500] == (500, HERE)


def test_an_answer_that_cannot_travel_is_worked_out_here(capfd):
    def awkward(file):
        return (lambda: file) if file == 70 else file

    found = crew.read_all(awkward, FILES)

    assert found[70]() == 70
    assert found[:70] == FILES[:70]
    assert found[71:] == FILES[71:]


def test_where_no_process_can_be_made_all_is_read_here(monkeypatch):
    def refuse():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)

    assert crew.read_all(where, FILES) == [(file, HERE) for file in FILES]


def test_beside_another_thread_nothing_is_forked(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(crew, "FEWEST", 2)
    monkeypatch.setattr(crew, "_processors", lambda: 2)
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()

    found = crew.read_all(where, FILES)

    done.set()
    thread.join()
    assert {pid for _, pid in found} == {HERE}


def test_a_dump_path_is_the_same_however_many_read_it(tmp_path, monkeypatch):
    for n in range(150):
        make.result(tmp_path, f"n{n}", rank=n)
    for n in range(40):
        make.started(tmp_path, f"m{n}")
    for n, raw in enumerate((b"", b"{", b"[]", make.document(rank="x"), b"\xff")):
        make.put(tmp_path / f"smoke/bad{n}.json", raw)
    (tmp_path / "smoke/folder.json").mkdir()

    by_two = Folder(tmp_path).scan()
    monkeypatch.setattr(crew, "FEWEST", 10_000)
    by_one = Folder(tmp_path).scan()

    assert by_two == by_one
    assert len(by_two) == 196
    assert sum(entry.digest is not None for entry in by_two) == 150


def test_a_file_that_vanishes_while_it_is_read_is_no_node(tmp_path, monkeypatch):
    for n in range(10):
        make.result(tmp_path, f"n{n}")
    contents = load.contents

    def vanish(path):
        if path.stem == "n3":
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return contents(path)

    monkeypatch.setattr(load, "contents", vanish)

    assert [entry.name for entry in Folder(tmp_path).scan()] == [
        f"n{n}" for n in range(10) if n != 3
    ]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_search_for_cycles_is_left_as_it_was(enabled):
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        crew.read_all(where, FILES)
        after = gc.isenabled()
    finally:
        (gc.enable if before else gc.disable)()

    assert after is enabled
