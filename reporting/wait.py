"""Waiting for the nodes: for one that began as long as it said, for the others a fixed time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from .expected import Expected
from .load import Folder
from .model import Mark
from .names import fold, natural, plain
from .runs import Left, Run, Sight, choose, look

_PAUSE = 0.2
_PROGRESS = 5.0
_GRACE = 10.0
"""From a node's own bound to its result lying in the dump path."""
_LONG_DEAD = 3600.0
"""A mark whose bound passed this long ago, clocks being what they are, is waited for no more."""
_LONGEST_BOUND = 86_400.0
_FEW = 8


class Wait:
    """One wait: what to expect, until when, and since when each mark has been in sight."""

    def __init__(
        self,
        expected: Expected,
        run_id: str | None,
        timeout: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._expected, self._run_id, self._timeout = expected, run_id, timeout
        self._clock, self._wall, self._sleep = clock, wall, sleep
        self._began = self._said = clock()
        self._first_seen: dict[tuple[str, str, float], float] = {}
        self._last = Sight(Run(run_id or ""))

    def until_complete(self, folder: Folder) -> Sight:
        """Return what there is when all is there, or when nothing more is to be expected.

        OSError when the dump path can't be read to the end.
        """
        while True:
            looked = self._clock()
            sight, trouble = self._look(folder)
            deadlines = self._awaited(sight)
            now = self._clock()
            if not deadlines or now >= max(deadlines.values()):
                if trouble is not None:
                    raise trouble
                return sight
            self._tell(sight, deadlines, now)
            pause = max(_PAUSE, 3 * (now - looked))
            self._sleep(min(pause, max(deadlines.values()) - now))

    def _look(self, folder: Folder) -> tuple[Sight, OSError | None]:
        """Return what there is now; a dump path that can't be read may be readable later."""
        try:
            entries = folder.scan()
        except OSError as error:
            return self._last, error
        now = self._wall()
        self._last = look(entries, choose(entries, self._run_id, now), now)
        return self._last, None

    def _awaited(self, sight: Sight) -> dict[str, float]:
        """Return the nodes that are not complete, each with the time until which it is awaited."""
        if not self._timeout:
            return {}  # asked to wait for nobody
        here = sight.here
        names = {key: left for key, left in here.items() if not sight.complete(left)}
        absent: list[str] = []
        if self._expected.names is not None:
            names = {k: left for k, left in names.items() if self._expected.has(left.name)}
            absent = [name for name in self._expected.names if fold(name) not in here]
        elif self._expected.count is not None:
            short = self._expected.count - len(here)
            absent = [f"<missing-{k}>" for k in range(short)]
            if len(here) - len(names) >= self._expected.count:
                names = {key: left for key, left in names.items() if left.open_mark}
        deadlines = {left.name: self._deadline(key, left) for key, left in names.items()}
        return deadlines | dict.fromkeys(absent, self._began + self._timeout)

    def _deadline(self, key: str, left: Left) -> float:
        """Return until when a node is awaited: its own bound counts from when we saw its mark."""
        mark = left.open_mark
        if mark is None or self._wall() > mark.started + _bound(mark) + _LONG_DEAD:
            return self._began + self._timeout
        seen = self._first_seen.setdefault((key, mark.hostname, mark.started), self._clock())
        return seen + _bound(mark) + _GRACE

    def _tell(self, sight: Sight, deadlines: dict[str, float], now: float) -> None:
        """Say on stderr, now and then, what is being waited for."""
        if now - self._said < _PROGRESS:
            return
        self._said = now
        nodes = self._expected.size or len(sight.here)
        awaited = sorted((plain(name, 64) for name in deadlines), key=natural)
        who = f": {', '.join(awaited)}" if len(awaited) <= _FEW else ""
        left = max(deadlines.values()) - now
        print(
            f"waiting for {len(awaited)} of {nodes} nodes, {max(0, nodes - len(awaited))} are in,"
            f" {left:.0f} s at most{who}",
            file=sys.stderr,
            flush=True,
        )


def _bound(mark: Mark) -> float:
    """Return the bound of *mark*, within reason: anybody may have written it."""
    return min(max(mark.bound, 0.0), _LONGEST_BOUND)
