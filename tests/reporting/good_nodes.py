"""The results of nodes that passed tier 2, to calibrate by."""

from fixtures import profiles
from reporting.cli import main
from tests.reporting import make

H200 = "NVIDIA H200"
GEMM, HBM = "performance.gemm_tflops", "performance.hbm_gbs"


def measured(check_id, device, value, unit, outcome="PASS", **fields):
    return make.check(check_id, device, outcome, "tier2", value=value, unit=unit, **fields)


def facts(gpus=8, model=H200, bound=H200, ranks=None, size=64):
    found = [{"fact": "software", "vendor": "nvidia", "values": {"driver": "570.1", "tool": "x"}}]
    found.append({"fact": "torch", "outcome": "ok", "seconds": 1.0, "version": "2.11"})
    for i in range(gpus):
        if model:
            found.append({"fact": "description", "device": f"gpu{i}", "values": {"model": model}})
        if bound:
            stage = {"fact": "stage", "device": f"gpu{i}", "stage": "bind", "outcome": "ok"}
            found.append({**stage, "values": {"name": bound}})
    for stage, mib in (("all_reduce", size), ("all_reduce_large", 1024)):
        values = {"ranks": ranks or gpus, "bytes": int(mib * 2**20)}
        found.append({"fact": "stage", "device": "gpu0", "stage": stage, "values": values})
    return found


def mode(device, **fields):
    """Return how a GPU is divided."""
    return {"fact": "mode", "device": device, **fields}


def checks(gemm=(790.0,) * 8, more=()):
    return [measured(GEMM, f"gpu{i}", v, "TFLOPS") for i, v in enumerate(gemm)] + list(more)


def leave(dump, name="n1", gemm=(790.0,) * 8, more=(), told=None, **fields):
    """Leave the result of a good node with its tier 2."""
    whole = {"tiers": ["tier1", "tier2"], "facts": facts() if told is None else told}
    make.result(dump, name, **{**whole, "checks": checks(gemm, more), **fields})


def calibrated(dump, *arguments):
    """Calibrate by a dump path; return the profile that was proposed, and its text."""
    path = dump / "site.toml"
    assert main(["calibrate", f"--dump-path={dump}", f"--output={path}", *arguments]) == 0
    return profiles.load(path), path.read_text()
