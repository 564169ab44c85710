"""What the stages ask of `torch.cuda`."""

import contextlib
import os
import time
from types import SimpleNamespace

MEMORY = 150754820096
PRODUCT_SEC, MEMORY_RATE, HOST_RATE, LINK_RATE = 1.5e-3, 2.2e12, 5.5e10, 4.5e11
"""What a healthy H200 takes for a large product, and reaches with copies and collectives."""
_spent = [0.0]


class OutOfMemoryError(RuntimeError):
    pass


def work(seconds):
    """Let the device's clock go on, or without a device the CPU's."""
    _spent[0] += seconds
    if not _all():
        time.sleep(seconds)


def _all():
    pairs = [p.split("/") for p in os.environ.get("STUB_GPUS", "").split(",") if p]
    return [SimpleNamespace(address=a, uuid=u) for a, u in pairs]


def _visible():
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = _all()
    if chosen is None:
        return gpus
    return [g for n, g in enumerate(gpus) if {str(n), g.uuid} & set(chosen.split(","))]


def is_available():
    return bool(_visible())


def device_count():
    return len(_visible())


def set_device(index):
    if os.environ.get("STUB_UNBINDABLE") == _visible()[index].address:
        raise RuntimeError("CUDA error: device kernel image is invalid\nCompile with TORCH_USE…")


def synchronize(index=0):
    pass


def empty_cache():
    pass


@contextlib.contextmanager
def device(index):
    yield


def get_device_properties(index):
    gpu = _visible()[index]
    domain, bus, device = gpu.address.split(":")
    return SimpleNamespace(
        name="NVIDIA H200",
        uuid=gpu.uuid.removeprefix("GPU-"),
        total_memory=MEMORY,
        pci_domain_id=int(domain, 16),
        pci_bus_id=int(bus, 16),
        pci_device_id=int(device.split(".")[0], 16),
    )


def mem_get_info(index):
    return MEMORY - 2**29, MEMORY


class Event:
    def __init__(self, enable_timing):
        self.enable_timing = enable_timing

    def record(self):
        self.at = _spent[0]

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return (other.at - self.at) * 1e3
