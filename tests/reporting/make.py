"""Results, marks and dump paths as nodes leave them, with any field replaced."""

import json
import time
from pathlib import Path

from reporting.aggregate import Ask, aggregate
from reporting.load import Folder
from reporting.names import stem
from reporting.runs import choose, look

T0 = 1_700_000_000.0
"""Long ago, so that no test changes its meaning when a date passes."""
RUN = "123.0"


def check(name="gpu.bind", device="gpu0", outcome="PASS", tier="tier1", **fields):
    """Return one check as a result holds it."""
    return {"id": name, "device": device, "tier": tier, "outcome": outcome, **fields}


def failing(message="gpu0: no answer in 15 s", **fields):
    """Return the fields of a node that failed by one check."""
    bad = check(outcome="FAIL", message=message)
    return {"verdict": "FAIL", "reasons": [message], "checks": [bad], **fields}


def node(name="n1", **fields):
    """Return a valid object `node`; *fields* replace its own."""
    started = fields.get("started", T0)
    return {
        "schema": 1,
        "tool_version": "0.1.0",
        "run_id": RUN,
        "name": name,
        "hostname": name,
        "rank": None,
        "boot_id": f"boot-of-{name}",
        "started": started,
        "finished": started + 5 if isinstance(started, float) else T0 + 5,
        "bound": 60.0,
        "tiers": ["tier1"],
        "partial": False,
        "rehearsal": False,
        "replay_of": "",
        "interrupted": "",
        "verdict": "PASS",
        "reasons": [],
        "warnings": [],
        "unknowns": [],
        "coverage": {"checks": 1, "PASS": 1},
        "options": {"shm_min_gb": {"value": 8, "source": "default"}},
        "durations": {"total": 5.0},
        "checks": [check()],
        "facts": [],
        **fields,
    }


def document(name="n1", tests=(), **fields):
    """Return a result file's content."""
    return {"created": T0, "exitcode": 0, "node": node(name, **fields), "tests": list(tests)}


def mark(name="n1", **fields):
    """Return a mark's content."""
    return {
        "schema": 1,
        "run_id": RUN,
        "name": name,
        "hostname": name,
        "boot_id": f"boot-of-{name}",
        "started": T0,
        "bound": 60.0,
        "tiers": ["tier1"],
        "rehearsal": False,
        **fields,
    }


def put(path: Path, content) -> Path:
    """Write *content* (bytes, text or what JSON can hold) to *path*."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, bytes | str) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def result(dump: Path, name="n1", file="", **fields) -> Path:
    """Leave a result."""
    folder = "smoke/partial" if fields.get("partial") else "smoke"
    return put(dump / folder / f"{file or stem(name)}.json", document(name, **fields))


def started(dump: Path, name="n1", file="", **fields) -> Path:
    """Leave a mark."""
    return put(dump / "smoke" / f"{file or stem(name)}.started", mark(name, **fields))


def sight(dump: Path, run_id=None):
    """Return what the merge sees of a dump path now."""
    entries = Folder(dump).scan()
    return look(entries, choose(entries, run_id, time.time()))


def merge(dump: Path, environment=(), fstype="nfs", **asked) -> int:
    """Merge a dump path without waiting; return the exit status."""
    ask = Ask(**{"dump": dump, "wait_timeout_sec": 0.0, **asked})
    return aggregate(ask, dict(environment), lambda path: fstype)


def lines(path: Path) -> list[str]:
    """Return the lines of a list or report."""
    return path.read_text().splitlines()


def left(dump: Path) -> list[str]:
    """Return the files below a dump path."""
    return sorted(str(p.relative_to(dump)) for p in dump.rglob("*") if not p.is_dir())


def published(dump: Path, file="smoke/n1.json"):
    """Return the object `node` of a result that was published."""
    return json.loads((dump / file).read_bytes())["node"]


class Clock:
    """A time that passes only while somebody sleeps; what is planned happens on the way."""

    def __init__(self, now=T0):
        self.now = now
        self.plan = []

    def __call__(self):
        return self.now

    def at(self, after, action):
        """Do *action* when *after* seconds have passed."""
        self.plan.append((T0 + after, action))
        self.plan.sort(key=lambda item: item[0])

    def sleep(self, seconds):
        self.now += max(seconds, 1e-6)
        while self.plan and self.plan[0][0] <= self.now:
            self.plan.pop(0)[1]()
