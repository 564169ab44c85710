"""How long the merge waits, on a clock that passes only while it sleeps."""

import pytest

from reporting.expected import Expected
from reporting.load import Folder
from reporting.wait import Wait
from tests.reporting import make
from tests.reporting.make import T0


@pytest.fixture
def clock():
    return make.Clock()


@pytest.fixture
def dump(tmp_path):
    (tmp_path / "smoke").mkdir()
    return tmp_path


def wait(dump, clock, *names, count=None, timeout=60.0, run_id=make.RUN, only=None):
    """Wait; return what was seen, and after how many seconds."""
    expected = Expected(names=list(names) or None, count=count)
    waiting = Wait(expected, run_id, timeout, clock=clock, wall=clock, sleep=clock.sleep)
    seen = waiting.until_complete(Folder(dump, only=only))
    return seen, clock.now - T0


def test_all_nodes_in_is_no_wait(dump, clock):
    make.result(dump, "n1")
    make.result(dump, "n2")

    _, seconds = wait(dump, clock, "n1", "N2")

    assert seconds == 0


def test_a_result_that_comes_while_waiting_ends_the_wait(dump, clock):
    clock.at(20, lambda: make.result(dump, "n1"))

    seen, seconds = wait(dump, clock, "n1")

    assert seen.nodes["n1"].result
    assert 20 <= seconds < 21


def test_a_node_that_never_began_is_awaited_for_the_timeout(dump, clock):
    make.result(dump, "n1")

    _, seconds = wait(dump, clock, "n1", "n2", timeout=60)

    assert seconds == pytest.approx(60)


@pytest.mark.parametrize("expected", [{"names": ["n1"]}, {"count": 1}, {}])
def test_a_node_that_began_is_awaited_for_its_own_bound_not_for_the_timeout(dump, clock, expected):
    make.started(dump, "n1", bound=200.0)
    clock.at(205, lambda: make.result(dump, "n1", started=T0, finished=T0 + 205))

    seen, seconds = wait(
        dump, clock, *expected.get("names", ()), count=expected.get("count"), timeout=1
    )

    assert seen.nodes["n1"].result
    assert 205 <= seconds < 206


def test_a_node_that_began_and_died_is_awaited_no_longer_than_its_bound(dump, clock):
    make.started(dump, "n1", bound=20.0)

    _, seconds = wait(dump, clock, "n1", timeout=60)

    assert seconds == pytest.approx(30)


def test_the_bound_counts_from_when_the_mark_was_seen_whatever_the_nodes_clock(dump, clock):
    make.started(dump, "n1", bound=20.0, started=T0 - 1800)

    _, seconds = wait(dump, clock, "n1", timeout=1)

    assert seconds == pytest.approx(30)


@pytest.mark.parametrize("expected", [{"names": ["n1", "n2"]}, {"count": 3}, {}])
def test_a_timeout_of_0_merges_what_is_there_now(dump, clock, expected):
    """Who asks for it wants to see how far the run is, marks or no marks."""
    make.started(dump, "n1", bound=200.0)
    make.put(dump / "smoke/half.json", b"{")

    seen, seconds = wait(
        dump, clock, *expected.get("names", ()), count=expected.get("count"), timeout=0
    )

    assert seconds == 0
    assert seen.nodes["n1"].open_mark


def test_a_mark_of_long_ago_is_not_awaited(dump, clock):
    make.started(dump, "n1", bound=20.0, started=T0 - 86_400)

    _, seconds = wait(dump, clock, "n1", timeout=5)

    assert seconds == pytest.approx(5)


def test_a_bound_beyond_reason_is_cut(dump, clock):
    make.started(dump, "n1", bound=1e300)
    clock.sleep = lambda seconds: setattr(clock, "now", clock.now + 3600)

    _, seconds = wait(dump, clock, "n1")

    assert seconds <= 25 * 3600


def test_a_leftover_of_another_run_does_not_fill_the_quota(dump, clock):
    make.result(dump, "old", run_id="before", started=T0 - 1000)
    make.result(dump, "n1")
    clock.at(10, lambda: make.result(dump, "n2"))

    seen, seconds = wait(dump, clock, count=2)

    assert 10 <= seconds < 11
    assert set(seen.here) == {"n1", "n2"}


def test_the_same_nodes_leftover_of_another_run_is_not_its_result(dump, clock):
    make.result(dump, "n1", run_id="before", started=T0 - 1000)
    clock.at(10, lambda: make.result(dump, "n1"))

    _, seconds = wait(dump, clock, "n1")

    assert 10 <= seconds < 11


@pytest.mark.parametrize("half", [b"", b'{"node": {"name": "n1", "run'])
def test_half_a_file_is_read_again_until_it_is_whole(dump, clock, half):
    make.put(dump / "smoke/n1.json", half)
    clock.at(7, lambda: make.result(dump, "n1"))

    seen, seconds = wait(dump, clock, "n1")

    assert seen.nodes["n1"].result
    assert not seen.nodes["n1"].broken
    assert 7 <= seconds < 8


def test_half_a_file_beside_a_whole_one_is_awaited_too(dump, clock):
    make.result(dump, "n1")
    half = make.put(dump / "smoke/n1~other.json", b"{")
    clock.at(7, half.unlink)

    seen, seconds = wait(dump, clock, "n1")

    assert not seen.nodes["n1"].broken
    assert 7 <= seconds < 8


def test_half_a_file_that_stays_half_is_awaited_to_the_end(dump, clock):
    make.put(dump / "smoke/n1.json", b"{")

    seen, seconds = wait(dump, clock, "n1")

    assert seen.nodes["n1"].broken
    assert seconds == pytest.approx(60)


def test_a_tier_that_another_node_was_asked_for_is_awaited(dump, clock):
    make.result(dump, "n1", tiers=["tier1", "tier2"])
    make.result(dump, "n2", tiers=["tier1"])
    clock.at(9, lambda: make.result(dump, "n2", tiers=["tier1", "tier2"]))

    _, seconds = wait(dump, clock, "n1", "n2")

    assert 9 <= seconds < 10


def test_a_mark_after_the_result_is_awaited(dump, clock):
    make.result(dump, "n1", finished=T0 + 5)
    make.started(dump, "n1", started=T0 + 6)
    clock.at(9, lambda: make.result(dump, "n1", finished=T0 + 9))

    _, seconds = wait(dump, clock, "n1")

    assert 9 <= seconds < 10


def test_nobody_waits_for_more_when_only_parts_were_asked_for(dump, clock):
    make.result(dump, "n1", partial=True)

    _, seconds = wait(dump, clock, "n1")

    assert seconds == 0


def test_a_part_does_not_stand_for_the_whole_that_others_were_asked_for(dump, clock):
    make.result(dump, "n1", partial=True)
    make.result(dump, "n2")

    _, seconds = wait(dump, clock, "n1", "n2")

    assert seconds == pytest.approx(60)


def test_with_a_count_a_node_still_at_work_is_awaited_even_when_there_are_enough(dump, clock):
    make.result(dump, "n1")
    make.started(dump, "n2")
    clock.at(9, lambda: make.result(dump, "n2"))

    _, seconds = wait(dump, clock, count=1)

    assert 9 <= seconds < 10


def test_with_enough_nodes_in_a_broken_leftover_is_not_awaited(dump, clock):
    make.result(dump, "n1")
    make.put(dump / "smoke/leftover.json", b"{")

    _, seconds = wait(dump, clock, count=1)

    assert seconds == 0


def test_a_node_that_is_not_expected_is_not_awaited(dump, clock):
    make.result(dump, "n1")
    make.started(dump, "stranger")

    _, seconds = wait(dump, clock, "n1")

    assert seconds == 0


def test_a_dump_path_that_appears_while_waiting_is_read(tmp_path, clock):
    dump = tmp_path / "later"
    clock.at(5, lambda: make.result(dump, "n1"))

    seen, _ = wait(dump, clock, "n1")

    assert seen.nodes["n1"].result


@pytest.mark.parametrize("timeout", [60, 0])
def test_a_dump_path_that_never_appears_raises_at_the_end(tmp_path, clock, timeout):
    with pytest.raises(FileNotFoundError):
        wait(tmp_path / "never", clock, "n1", timeout=timeout)

    assert clock.now - T0 == pytest.approx(timeout)


def test_a_file_system_that_stumbles_does_not_end_the_wait(dump, clock):
    make.started(dump, "n1")
    clock.at(9, lambda: make.result(dump, "n1"))

    class Stumbling(Folder):
        def scan(self):
            if 1 < clock.now - T0 < 5:
                raise OSError(116, "Stale file handle")
            return super().scan()

    waiting = Wait(Expected(), None, 1, clock=clock, wall=clock, sleep=clock.sleep)
    seen = waiting.until_complete(Stumbling(dump))

    assert seen.nodes["n1"].result


def test_progress_is_told_every_five_seconds_with_the_missing_while_they_are_few(
    dump, clock, capsys
):
    make.result(dump, "n1")
    names = [f"n{k}" for k in range(1, 12)]
    clock.at(9, lambda: [make.result(dump, name) for name in names[:8]])

    wait(dump, clock, *names, timeout=14)

    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert told[0].startswith("waiting for 10 of 11 nodes, ")
    assert told[0].endswith("at most")
    assert told[1].startswith("waiting for 3 of 11 nodes, ")
    assert told[1].endswith(": n9, n10, n11")


def test_the_pause_grows_with_what_a_look_costs(dump, clock):
    pauses = []
    sleep = clock.sleep
    clock.sleep = lambda seconds: (pauses.append(seconds), sleep(seconds))
    make.result(dump, "n1")

    class Slow(Folder):
        def scan(self):
            clock.now += 1.0
            return super().scan()

    waiting = Wait(Expected(names=["n2"]), None, 20, clock=clock, wall=clock, sleep=clock.sleep)
    waiting.until_complete(Slow(dump))

    assert pauses[0] == pytest.approx(3.0)
