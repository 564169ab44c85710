"""A clone whose interpreters are stubs, so that nothing is installed and no node is judged."""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
TOOLS = ["bash", "cat", "dirname", "flock", "mktemp", "readlink", "rm", "sed", "setsid", "tail"]
VENDOR_TOOLS = ["nvidia-smi", "rocm-smi", "amd-smi", "scontrol"]
LIB = "lib/python{}.{}/site-packages".format(*sys.version_info)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def needs(*lists):
    """Keep the requirements that count on this Python, without their markers."""
    new = sys.version_info >= (3, 11)
    texts = [text for each in lists for text in each]
    return [text.partition(";")[0] for text in texts if not (new and "python_version" in text)]


def pinned(requirements):
    """Pin each requirement to the lowest version that will do."""
    lowest = [text.replace(">=", "==") for text in needs(requirements)]
    return [text if "==" in text else f"{text}==1" for text in lowest]


# What pip finds for "." and for ".[extra]".
INDEX = {"": pinned(PROJECT["dependencies"])}
INDEX |= {extra: pinned(EXTRAS[extra]) for extra in ("rehearse", "test")}


# ---- the stub of an interpreter, made of the functions from here to `interpreter`: its packages
# are the dist-info folders of its own tree, and what it is told to run it writes down


def install(site, requirement):
    """Make something that looks installed; its import leaves a mark."""
    name, _, version = requirement.replace(">=", "==").partition("==")
    info = f"{site}/{name.replace('-', '_')}-{version}.dist-info"
    os.makedirs(info, exist_ok=True)
    with open(f"{info}/METADATA", "w") as file:
        file.write(f"Name: {name}\nVersion: {version}\n")
    if name == "torch":
        os.makedirs(f"{site}/torch", exist_ok=True)
        with open(f"{site}/torch/__init__.py", "w") as file:
            file.write("open(os.environ['STUB_MARK'], 'w')")


def read(path):
    """Return the text of a file."""
    with open(path) as file:
        return file.read()


def folders(home, lib):
    """Yield the folders in which this interpreter looks for packages."""
    yield f"{home}/{lib}"
    for name in os.listdir(f"{home}/{lib}"):
        if name.endswith(".pth"):
            yield from read(f"{home}/{lib}/{name}").splitlines()
    if os.path.exists(f"{home}/base"):
        yield from folders(read(f"{home}/base"), lib)


def answer(home, lib, argv):
    """Run a script, or the code of `-c`, with the packages of this interpreter."""
    if os.path.exists(f"{home}/is-old"):
        sys.version_info = (3, 6, 8)
    script = os.path.realpath(argv[0])
    code = argv[1] if argv[0] == "-c" else read(script)
    sys.path[:] = [os.path.dirname(script), *sys.path[1:], *folders(home, lib)]
    sys.argv = argv
    exec(compile(code, script, "exec"), {"__name__": "__main__", "__file__": script})


def pip(home, lib, words):
    """Install what the index has for these words."""
    if "STUB_PIP_HANGS" in os.environ:
        os.fork()
        time.sleep(60)
    index = eval(os.environ["STUB_INDEX"])
    for word in words:
        if word == os.environ.get("STUB_PIP_FAILS_ON"):
            sys.exit("ERROR: no route to the index")
        groups = ["", *filter(None, word[2:-1].split(","))] if word[0] == "." else [word]
        for group in groups:
            for requirement in index.get(group, [group]):
                install(f"{home}/{lib}", requirement)


def venv(home, lib, target, options):
    """Make an environment; one that is made by a venv sees nothing of that venv."""
    if "--clear" in options:
        os.system(f"rm -rf '{target}'")
    for folder in ("bin", lib):
        os.makedirs(f"{target}/{folder}")
    os.link(f"{home}/bin/python3", f"{target}/bin/python")
    if "--system-site-packages" in options and not os.path.exists(f"{home}/is-a-venv"):
        with open(f"{target}/base", "w") as file:
            file.write(home)


def interpreter(lib, me, *argv):
    """Be the interpreter whose path is *me*."""
    home = os.path.dirname(os.path.dirname(me))
    if argv[0] != "-m":
        return answer(home, lib, list(argv))
    if argv[1:3] == ("pip", "--version"):
        sys.exit(os.path.exists(f"{home}/no-pip"))
    facts = {"home": home, "argv": list(argv[1:]), "cwd": os.getcwd(), "pid": os.getpid()}
    facts |= {"locked": os.path.exists("/proc/self/fd/9"), "env": dict(os.environ)}
    with open(os.environ["STUB_LOG"], "a") as log:
        log.write(f"{facts}\n")
    if argv[1] == "venv":
        return venv(home, lib, argv[-1], argv[2:-1])
    if argv[1:3] == ("pip", "install"):
        return pip(home, lib, [word for word in argv[3:] if word[0] != "-"])
    sys.exit(int(os.environ.get("STUB_STATUS", "0")))


PARTS = (install, read, folders, answer, pip, venv, interpreter)
STUB = f"import os, sys, time\n{''.join(map(inspect.getsource, PARTS))}interpreter(*sys.argv[1:])\n"


# ---- the clone


class Clone:
    """A clone with the launcher, a user who stands elsewhere, and the stubs on that user's PATH."""

    def __init__(self, tmp):
        self.tmp, self.path, self.venv = tmp, tmp / "my clone", tmp / "my clone/.venv"
        self.user, self.active, self.log = tmp / "my data", tmp / "active", tmp / "log"
        tools = tmp / "tools"
        for folder in (self.user, tools, self.path / "fixtures"):
            folder.mkdir(parents=True)
        for name in ("node-smoke", "pyproject.toml", "fixtures/version.py", "fixtures/needs.py"):
            shutil.copy(ROOT / name, self.path / name)
        (tmp / "stub.py").write_text(STUB)
        for name in TOOLS:
            (tools / name).symlink_to(shutil.which(name))
        for name in VENDOR_TOOLS:
            (tools / name).write_text(f'#!/bin/sh\necho >"{tmp}/vendor-tool-ran"\n')
            (tools / name).chmod(0o755)
        self.env = {"PATH": f"{self.active}/bin:{tools}", "HOME": "/home/someone"}
        self.env |= {"LC_ALL": "C.UTF-8", "TMPDIR": str(tmp)}
        self.env |= {"STUB_LOG": str(self.log), "STUB_INDEX": repr(INDEX)}
        self.env["STUB_MARK"] = str(tmp / "torch-was-imported")

    def python(self, *packages, home=None, name="python3", says=""):
        """Make an interpreter that has these packages, or those of these groups of the index.

        *says* is what it answers, without a look, when it is asked what it lacks.
        """
        home = home or self.active
        shim = home / "bin" / name
        for folder in (shim.parent, home / LIB):
            folder.mkdir(parents=True, exist_ok=True)
        command = f'"{sys.executable}" -S -E "{self.tmp}/stub.py" {LIB} "$0" "$@"'
        at_once = f'[ "$1" = -m ] || {{ echo "{says}"; exit; }}\n' if says else ""
        shim.write_text(f"#!/bin/sh\n{at_once}exec {command}\n")
        shim.chmod(0o755)
        for package in packages:
            for requirement in INDEX.get(package, [package]):
                install(home / LIB, requirement)
        return shim

    def python_of_venv(self, *packages):
        """Make the interpreter of .venv."""
        return self.python(*packages, home=self.venv, name="python")

    def start(self, *args, script=None, wrap=(), cwd=None, **env):
        command = [*wrap, script or self.path / "node-smoke", *args]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env=self.env | env, cwd=cwd or self.user, **pipes)

    def run(self, *args, status=0, **how):
        """Run the launcher; what it printed."""
        process = self.start(*args, **how)
        out, err = process.communicate(timeout=30)
        assert process.returncode == status, err
        return out, err

    def err(self, *args, **how):
        """Run the launcher, which fails before it starts anything; what it said."""
        out, err = self.run(*args, status=1, **how)
        assert (out, self.calls("pytest")) == ("", [])
        return err

    def ran(self, *args, **how):
        """Run the launcher; what it did last, with the clone as working directory."""
        self.run(*args, **how)
        assert self.calls()[-1]["cwd"] == str(self.path)
        return self.calls()[-1]

    def argv(self, *args, **how):
        """Run the launcher; what it handed to pytest or to the reporter."""
        return self.ran(*args, **how)["argv"]

    def calls(self, module=None):
        """Return what the stubs were told to run, or this of it."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        calls = [ast.literal_eval(line) for line in lines]
        return [call for call in calls if module in {None, call["argv"][0]}]

    def installed(self):
        """Return what pip was asked for, in each of its calls."""
        return [[w for w in call["argv"][2:] if w[0] != "-"] for call in self.calls("pip")]

    def wait_for(self, module):
        end = time.monotonic() + 20
        while not self.calls(module):
            assert time.monotonic() < end, f"{module} was not started"
            time.sleep(0.01)


@pytest.fixture
def clone(tmp_path):
    """Give a clone on a machine without any Python."""
    return Clone(tmp_path)


@pytest.fixture
def ready(clone):
    """Give a clone whose user has an active environment that lacks nothing."""
    clone.python(says="3.10||/torch")
    return clone


@pytest.fixture(scope="session")
def launcher():
    """Return the text of the launcher."""
    return (ROOT / "node-smoke").read_text()


@pytest.fixture(scope="session")
def path_options(launcher):
    """Return the options whose paths the launcher makes absolute."""
    return "|".join(re.findall(r"^path_options\+?='\|?(.*)'$", launcher, re.MULTILINE)).split("|")
