"""The launcher, in a clone whose interpreters are stubs: nothing is installed or judged."""

from __future__ import annotations

import fcntl
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fixtures import options

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
SCRIPTS = ["node-smoke", ".ci/run"]
TOOLS = ["bash", "cat", "dirname", "env", "flock", "mktemp", "readlink", "rm", "sed", "setsid"]
VENDOR_TOOLS = ["nvidia-smi", "rocm-smi", "amd-smi", "scontrol"]
LIB = "lib/python{}.{}/site-packages".format(*sys.version_info[:2])


def install(site, requirement):
    """Make something that looks installed; its import leaves a mark."""
    name, _, version = requirement.partition("==")
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    if name == "torch":
        (site / "torch").mkdir(exist_ok=True)
        (site / "torch/__init__.py").write_text("import os; open(os.environ['STUB_MARK'], 'w')")


# An interpreter whose packages are the dist-info folders of its own tree. It answers `-c` with the
# real Python on just these, makes trees for `-m venv` and `-m pip`, and writes down every `-m`.
STUB = (
    f"{inspect.getsource(install)}\n\n"
    + r"""
import os, sys
lib, me, *argv = sys.argv[1:]
home = os.path.dirname(os.path.dirname(me))
setting = os.environ.get


def folders(home):
    yield os.path.join(home, lib)
    for name in os.listdir(os.path.join(home, lib)):
        if name.endswith(".pth"):
            yield from open(os.path.join(home, lib, name)).read().splitlines()
    if os.path.exists(home + "/base"):
        yield from folders(open(home + "/base").read())


if argv[0] == "-c":
    if os.path.exists(home + "/is-old"):
        argv[1] = "import sys; sys.version_info = (3, 6, 8)\n" + argv[1]
    os.environ["PYTHONPATH"] = os.pathsep.join(folders(home))
    os.execv(sys.executable, [me, "-S", *argv])
if argv[1:3] == ["pip", "--version"]:
    sys.exit(os.path.exists(home + "/no-pip"))
import json, time
from pathlib import Path


def pip(words):
    time.sleep(float(setting("STUB_PIP_SLEEP", "0")))
    index = json.loads(setting("STUB_INDEX"))
    for word in words:
        if word == setting("STUB_PIP_FAILS_ON"):
            sys.exit("ERROR: no route to the index")
        groups = ["", *filter(None, word[2:-1].split(","))] if word[0] == "." else [word]
        for requirement in sum((index.get(group, [group]) for group in groups), []):
            install(Path(home, lib), requirement)


def venv(target, options):
    import shutil
    shutil.rmtree(target, ignore_errors="--clear" in options)
    (target / "bin").mkdir(parents=True)
    (target / lib).mkdir(parents=True)
    shutil.copy(me, target / "bin/python")
    if "--system-site-packages" in options and not os.path.exists(home + "/is-a-venv"):
        (target / "base").write_text(home)


facts = {"home": home, "argv": argv[1:], "cwd": os.getcwd(), "pid": os.getpid()}
facts["locked"] = os.path.exists("/proc/self/fd/9")
with open(setting("STUB_LOG"), "a") as log:
    log.write(json.dumps({**facts, "env": dict(os.environ)}) + "\n")
if argv[1] == "venv":
    venv(Path(argv[-1]), argv[2:-1])
elif argv[1:3] == ["pip", "install"]:
    pip([word for word in argv[3:] if not word.startswith("-")])
else:
    sys.exit(int(setting("STUB_STATUS", "0")))
"""
)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def needs(requirements):
    """Keep those that count on this Python, without their markers."""
    new = sys.version_info >= (3, 11)
    return [r.partition(";")[0] for r in requirements if not (new and "python_version" in r)]


def at_the_floor(requirements):
    """Pin each requirement to the lowest version that will do."""
    return [re.sub(r"^([\w-]+)$", r"\1==1", r.replace(">=", "==")) for r in needs(requirements)]


INDEX = {"": at_the_floor(PROJECT["dependencies"])}
INDEX |= {name: at_the_floor(EXTRAS[name]) for name in ("rehearse", "test")}
INDEX["numpy"] = ["numpy==1"]
TORCH = next(text for text in EXTRAS["rehearse"] if text.startswith("torch"))


class Clone:
    """A clone with the launcher, a user who stands elsewhere, and the stubs on that user's PATH."""

    def __init__(self, tmp):
        self.tmp, self.path, self.venv = tmp, tmp / "my clone", tmp / "my clone/.venv"
        self.user, self.active, self.log = tmp / "my data", tmp / "active", tmp / "log"
        tools = tmp / "tools"
        for folder in (self.user, tools, self.path / "fixtures"):
            folder.mkdir(parents=True)
        for name in ("node-smoke", "pyproject.toml", "fixtures/version.py"):
            shutil.copy(ROOT / name, self.path / name)
        (tmp / "stub.py").write_text(STUB)
        for name in [*TOOLS, "tail"]:
            (tools / name).symlink_to(shutil.which(name))
        for name in VENDOR_TOOLS:
            (tools / name).write_text(f'#!/bin/sh\necho >"{tmp}/vendor-tool-ran"\n')
            (tools / name).chmod(0o755)
        self.env = {"PATH": f"{self.active}/bin:{tools}", "HOME": "/home/someone"}
        self.env |= {"LC_ALL": "C.UTF-8", "TMPDIR": str(tmp)}
        self.env |= {"STUB_LOG": str(self.log), "STUB_INDEX": json.dumps(INDEX)}
        self.env["STUB_MARK"] = str(tmp / "torch-was-imported")

    def python(self, *packages, home=None, name="python3"):
        """Make an interpreter that has these packages, or those of these groups of the index."""
        home = home or self.active
        shim = home / "bin" / name
        for folder in (shim.parent, home / LIB):
            folder.mkdir(parents=True, exist_ok=True)
        command = f'"{sys.executable}" -S -E "{self.tmp}/stub.py" {LIB}'
        shim.write_text(f'#!/bin/sh\nexec {command} "$0" "$@"\n')
        shim.chmod(0o755)
        for package in packages:
            for requirement in INDEX.get(package, [package]):
                install(home / LIB, requirement)
        return shim

    def start(self, *args, script=None, wrap=(), cwd=None, **env):
        command = [*wrap, script or self.path / "node-smoke", *args]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env=self.env | env, cwd=cwd or self.user, **pipes)

    def run(self, *args, status=0, **how):
        process = self.start(*args, **how)
        out, err = process.communicate(timeout=30)
        assert process.returncode == status, err
        return out, err

    def calls(self, module=None):
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if module in {None, line["argv"][0]}]

    def ran(self, *args, **how):
        """Run the launcher; what it did last, with the clone as working directory."""
        self.run(*args, **how)
        assert self.calls()[-1]["cwd"] == str(self.path)
        return self.calls()[-1]

    def argv(self, *args, **how):
        """Run the launcher; what it handed to pytest or to the reporter."""
        return self.ran(*args, **how)["argv"]

    def installed(self):
        """Return what pip was asked for, in each of its calls."""
        return [[w for w in call["argv"][2:] if w[0] != "-"] for call in self.calls("pip")]

    def wait_for(self, module):
        end = time.monotonic() + 20
        while not (self.log.exists() and self.calls(module)):
            assert time.monotonic() < end, f"{module} was not started"
            time.sleep(0.01)


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


@pytest.fixture
def ready(clone):
    """Give the user of the clone an active environment with everything in it."""
    clone.python("", "rehearse", "test")
    return clone


# ---- the scripts themselves


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_is_executable_and_parses(script):
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", ROOT / script], check=True)


@pytest.mark.parametrize("script", SCRIPTS)
def test_shellcheck_finds_nothing(script):
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", ROOT / script], stdout=subprocess.PIPE, check=False)
    assert done.stdout == b""


@pytest.mark.parametrize("newer", [r"@[QEPAaUuLKk]\}", r"wait -n", r"(local|declare) -n"])
def test_launcher_keeps_to_bash_42(newer):
    assert not re.search(newer, (ROOT / "node-smoke").read_text())


def test_launcher_guards_arrays_that_may_be_empty():
    bare = re.findall(r'(?<!\+)"\$\{(\w+)\[@\]\}"', (ROOT / "node-smoke").read_text())
    assert set(bare) == {"path_options", "candidates"}


# ---- what is handed over


def test_plain_run(ready):
    last = ready.ran("-m", "tier1", "-k", "a b")
    dump_path = f"--dump-path={ready.user}/output/preflight"
    assert last["argv"] == ["pytest", dump_path, "-m", "tier1", "-k", "a b"]
    assert not ready.venv.exists()
    assert not (ready.tmp / "torch-was-imported").exists()
    assert not (ready.tmp / "vendor-tool-ran").exists()


def test_selftest(ready):
    expected = ["pytest", "tests", "-n", "2", "-k", "x", f"--junitxml={ready.user}/a.xml"]
    assert ready.argv("selftest", "--", "-k", "x", "--junitxml", "a.xml") == expected


def test_aggregate(ready):
    given = ["--expected-nodelist-file", "nodes.txt", "--help"]
    expected = ["reporting", "aggregate", f"--dump-path={ready.user}/output/preflight"]
    expected += [f"--expected-nodelist-file={ready.user}/nodes.txt", "--help"]
    assert ready.argv("aggregate", *given) == expected
    assert ready.argv("aggregate", "--dump-path", "/d")[2:] == ["--dump-path=/d"]


def path_options():
    listed = re.search(r"path_options=\((.*?)\)", (ROOT / "node-smoke").read_text(), re.DOTALL)
    return listed[1].split()


def test_path_options_are_those_of_the_plugin():
    assert {option.flag for option in options.ALL if option.path} <= set(path_options())


def test_path_options_are_rewritten(ready):
    spaced = [word for option in path_options() for word in (option, "a b")]
    joined = [f"{option}=a b" for option in path_options()]
    expected = [f"{option}={ready.user}/a b" for option in path_options()]
    assert ready.argv(*spaced, "-v") == ["pytest", *expected, "-v"]
    assert ready.argv(*joined, "-v") == ["pytest", *expected, "-v"]


@pytest.mark.parametrize("spaced", [True, False])
def test_paths_become_absolute(ready, spaced):
    home, user = ready.env["HOME"], ready.user
    given = ["/x/y", "../x", "~/x", "~", "~x", "", "a=b"]
    become = ["/x/y", f"{user}/../x", f"{home}/x", home, f"{user}/~x", "", f"{user}/a=b"]
    args = [word for path in given for word in ("--dump-path", path)]
    args = args if spaced else [f"--dump-path={path}" for path in given]
    assert ready.argv(*args) == ["pytest", *(f"--dump-path={path}" for path in become)]


def test_from_the_root_folder(ready):
    assert ready.argv(cwd="/") == ["pytest", "--dump-path=/output/preflight"]


@pytest.mark.parametrize("tail", [[], ["--rehearse"]])
def test_path_option_without_a_value_is_left_to_pytest(ready, tail):
    assert ready.argv("--dump-path", *tail) == ["pytest", "--dump-path", *tail]


def test_replay_gets_no_dump_path(ready):
    assert ready.argv("--replay=/r.json") == ["pytest", "--replay=/r.json"]
    assert "--dump-path=/d" in ready.argv("--replay=/r.json", "--dump-path=/d")


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (["--with-torch", "--unknown", "--"], ["--unknown"]),
        (["--", "--help"], ["--help"]),
        (["-v", "--", "--version", "--", "x"], ["-v", "--version", "--", "x"]),
        (["--", "--with-torch"], ["--with-torch"]),
        (["-m", "help"], ["-m", "help"]),
        (["-k", "selftest"], ["-k", "selftest"]),
        (["--", "aggregate"], ["aggregate"]),
    ],
)
def test_launcher_flags_end_at_two_dashes(ready, given, passed):
    assert ready.argv(*given)[2:] == passed


def test_with_torch_before_a_subcommand(ready):
    assert ready.argv("--with-torch", "selftest") == ["pytest", "tests", "-n", "2"]


@pytest.mark.parametrize("word", ["help", "--help", "-h"])
def test_help_needs_no_python(clone, word):
    out, err = clone.run(word)
    assert out.splitlines()[0].startswith("./node-smoke --rehearse ")
    assert out.splitlines()[1].startswith("./node-smoke selftest ")
    assert out.endswith("\npytest's options: ./node-smoke -- --help\n")
    assert err == ""


def test_version_needs_no_python(clone):
    version = re.search(r'VERSION = "(.+)"', (ROOT / "fixtures/version.py").read_text())[1]
    assert clone.run("-v", "--version") == (f"node-smoke {version}\n", "")


def test_through_a_symlink(ready):
    link = ready.user / "link"
    link.symlink_to("../my clone/node-smoke")
    assert ready.argv(script="./link") == ["pytest", f"--dump-path={ready.user}/output/preflight"]


def test_outside_a_clone(clone):
    copy = shutil.copy(clone.path / "node-smoke", clone.tmp / "slurm_script")
    assert "[ERROR] [node-smoke] no clone of the project in" in clone.run(script=copy, status=1)[1]


def test_python_takes_the_place_of_the_launcher(ready):
    process = ready.start(STUB_STATUS="3")
    assert process.wait(timeout=30) == 3
    assert ready.calls()[-1]["pid"] == process.pid


def test_environment_is_left_alone(ready):
    own = {"PWD", "OLDPWD", "SHLVL", "_"}
    given = {"PYTHONSAFEPATH": "1", "PYTHONPATH": "/x"}
    found = ready.ran(**given)["env"]
    assert {k: v for k, v in found.items() if k not in own} == ready.env | given


# ---- which environment


def test_venv_activate_without_file(ready):
    err = ready.run(VENV_ACTIVATE="no/activate", status=1)[1]
    first, *hint = err.splitlines()
    expected = "VENV_ACTIVATE is set but file does not exist: no/activate"
    assert first == f"[ERROR] [node-smoke] {expected}"
    assert "unset VENV_ACTIVATE" in "".join(hint)
    assert not ready.log.exists()


@pytest.mark.parametrize("relative", [True, False])
def test_venv_activate_is_sourced(ready, relative):
    site = ready.tmp / "site"
    ready.python("", home=site)
    script = f'ARGS=$#$UNSET; false; export ARGS PATH="{site}/bin:$PATH"; cd /; return 1'
    (ready.user / "activate").write_text(script)
    where = "activate" if relative else f"{ready.user}/activate"
    last = ready.ran("-v", "x", VENV_ACTIVATE=where, PYTHON="/nowhere")
    assert (last["home"], last["env"]["ARGS"]) == (str(site), "0")
    assert last["argv"] == ["pytest", f"--dump-path={ready.user}/output/preflight", "-v", "x"]


@pytest.mark.parametrize("args", [[], ["--rehearse"], ["selftest"], ["aggregate"]])
def test_venv_activate_that_lacks_something(clone, args):
    clone.python()
    activate = clone.user / "activate"
    activate.touch()
    err = clone.run(*args, VENV_ACTIVATE=str(activate), status=1)[1]
    wanted = needs(PROJECT["dependencies"])
    wanted += needs(EXTRAS["rehearse"]) if args[:1] in (["--rehearse"], ["selftest"]) else []
    wanted += needs(EXTRAS["test"]) if args == ["selftest"] else []
    lacks = " ".join("torch" if text == TORCH else text for text in wanted)
    assert f"[ERROR] [node-smoke] the environment of VENV_ACTIVATE lacks: {lacks}\n" in err


def test_older_version_than_needed_counts_as_absent(clone):
    clone.python(*[text for text in INDEX[""] if not text.startswith("pytest==")], "pytest==8.3.5")
    clone.run()
    assert clone.installed() == [["."]]


@pytest.mark.parametrize("version", ["2.1.0", "9.0.0"])
def test_any_torch_will_do(clone, version):
    clone.python("", f"torch=={version}", "numpy")
    assert clone.ran("--rehearse")["home"] == str(clone.active)


def test_folder_in_the_clone_is_no_package(clone):
    clone.python("", "numpy")
    (clone.path / "torch").mkdir()
    (clone.path / "torch/__init__.py").touch()
    clone.run("--rehearse", STUB_PIP_FAILS_ON=TORCH)
    assert clone.installed() == [[TORCH], [".[rehearse]"]]


def test_new_venv_without_torch(clone):
    clone.python()
    out, err = clone.run("-v")
    making, no_torch = err.splitlines()
    assert making == "[node-smoke] making .venv (once) with python3 ..."
    assert "GPU checks will need the site's" in no_torch
    assert "--with-torch" in no_torch
    assert out == ""
    assert clone.calls("venv")[0]["argv"] == ["venv", "--clear", str(clone.venv)]
    assert clone.installed() == [["."]]
    assert "--no-user" in clone.calls("pip")[0]["argv"]
    assert clone.calls()[-1]["home"] == str(clone.venv)
    assert [call["locked"] for call in clone.calls()] == [True, True, False]
    assert {call["home"] for call in clone.calls("pip")} == {str(clone.venv)}
    assert [path.name for path in clone.tmp.iterdir() if path.name.startswith("tmp.")] == []


@pytest.mark.parametrize("args", [["--rehearse"], ["--with-torch"], ["--", "--rehearse"]])
def test_new_venv_with_torch(clone, args):
    clone.python()
    clone.run(*args)
    assert clone.installed() == [[TORCH], [".[rehearse]"]]
    cpu_build = clone.calls("pip")[0]["argv"]
    assert {"--no-deps", "--extra-index-url=https://download.pytorch.org/whl/cpu"} <= set(cpu_build)


def test_new_venv_for_the_selftest(clone):
    clone.python("")
    clone.run("selftest", STUB_PIP_FAILS_ON=TORCH)  # the index of CPU builds is out of reach
    assert clone.installed() == [[TORCH], [".[rehearse,test]"]]
    assert clone.calls()[-1]["home"] == str(clone.venv)


@pytest.mark.parametrize("inner", [True, False], ids=["venv", "system"])
@pytest.mark.parametrize(
    ("args", "installs"),
    [
        ([], ["."]),
        (["--rehearse"], [".", "numpy"]),
        (["selftest"], [".[test]", "numpy"]),
    ],
)
def test_new_venv_takes_the_torch_of_the_site(clone, args, installs, inner):
    clone.python("torch==2.9.1")
    if inner:  # a venv of a venv sees the packages of neither
        (clone.active / "is-a-venv").touch()
    err = clone.run(*args)[1]
    assert err == "[node-smoke] making .venv (once) with python3 ...\n"
    assert "--system-site-packages" in clone.calls("venv")[0]["argv"]
    assert clone.installed() == [installs]
    assert not (clone.venv / LIB / "torch").exists()
    links = [path.read_text() for path in (clone.venv / LIB).glob("*.pth")]
    assert links == ([f"{clone.active}/{LIB}\n" * 2] if inner else [])


def test_venv_is_made_once(clone):
    clone.python()
    clone.run()
    assert clone.run()[1] == ""
    assert len(clone.calls("venv")) == len(clone.calls("pip")) == 1


def test_venv_does_without_a_python(clone):
    clone.python("", home=clone.venv, name="python")
    assert clone.ran()["home"] == str(clone.venv)


def test_venv_is_added_to(clone):
    clone.python()
    clone.python("", home=clone.venv, name="python")
    err = clone.run("--rehearse")[1]
    assert "[node-smoke] adding to .venv (once): torch numpy ..." in err
    assert clone.calls("venv") == []
    assert clone.installed() == [[TORCH], [".[rehearse]"]]


def test_venv_that_was_added_to_keeps_its_torch(clone):
    clone.python()
    clone.python("", "torch==2.1.0", home=clone.venv, name="python")
    clone.run("selftest")
    assert clone.installed() == [[".[test]", "numpy"]]


def test_existing_venv_stays_when_an_addition_fails(clone):
    clone.python()
    shim = clone.python("", home=clone.venv, name="python")
    clone.run("--rehearse", status=1, STUB_PIP_FAILS_ON=".[rehearse]")
    assert shim.exists()


@pytest.mark.parametrize("left", ["bin/x", "no-pip"])
def test_half_made_venv_is_made_again(clone, left):
    clone.python()
    if left == "no-pip":
        clone.python(home=clone.venv, name="python")
        (clone.venv / "pyvenv.cfg").touch()
    (clone.venv / left).parent.mkdir(parents=True, exist_ok=True)
    (clone.venv / left).touch()
    assert clone.ran()["home"] == str(clone.venv)
    assert len(clone.calls("venv")) == 1


def test_venv_of_another_machine_is_left_alone(clone):
    clone.python()
    (clone.venv / "bin").mkdir(parents=True)
    (clone.venv / "pyvenv.cfg").touch()
    (clone.venv / "bin/python").symlink_to("/nowhere/python3")
    err = clone.run(status=1)[1]
    problem = f"{clone.venv}/bin/python is missing or broken"
    assert f"[ERROR] [node-smoke] .venv does not work here: {problem}\n" in err
    assert "or remove it: rm -r" in err
    assert (clone.venv / "pyvenv.cfg").exists()


def test_another_torch_than_the_sites_is_said(clone):
    clone.python("torch==2.9.1")
    clone.python("", "torch==2.1.0", home=clone.venv, name="python")
    err = clone.run()[1]
    assert err.startswith("[WARN] [node-smoke] using .venv's torch, not the site's in ")
    assert clone.run("aggregate")[1] == ""


def test_failed_installation_leaves_no_venv(clone):
    clone.python()
    err = clone.run(status=1, STUB_PIP_FAILS_ON=".")[1]
    assert "ERROR: no route to the index\n[ERROR] [node-smoke] can't install into .venv\n" in err
    assert "Set VENV_ACTIVATE" in err
    assert not clone.venv.exists()
    assert clone.calls("pytest") == []


def test_signal_during_installation(clone):
    clone.python()
    process = clone.start(STUB_PIP_SLEEP="60")
    clone.wait_for("pip")
    with (clone.path / ".venv.lock").open("r+") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 143
    assert not clone.venv.exists()
    assert not Path(f"/proc/{clone.calls('pip')[0]['pid']}").exists()


def test_second_process_waits_for_the_first(clone):
    clone.python()
    with (clone.path / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = clone.start()
        assert "waiting for another process that makes .venv" in process.stderr.readline()
        clone.python("", home=clone.venv, name="python")
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert [call["argv"][0] for call in clone.calls()] == ["pytest"]


def test_no_lock_no_venv(clone):
    clone.python()
    (clone.tmp / "tools/flock").unlink()
    assert "[ERROR] [node-smoke] can't lock" in clone.run(status=1)[1]
    assert not clone.venv.exists()


@pytest.mark.parametrize("with_lock", [True, False])
def test_read_only_clone(clone, with_lock):
    clone.python("")
    if with_lock:
        (clone.path / ".venv.lock").touch()
    clone.path.chmod(0o555)
    wrap = []
    if os.geteuid() == 0:  # may write everywhere, unless that is taken away
        if not shutil.which("setpriv"):
            pytest.skip("root without setpriv can't be kept from writing")
        wrap = [shutil.which("setpriv"), "--inh-caps=-all", "--bounding-set=-all"]
    err = clone.run("--rehearse", status=1, wrap=wrap)[1]
    clone.path.chmod(0o755)
    assert f"[ERROR] [node-smoke] can't make .venv: {clone.path} is not writable\n" in err
    assert "lacks: torch numpy\n" in err
    assert "Set VENV_ACTIVATE=" in err


def test_old_python_is_passed_over(clone):
    (clone.python("").parent.parent / "is-old").touch()
    newer = clone.tmp / "newer"
    clone.python("", home=newer, name="python3.11")
    path = f"{clone.env['PATH']}:{newer}/bin"
    assert clone.ran(PATH=path)["home"] == str(newer)
    assert "PYTHON=python3 is older than 3.10\n" in clone.run(status=1, PYTHON="python3")[1]
    (clone.user / "activate").touch()
    err = clone.run(status=1, VENV_ACTIVATE="activate")[1]
    assert "the python3 of VENV_ACTIVATE is older than 3.10\n" in err
    assert "no Python of 3.10 or later is found" in clone.run(status=1)[1]


def test_python_variable(ready):
    other = ready.python("", home=ready.user / "other")
    assert ready.ran(PYTHON="other/bin/python3")["home"] == str(other.parent.parent)
    assert ready.ran(PYTHON="python3")["home"] == str(ready.active)
    err = ready.run(PYTHON="/nowhere/python3", status=1)[1]
    assert "[ERROR] [node-smoke] PYTHON=/nowhere/python3 is missing or broken\n" in err


# ---- .ci/run


@pytest.mark.parametrize("status", [0, 1])
def test_ci_tests_the_commit_and_keeps_the_status(tmp_path, status):
    write = f'#!/bin/sh\necho "${{0##*/}} $*" >>"{tmp_path}/log"\n'
    launcher = f'{write}[ "$*" != selftest ] || exit {status}\n'
    repo = tmp_path / "a repo"
    (repo / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", repo / ".ci/run")
    (tmp_path / "bin").mkdir()
    files = {repo / "node-smoke": launcher}
    files |= {tmp_path / "bin" / name: write for name in ("python3", "shellcheck", "dpkg")}
    for path, text in files.items():
        path.write_text(text)
        path.chmod(0o755)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-C", repo]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *command], check=True)
    (repo / "node-smoke").write_text("not committed")
    env = os.environ | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "VENV_ACTIVATE": "/x"}
    env |= {"TMPDIR": str(tmp_path), "PYTHON": "python3"}
    assert subprocess.run([repo / ".ci/run"], env=env, check=False).returncode == status
    log = [line for line in (tmp_path / "log").read_text().splitlines() if "dpkg" not in line]
    assert log == [
        "node-smoke selftest --collect-only -q",
        "python3 -m ruff check .",
        "python3 -m ruff format --check .",
        "python3 -m mypy",
        "shellcheck node-smoke .ci/run",
        "node-smoke selftest",
    ]
    assert list(tmp_path.glob("tmp.*")) == []
