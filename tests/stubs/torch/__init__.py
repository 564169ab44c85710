"""A stand-in for torch, for the tests of everything around it: no arithmetic, no second of import.

STUB_TORCH=fail|hang|slow=SECONDS|exit says how importing it goes. `torch.cuda` shows the devices of
STUB_GPUS (`address/uuid,…`), as far as CUDA_VISIBLE_DEVICES selects them by UUID or index.
"""

import os
import time
from types import SimpleNamespace

from . import cuda
from .tensor import Tensor, add, new

__all__ = ["Tensor", "add", "cuda"]
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


bfloat16, uint8, int8 = "bfloat16", "uint8", "int8"
int16, int32, int64 = "int16", "int32", "int64"
backends = SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace()))
backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True


class Generator:
    def __init__(self, device):
        self.device = device

    def manual_seed(self, seed):
        return self


def isfinite(tensor):
    return tensor


def empty_like(tensor):
    return Tensor(len(tensor), tensor.dtype)


def mm(a, b, out):
    cuda.work(cuda.PRODUCT_SEC)


def set_deterministic_debug_mode(mode):
    pass


def set_num_threads(count):
    pass


def randint(low, high, shape, **kwargs):
    return new(shape, **kwargs)


randn = empty = ones = arange = randperm = new
