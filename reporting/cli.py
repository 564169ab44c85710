"""The command line of the reporter; what a command needs is imported when it runs."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

_DEFAULT_DUMP = "output/preflight"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status: 0 all passed, 1 some did not, 2 not possible."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    try:
        if arguments.command == "aggregate":
            return _aggregate(arguments)
        if arguments.command == "publish":
            return _publish(arguments)
        if arguments.command == "mark":
            return _mark(arguments)
        if arguments.command == "calibrate":
            return _calibrate(arguments)
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - a traceback ends with 1, which is a verdict
        return _unexpected(arguments.command, error)
    parser.print_help(sys.stderr)
    return 2


def _unexpected(command: str, error: Exception) -> int:
    """Tell an error that nobody foresaw in one line, in full where that is asked for."""
    from .outputs import complain

    if os.environ.get("NODE_SMOKE_TRACEBACK"):
        raise error
    complain(f"{command}: {type(error).__name__}: {error} (NODE_SMOKE_TRACEBACK=1 tells where)")
    return 2


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    installed = Path(sys.argv[0]).name == "node-smoke"
    parser = argparse.ArgumentParser(
        prog="node-smoke" if installed else f"python -m {__package__}",
        description="Merge the results of many nodes into one verdict.",
        epilog="exit status: 0 all nodes passed, 1 some did not, 2 the command could not be done",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"node-smoke {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_aggregate(
        commands.add_parser(
            "aggregate", help="merge what the nodes left in a dump path", allow_abbrev=False
        )
    )
    _add_publish(
        commands.add_parser(
            "publish", help="put one node's result into a dump path", allow_abbrev=False
        )
    )
    _add_mark(commands.add_parser("mark", help="say that one node has begun", allow_abbrev=False))
    _add_calibrate(
        commands.add_parser(
            "calibrate", help="propose a site's limits from its good nodes", allow_abbrev=False
        )
    )
    return parser


def _add_aggregate(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `aggregate`."""
    add = parser.add_argument
    add("--dump-path", default=_DEFAULT_DUMP, metavar="DIR", help="default: %(default)s")
    add("--expected-nodes", type=_count, metavar="N", help="how many nodes should report")
    add("--expected-nodelist-file", metavar="FILE", help="which ones: one name or node set a line")
    add(
        "--wait-timeout-sec",
        type=_seconds,
        default=60.0,
        metavar="SEC",
        help="how long to wait for a node that never began (default: %(default)g);"
        " one that began is awaited for as long as it said it may take; 0 merges what is there now",
    )
    add("--run-id", metavar="ID", help="the run to merge (default: the one that began last)")
    add(
        "--no-clean-dump-path",
        action="store_true",
        help="keep what earlier runs left; it never counts either way",
    )
    add("--alone", metavar="NODE", help="merge this node alone, it knows of no others")
    _add_limits(parser)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    """Declare what `aggregate` compares nodes by."""
    add = parser.add_argument
    add(
        "--clock-skew-warn-sec",
        type=_seconds,
        metavar="SEC",
        help="warn when the nodes' clocks are further apart (default: 30)",
    )
    add(
        "--rocm-smi-warn-sec",
        "--tool-warn-sec",
        dest="tool_warn_sec",
        type=_seconds,
        metavar="SEC",
        help="list vendors' tools that took longer to tell their version"
        " (default: as the nodes were judged)",
    )
    add(
        "--hbm-busy-threshold-gib",
        type=_amount,
        metavar="GIB",
        help="list GPUs that had this much memory in use before the run"
        " (default: as the nodes were judged)",
    )
    add(
        "--gpu-activity-warn-pct",
        type=_amount,
        metavar="PCT",
        help="list GPUs that were this busy before the run (default: as the nodes were judged)",
    )
    add(
        "--fail-outliers",
        action="store_true",
        help="a number far below (hotter than) those of like GPUs is a FAIL of its node",
    )


def _add_publish(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `publish`."""
    add = parser.add_argument
    add("--result", required=True, metavar="FILE", help="the result to publish")
    add("--dump-path", default=_DEFAULT_DUMP, metavar="DIR", help="default: %(default)s")
    add(
        "--prior-window-sec",
        type=_seconds,
        default=3600.0,
        metavar="SEC",
        help="without a run id, join a result of this node that began at most this long before"
        " (default: %(default)g)",
    )


def _add_mark(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mark`."""
    add = parser.add_argument
    add("--content", required=True, metavar="JSON", help="what the mark says")
    add("--dump-path", default=_DEFAULT_DUMP, metavar="DIR", help="default: %(default)s")
    add("--withdraw", action="store_true", help="take the mark back")


def _add_calibrate(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `calibrate`."""
    add = parser.add_argument
    add("--dump-path", default=_DEFAULT_DUMP, metavar="DIR", help="default: %(default)s")
    add("--run-id", metavar="ID", help="the run to go by (default: the one that began last)")
    add("--model", metavar="NAME", help="the GPUs to go by, where a run has several models")
    add(
        "--margin",
        type=_share,
        default=0.05,
        metavar="SHARE",
        help="how far below what was reached a limit lies (default: %(default)g)",
    )
    add(
        "--min-gpus",
        type=_count,
        default=8,
        metavar="N",
        help="leave out a number that rests on fewer GPUs (default: %(default)s)",
    )
    add("--output", metavar="FILE", help="write the profile there (default: standard output)")


def _aggregate(arguments: argparse.Namespace) -> int:
    """Run `aggregate`."""
    from .aggregate import Ask, aggregate

    ask = Ask(
        dump=Path(arguments.dump_path),
        expected_nodes=arguments.expected_nodes,
        expected_nodelist_file=arguments.expected_nodelist_file,
        wait_timeout_sec=arguments.wait_timeout_sec,
        run_id=arguments.run_id,
        keep=arguments.no_clean_dump_path,
        alone=arguments.alone,
        clock_skew_warn_sec=arguments.clock_skew_warn_sec,
        tool_warn_sec=arguments.tool_warn_sec,
        hbm_busy_threshold_gib=arguments.hbm_busy_threshold_gib,
        gpu_activity_warn_pct=arguments.gpu_activity_warn_pct,
        fail_outliers=arguments.fail_outliers,
    )
    return aggregate(ask, os.environ)


def _publish(arguments: argparse.Namespace) -> int:
    """Run `publish`."""
    from .publish import publish

    result, dump = Path(arguments.result), Path(arguments.dump_path)
    return publish(result, dump, window=arguments.prior_window_sec)


def _mark(arguments: argparse.Namespace) -> int:
    """Run `mark`."""
    from .mark import mark

    return mark(arguments.content, Path(arguments.dump_path), withdraw=arguments.withdraw)


def _calibrate(arguments: argparse.Namespace) -> int:
    """Run `calibrate`."""
    from .calibrate import Ask, calibrate

    ask = Ask(
        dump=Path(arguments.dump_path),
        run_id=arguments.run_id,
        model=arguments.model,
        margin=arguments.margin,
        min_gpus=arguments.min_gpus,
        output=None if arguments.output is None else Path(arguments.output),
    )
    return calibrate(ask)


def _count(text: str) -> int:
    """Return *text* as a number of nodes or GPUs."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _seconds(text: str) -> float:
    """Return *text* as a number of seconds that one can wait."""
    number = float(text)
    if not math.isfinite(number) or number < 0:
        raise ValueError
    return number


def _amount(text: str) -> float:
    """Return *text* as a number from 0 on."""
    return _seconds(text)


def _share(text: str) -> float:
    """Return *text* as a part of one, less than all of it."""
    number = float(text)
    if not 0 <= number < 1:
        raise ValueError
    return number


_count.__name__, _seconds.__name__ = "whole number of at least 1", "number of seconds"
_amount.__name__ = "number of at least 0"
_share.__name__ = "number from 0 to below 1"


def _version() -> str:
    """Return the version of this copy: read, not imported, and no search for an installed one."""
    source = Path(__file__).resolve().parent.parent / "fixtures/version.py"
    try:
        found = re.search(r'VERSION = "([^"]+)"', source.read_text("utf-8"))
    except OSError:
        return "unknown"
    return found[1] if found else "unknown"
