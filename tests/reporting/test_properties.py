"""Whatever others wrote: no exception and no lost node."""

import json
import tempfile
from pathlib import Path

import pytest

from reporting import names, wire
from reporting.load import Folder
from tests.reporting import make

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies
few = hypothesis.settings(max_examples=30, deadline=None, database=None, derandomize=True)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@few
@hypothesis.given(st.text(), st.text())
def test_a_stem_never_leaves_its_folder_and_two_names_never_share_one(one, other):
    stem = names.stem(one)

    assert "/" not in stem
    assert "~" not in stem or len(stem) == 200
    assert not stem.startswith(".")
    assert 0 < len(stem) <= 200
    if names.stem(other) == stem:
        assert one.encode("utf-8", "replace") == other.encode("utf-8", "replace")


@few
@hypothesis.given(st.sampled_from(sorted(make.node())), JSON)
def test_any_value_in_any_field_leaves_one_node_in_the_merge(field, value):
    content = make.document()
    content["node"][field] = value
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder)
        make.put(dump / "smoke/n1.json", json.dumps(content))
        named = {entry.name for entry in Folder(dump).scan()}

        status = make.merge(dump, expected_nodes=1)

        assert len(named) == 1 or (field == "replay_of" and not named)
        assert status in {0, 1}
        assert len(make.lines(dump / "passing_nodes.txt")) == (status == 0)


FACT_KINDS = st.sampled_from([*wire.WANTED, "end", "of_tomorrow"])
FACT = st.fixed_dictionaries(
    {"fact": FACT_KINDS},
    optional={
        name: JSON
        for name in ("device", "values", "name", "devices", "stage", "value", "netdevs", "wall")
    },
)


@few
@hypothesis.given(st.lists(FACT | JSON, max_size=5))
def test_any_facts_leave_one_node_under_its_name(facts):
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder)
        make.put(dump / "smoke/n1.json", json.dumps(make.document(facts=facts)))

        (entry,) = Folder(dump).scan()

        assert entry.name == "n1"
        assert (entry.said is None) == bool(entry.error) == (entry.digest is None)
        assert make.merge(dump, expected_nodes=1) == (entry.said is None)


RESULT = json.dumps(make.document(facts=[{"fact": "activity", "device": "gpu0"}])).encode()


@few
@hypothesis.given(st.integers(0, len(RESULT)), st.binary(max_size=8), st.integers(0, 8))
def test_any_damage_to_a_file_leaves_one_entry(at, instead, gone):
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder)
        make.put(dump / "smoke/n1.json", RESULT[:at] + instead + RESULT[at + gone :])

        found = Folder(dump).scan()

        assert len(found) == 1 or b"replay_of" in RESULT[max(0, at - 20) : at + 20]
        assert make.merge(dump, expected_nodes=1) in {0, 1}
