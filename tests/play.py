"""Play recorded cases under the real suite: `python tests/play.py CASE_DIR…`; see docs/play.md."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.playing import case as cases
from tests.playing import fs, report, run
from tests.playing.topics import TOPICS

AS_EXPECTED, OTHERWISE, USAGE = 0, 1, 2


@dataclass(frozen=True)
class Task:
    """One variant to be played, or, without a variant, a case that only gets its line."""

    case: cases.Case
    variant: cases.Variant | None = None
    why: str = ""


def main(argv: Sequence[str] | None = None) -> int:
    """Play every case that *argv* names; print a line of JSON for each variant."""
    parser = _parser()
    told = parser.parse_args(argv)
    try:
        read = [cases.read(folder) for folder in told.cases]
    except cases.NotACaseError as e:
        parser.exit(USAGE, f"{parser.prog}: {e}\n")
    tasks = [task for case in read for task in _tasks(case)]
    good = True
    with tempfile.TemporaryDirectory(prefix="play-") as temporary:
        keep = Path(told.keep or temporary).resolve()
        order = run.Order(timeout=told.timeout)
        with ThreadPoolExecutor(told.jobs) as pool:
            lines = pool.map(lambda task: play(task, keep, order), tasks)
            for task, line in zip(tasks, lines, strict=True):
                print(json.dumps(line, ensure_ascii=False), flush=True)
                good = good and report.as_expected(task.case, line)
    return AS_EXPECTED if good else OTHERWISE


def play(task: Task, keep: Path, order: run.Order) -> dict[str, Any]:
    """Play one variant below the folder *keep* and return its line."""
    case, variant = task.case, task.variant
    if variant is None or task.why:
        return report.skipped(case, variant.name if variant else "", task.why)
    folder = keep / case.name / (variant.name or "plain")
    try:
        folder.mkdir(parents=True)
        return report.played(case, variant, run.play(case, variant, folder, order))
    except fs.NoFuseError as e:
        return report.skipped(case, variant.name, str(e))
    except FileExistsError:
        return report.skipped(case, variant.name, f"{folder} is there already")
    except (run.NotPlayedError, OSError) as e:
        return report.skipped(case, variant.name, str(e))


def _tasks(case: cases.Case) -> Iterator[Task]:
    if case.play is None or not case.variants:
        yield Task(case, why=report.KNOWLEDGE)
        return
    for variant in case.variants:
        why = "" if case.topic in TOPICS else report.NO_CHECKS
        if variant.name in case.play and case.play[variant.name] is None:
            why = report.KNOWLEDGE
        yield Task(case, variant, why)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests/play.py", description=__doc__)
    parser.add_argument("cases", nargs="+", type=Path, metavar="CASE_DIR", help="a case's folder")
    parser.add_argument(
        "--jobs", type=_count, default=2, metavar="N", help="plays at once [default: 2]"
    )
    parser.add_argument(
        "--keep", metavar="DIR", help="leave each play's tree, tools, log and result here"
    )
    parser.add_argument(
        "--timeout", type=_seconds, metavar="SEC", help="the snapshot's deadline [the suite's own]"
    )
    return parser


def _count(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return int(text)


def _seconds(text: str) -> float:
    if not float(text) > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return float(text)


if __name__ == "__main__":
    sys.exit(main())
