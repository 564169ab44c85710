"""Every section as it is on a healthy run and on a sick one, to be read in a review.

`GOLDEN=write pytest tests/reporting/test_golden.py` writes the files anew: read the difference.
"""

import os
import re
from pathlib import Path

import pytest

from reporting.render import markdown
from tests.reporting.clusters import cluster, healthy
from tests.reporting.sick import SICK

GOLDEN = Path(__file__).parent / "golden"


def slug(heading):
    words = re.sub(r"\(.*\)", "", heading).split("--")[0]
    return "-".join(re.findall(r"[a-z0-9]+", words.lower()))


@pytest.mark.parametrize("heading", SICK)
@pytest.mark.parametrize("state", ["healthy", "sick"])
def test_each_section_says_what_its_golden_file_says(heading, state):
    rows = healthy(4) if state == "healthy" else SICK[heading]()
    text = markdown(cluster(*rows))
    start = text.index(f"## {heading}\n")
    end = re.compile(r"\n(?=## |\| Node \| Hostname \| Status )").search(text, start)
    found = text[start : end.start() if end else len(text)].rstrip("\n") + "\n"
    file = GOLDEN / f"{slug(heading)}-{state}.md"
    if os.environ.get("GOLDEN") == "write":
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(found)
    assert found == file.read_text()


@pytest.mark.parametrize("rows", [healthy(2), healthy(0), SICK["Coverage"]()])
def test_the_headings_are_those_and_in_that_order_whatever_there_is_to_say(rows):
    text = markdown(cluster(*rows))
    omitted = set() if any(one.digest for one in rows) else {"Tier 2 perf summary"}

    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]

    assert headings == [heading for heading in SICK if heading not in omitted]
