"""A hostile surrounding: plugins, variables and drivers that would make a node look well."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tests.conftest import ADDRESSES, CLONE, STUBS, UUIDS

_MARKS_ALL = """
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker({})
"""


SKIPPED = "was skipped by something else than the check itself: known"
XFAILED = "was marked xfail by something else than us: known"
BAD = "--rehearse-fault=gpu0:bind:raise"


@pytest.mark.parametrize(
    ("mark", "says", "arguments"),
    [
        ("skip", SKIPPED, []),
        ("xfail", XFAILED, ["-n0"]),
        ("xfail", XFAILED, ["-n0", BAD]),
    ],
    ids=["skip", "xfail", "xfail of a bad GPU"],
)
def test_a_plugin_that_forgives_all_checks_makes_no_pass(smoke, tmp_path, mark, says, arguments):
    marker = f"pytest.mark.{mark}(reason='known')"
    (tmp_path / "forgiving.py").write_text(_MARKS_ALL.format(marker))
    path = {"PYTHONPATH": f"{STUBS}:{tmp_path}"}
    ended = smoke.rehearse("-p", "forgiving", *arguments, environment=path)

    assert ended.status == 1, ended.text
    assert ended.node["verdict"] == "FAIL"
    assert ended.node["unknowns"] == []
    assert ended.check("host.torch")["outcome"] == "FAIL"
    assert ended.check("host.torch")["message"] == f"host.torch {says}"
    assert ended.outcome("gpu.bind", "gpu0") == "FAIL"


def test_a_gpu_that_is_named_twice_is_no_two_gpus(smoke, nvidia):
    """Two ranks would share it, and the other one would never be looked at."""
    chosen = {**nvidia.environment, "CUDA_VISIBLE_DEVICES": f"{UUIDS[0][:6]},{UUIDS[0]}"}
    ended = smoke(*nvidia.arguments, "-n0", environment=chosen)

    assert ended.status == 1, ended.text
    message = ended.check("gpu.visible")["message"]
    assert message.startswith("GPUs visible are 1 (0000:00:06.0), expected at least 2 (CUDA_VIS")
    assert "a GPU that it has named before" in message
    assert ended.outcome("gpu.bind", "gpu0") == "PASS"
    assert ended.outcome("gpu.bind", "gpu1") == "FAIL"


@pytest.fixture
def same(tmp_path) -> dict[str, str]:
    """Give a torch that heeds no selection: each process is given the first GPU."""
    shutil.copytree(STUBS, tmp_path / "same")
    with (tmp_path / "same/torch/cuda.py").open("a") as file:
        file.write("\n_visible = _all\n")
    return {"PYTHONPATH": str(tmp_path / "same")}


def test_two_devices_of_no_known_address_that_are_one_part_fail(smoke, nvidia, same, tmp_path):
    """All that some sandboxes show is device files: nothing tells which part is behind one."""
    for name in ("dev/nvidia0", "dev/nvidia1", "dev/shm/x", "proc/self/limits"):
        path = tmp_path / "bare" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(nvidia.root / name, path) if "limits" in name else path.touch()
    arguments = (f"--system-root={tmp_path}/bare", "--shm-min-gb=0", "-n0")
    ended = smoke(*arguments, environment={**nvidia.environment, **same})
    alone = smoke(*arguments, environment=nvidia.environment, dump=tmp_path / "healthy")

    assert ended.status == 1, ended.text
    for gpu, other in (("gpu0", "gpu1"), ("gpu1", "gpu0")):
        message = ended.check("gpu.bind", gpu)["message"]
        assert message.startswith(f"{gpu}: bind was given {UUIDS[0]}, as {other} was; ")
    assert (alone.status, alone.outcome("gpu.bind", "gpu1")) == (0, "PASS"), alone.text


def test_a_part_in_the_place_of_another_fails_by_its_uuid(smoke, nvidia, same):
    there = f"{ADDRESSES[0]}/GPU-00000000-0000-0000-0000-000000000000"
    environment = {**nvidia.environment, **same, "STUB_GPUS": there}
    ended = smoke(*nvidia.arguments, "-n0", environment=environment)

    assert ended.status == 1, ended.text
    assert (
        "bind was given the GPU GPU-00000000-0000-0000-0000-000000000000, expected"
        f" {UUIDS[0]}; look for it in dmesg" in ended.check("gpu.bind", "gpu0")["message"]
    )


@pytest.mark.parametrize("mib", [(3000, 0), (0, 3000)])
def test_a_gpu_that_is_listed_twice_holds_what_the_larger_number_says(smoke, nvidia, mib):
    one = "<gpu id='0000{}'><uuid>{}</uuid><fb_memory_usage><total>143771 MiB</total>"
    one += "<used>{} MiB</used></fb_memory_usage></gpu>"
    rows = [(ADDRESSES[0], UUIDS[0], n) for n in mib] + [(ADDRESSES[1], UUIDS[1], 0)]
    listed = "".join(one.format(*row) for row in rows)
    nvidia.tool(f"<nvidia_smi_log>{listed}</nvidia_smi_log>")
    ended = smoke(*nvidia.arguments, "-n0", environment=nvidia.environment)

    assert ended.outcome("gpu.memory_in_use", "gpu0") == "FAIL"
    assert ended.check("gpu.memory_in_use", "gpu0")["value"] == 2.9296875
    assert ended.outcome("gpu.memory_in_use", "gpu1") == "PASS"


def test_a_sitecustomize_that_prints_changes_nothing(smoke, tmp_path):
    """At every start of a Python, on the recorder's line to us too."""
    line = "print('welcome to the cluster', flush=True)\nprint('{\"name\": 1}\\n[]\\n7')\n"
    (tmp_path / "sitecustomize.py").write_text(line)
    ended = smoke.rehearse("-n0", environment={"PYTHONPATH": f"{tmp_path}:{STUBS}"})

    assert "welcome to the cluster" in ended.text
    assert ended.status == 0, ended.text
    assert ended.node["verdict"] == "PASS"


def test_a_relative_pythonpath_leads_to_the_same_torch_as_for_the_user(smoke):
    """The recorder runs in another folder: it would judge another torch than the one in use."""
    ended = smoke.rehearse("-n0", environment={"PYTHONPATH": "nowhere:tests/stubs"})

    assert ended.status == 0, ended.text
    (torch,) = (fact for fact in ended.node["facts"] if fact["fact"] == "torch")
    assert torch["version"] == "0.0+stub"


def test_a_tmpdir_is_not_touched(smoke, tmp_path):
    """It may lie on what hangs. Whoever looks for a place for a file leaves a trace in it."""
    folder = tmp_path / "tmpdir"
    folder.mkdir()
    os.utime(folder, (0, 0))
    ended = smoke.rehearse(environment={"TMPDIR": str(folder)})

    assert ended.status == 0, ended.text
    assert folder.stat().st_mtime == 0


@pytest.fixture
def edited(smoke, tmp_path):
    """Replay a good result in which *change* has edited the facts of a kind."""
    document = json.loads((CLONE / "tests/cases/h200x2/result.json").read_bytes())

    def replay(kind, change, **which):
        facts = [f for f in document["node"]["facts"] if f["fact"] == kind]
        for fact in facts:
            if which.items() <= fact.items():
                change(fact)
        (tmp_path / "edited.json").write_text(json.dumps(document))
        return smoke("-n0", f"--replay={tmp_path}/edited.json")

    return replay


@pytest.mark.parametrize("bound", [1e308, -1000])
def test_a_replay_of_a_result_with_an_absurd_bound_ends(edited, bound):
    again = edited("run", lambda fact: fact.update(bound=bound))

    assert again.status == 0, again.text
    assert again.node["verdict"] == "PASS"
    assert 0 <= again.node["bound"] <= 86_400 + 45


def test_a_replay_of_a_result_in_which_two_devices_have_one_name_is_refused(edited):
    again = edited("inventory", lambda fact: fact["devices"][1].update(name="gpu0"))

    assert again.status == 4
    assert "--replay=" in again.text
    assert "it is no node result that can be judged again (two devices have one name)" in again.text


@pytest.mark.parametrize(
    ("stage", "values", "says"),
    [
        ("memory", {"total": 0}, "memory in all is 0 bytes, expected more than 0; look for it"),
        ("gemm", {"size": 64, "not_finite": None}, "gemm tells no count of what is wrong: None"),
    ],
)
def test_an_answer_without_its_number_is_no_good_one(edited, stage, values, says):
    again = edited("stage", lambda fact: fact.update(values=values), stage=stage, device="gpu0")

    assert again.status == 1, again.text
    assert says in again.check(f"gpu.{stage}", "gpu0")["message"]
    assert again.outcome(f"gpu.{stage}", "gpu1") == "PASS"


def test_a_pipe_is_not_replayed(smoke, tmp_path):
    """Nobody writes into it: reading it would never end."""
    os.mkfifo(tmp_path / "pipe")
    ended = smoke(f"--replay={tmp_path}/pipe", dump=False)

    assert ended.status == 4
    assert f"--replay={tmp_path}/pipe: it is no node result" in ended.text
    assert "it is no file of at most 64 MiB" in ended.text
