"""A stand-in for torch, for the tests of everything around it: no arithmetic, no second of import.

STUB_TORCH=fail|hang|slow=SECONDS|exit says how importing it goes. `torch.cuda` shows the devices of
STUB_GPUS (`address/uuid,…`), as far as CUDA_VISIBLE_DEVICES selects them by UUID or index.
"""

import os
import time

from . import cuda

__all__ = ["cuda"]
__version__ = "0.0+stub"

_how = os.environ.get("STUB_TORCH", "")
if _how == "fail":
    raise ImportError("libstub.so.1: cannot open shared object file\nmore lines")
if _how == "exit":
    os._exit(7)
if _how == "hang":
    time.sleep(3600)
if _how.startswith("slow="):
    time.sleep(float(_how[5:]))


class version:
    hip = None
    cuda = "13.0"


bfloat16 = "bfloat16"


class Tensor:
    """Enough of a tensor for the stages: it counts how many of its elements are not finite."""

    def __init__(self, bad=0):
        self.bad = bad

    def __matmul__(self, other):
        return Tensor()

    def __setitem__(self, index, value):
        self.bad += 1

    def __invert__(self):
        return self

    def to(self, what):
        return self

    def fill_(self, value):
        return self

    def copy_(self, other):
        return self

    def sum(self):
        return self

    def item(self):
        return self.bad


class Generator:
    def __init__(self, device):
        self.device = device

    def manual_seed(self, seed):
        return self


def isfinite(tensor):
    return tensor


def _new(*args, **kwargs):
    return Tensor()


randn = empty = ones = empty_like = _new
