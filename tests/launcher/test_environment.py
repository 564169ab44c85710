"""Which Python the launcher takes, and how it makes one."""

from __future__ import annotations

import ast

import pytest

from tests.launcher.conftest import EXTRAS, INDEX, LIB, PROJECT, ROOT, needs

DEPENDENCIES = needs(PROJECT["dependencies"])
REHEARSE = ["torch"]
TEST = needs(EXTRAS["test"])


def making(extras=""):
    """Return what is said when .venv is made."""
    more = f", and for {extras}" if extras else ""
    return f"[node-smoke] making .venv (once, it can take minutes) with python3{more} ...\n"


def test_a_rehearsal_needs_nothing_but_torch():
    """What torch itself does not bring would be missed beside the torch of a site."""
    assert [text.partition("==")[0] for text in EXTRAS["rehearse"]] == REHEARSE


def test_needs_can_be_parsed_by_old_pythons():
    text = (ROOT / "fixtures/needs.py").read_text()
    ast.parse(text, feature_version=(3, 7))
    assert "__future__" not in text


# ---- an environment that is there


@pytest.mark.parametrize("args", [[], ["selftest"]])
def test_active_environment(clone, args):
    clone.python("", *(["rehearse", "test"] if args else []))
    clone.run(*args)
    assert [call["home"] for call in clone.calls()] == [str(clone.active)]
    assert not clone.venv.exists()
    assert not (clone.tmp / "torch-was-imported").exists()
    assert not (clone.tmp / "vendor-tool-ran").exists()


def test_python_variable(ready):
    other = ready.python(home=ready.user / "other", says="3.10||")
    assert ready.ran(PYTHON="other/bin/python3")["home"] == str(other.parent.parent)
    assert ready.ran(PYTHON="python3")["home"] == str(ready.active)


def test_python_variable_that_does_not_run(ready):
    err = ready.err(PYTHON="/nowhere/python3")
    assert "[ERROR] [node-smoke] PYTHON=/nowhere/python3 is missing or broken\n" in err


def test_old_python_is_passed_over(clone):
    (clone.python("").parent.parent / "is-old").touch()
    (clone.user / "activate").touch()
    assert "PYTHON=python3 is older than 3.10\n" in clone.err(PYTHON="python3")
    err = clone.err(VENV_ACTIVATE="activate")
    assert "the python3 of VENV_ACTIVATE is older than 3.10\n" in err
    assert "no Python of 3.10 or later is found" in clone.err()
    newer = clone.tmp / "newer"
    clone.python("", home=newer, name="python3.11")
    assert clone.ran(PATH=f"{clone.env['PATH']}:{newer}/bin")["home"] == str(newer)


def test_venv_activate_without_file(ready):
    first, *hint = ready.err(VENV_ACTIVATE="no/activate").splitlines()
    expected = "VENV_ACTIVATE is set but file does not exist: no/activate"
    assert first == f"[ERROR] [node-smoke] {expected}"
    assert "unset VENV_ACTIVATE" in "".join(hint)


@pytest.mark.parametrize("relative", [True, False])
def test_venv_activate_is_sourced(ready, relative):
    site = ready.tmp / "site"
    ready.python(home=site, says="3.10||")
    script = f'ARGS=$#$UNSET; false; export ARGS PATH="{site}/bin:$PATH"; cd /; return 1'
    (ready.user / "activate").write_text(script)
    (ready.tmp / "tools/activate").write_text("exit 7")
    where = "activate" if relative else f"{ready.user}/activate"
    last = ready.ran("-v", "x", VENV_ACTIVATE=where, PYTHON="/nowhere")
    assert (last["home"], last["env"]["ARGS"]) == (str(site), "0")
    assert last["argv"] == ["pytest", f"--dump-path={ready.user}/output/preflight", "-v", "x"]


@pytest.mark.parametrize(
    ("args", "lacks"),
    [
        ([], DEPENDENCIES),
        (["aggregate"], DEPENDENCIES),
        (["--with-torch"], DEPENDENCIES + REHEARSE),
        (["--", "--rehearse"], DEPENDENCIES + REHEARSE),
        (["selftest"], DEPENDENCIES + REHEARSE + TEST),
    ],
)
def test_venv_activate_that_lacks_something(clone, args, lacks):
    clone.python()
    (clone.user / "activate").touch()
    err = clone.err(*args, VENV_ACTIVATE="activate")
    assert f"the environment of VENV_ACTIVATE lacks: {' '.join(lacks)}\n" in err


@pytest.mark.parametrize("version", ["2.1.0", "99.0.0"])
def test_any_torch_will_do(clone, version):
    clone.python("", f"torch=={version}")
    assert clone.ran("--rehearse")["home"] == str(clone.active)


# ---- one that is made


def test_older_version_than_needed_counts_as_absent(clone):
    clone.python(*[text for text in INDEX[""] if not text.startswith("pytest==")], "pytest==8.3.5")
    clone.run()
    assert clone.installed() == [["."]]


def test_folder_in_the_clone_is_no_package(clone):
    clone.python("")
    for parent in (clone.path, clone.path / "fixtures"):
        (parent / "torch").mkdir()
        (parent / "torch/__init__.py").touch()
    clone.run("--rehearse")
    assert clone.installed() == [[".[rehearse]"]]


def test_new_venv_without_torch(clone):
    clone.python()
    out, err = clone.run("-v")
    assert err.startswith(f"{making()}[node-smoke] no torch here: ")
    assert "--with-torch" in err
    assert (out, err.count("\n")) == ("", 2)
    made, filled, ran = clone.calls()
    assert made["argv"] == ["venv", "--clear", str(clone.venv)]
    assert "--no-user" in filled["argv"]
    assert ran["argv"][-1] == "-v"
    assert filled["home"] == ran["home"] == str(clone.venv)
    assert [call["locked"] for call in (made, filled, ran)] == [True, True, False]
    assert list(clone.tmp.glob("tmp.*")) == []
    assert clone.run()[1] == ""
    assert len(clone.calls()) == 4


@pytest.mark.parametrize(
    ("args", "extras"),
    [(["--rehearse"], "rehearse"), (["selftest"], "rehearse,test"), (["aggregate"], "")],
)
def test_new_venv_with_extras(clone, args, extras):
    clone.python()
    assert clone.run(*args)[1] == making(extras)
    assert clone.installed() == [[f".[{extras}]" if extras else "."]]
    assert clone.calls()[-1]["home"] == str(clone.venv)


@pytest.mark.parametrize(
    ("args", "extras", "inner", "installs"),
    [
        ([], "", False, DEPENDENCIES),
        (["--rehearse"], "rehearse", True, DEPENDENCIES),
        (["selftest"], "rehearse,test", False, [*DEPENDENCIES, *TEST]),
    ],
)
def test_new_venv_takes_the_torch_of_the_site(clone, args, extras, inner, installs):
    clone.python("torch==2.9.1")
    if inner:  # a venv of a venv sees the packages of neither
        (clone.active / "is-a-venv").touch()
    assert clone.run(*args)[1] == making(extras)
    assert "--system-site-packages" in clone.calls("venv")[0]["argv"]
    assert clone.installed() == [[".", *installs]]
    assert not (clone.venv / LIB / "torch").exists()
    links = [path.read_text() for path in (clone.venv / LIB).glob("*.pth")]
    assert links == ([f"{clone.active}/{LIB}\n" * 2] if inner else [])


@pytest.mark.parametrize("left", ["bin/x", "no-pip"])
def test_half_made_venv_is_made_again(clone, left):
    clone.python()
    if left == "no-pip":
        clone.python_of_venv()
        (clone.venv / "pyvenv.cfg").touch()
    (clone.venv / left).parent.mkdir(parents=True, exist_ok=True)
    (clone.venv / left).touch()
    assert clone.ran()["home"] == str(clone.venv)
    assert len(clone.calls("venv")) == 1


# ---- .venv that is there


def test_venv_does_without_a_python(clone):
    clone.python_of_venv("")
    assert clone.ran()["home"] == str(clone.venv)


@pytest.mark.parametrize(
    ("args", "torch", "lacks", "installs"),
    [
        (["--rehearse"], [], REHEARSE, [".[rehearse]"]),
        (["selftest"], ["torch==2.1.0"], [*TEST], [".", *TEST]),
    ],
)
def test_venv_is_added_to(clone, args, torch, lacks, installs):
    clone.python()
    clone.python_of_venv("", *torch)
    assert clone.run(*args)[1] == f"[node-smoke] adding to .venv (once): {' '.join(lacks)} ...\n"
    assert clone.calls("venv") == []
    assert clone.installed() == [installs]


def test_venv_of_another_machine_is_left_alone(clone):
    clone.python()
    (clone.venv / "bin").mkdir(parents=True)
    (clone.venv / "pyvenv.cfg").touch()
    (clone.venv / "bin/python").symlink_to("/nowhere/python3")
    err = clone.err()
    problem = f"{clone.venv}/bin/python is missing or broken"
    assert f"[ERROR] [node-smoke] .venv does not work here: {problem}\n" in err
    assert "or remove it: rm -r" in err
    assert (clone.venv / "pyvenv.cfg").exists()


def test_another_torch_than_the_sites_is_said(clone):
    clone.python("torch==2.9.1")
    clone.python_of_venv("", "torch==2.1.0")
    err = clone.run()[1]
    assert err.startswith("[WARN] [node-smoke] using .venv's torch, not the site's in ")
    assert clone.run("aggregate")[1] == ""
