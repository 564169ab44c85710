"""What the stages ask of `torch.cuda`."""

import os
from types import SimpleNamespace

MEMORY = 150754820096


def _all():
    pairs = [p.split("/") for p in os.environ.get("STUB_GPUS", "").split(",") if p]
    return [SimpleNamespace(address=a, uuid=u) for a, u in pairs]


def _visible():
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    gpus = _all()
    if chosen is None:
        return gpus
    return [g for n, g in enumerate(gpus) if chosen in {str(n), g.uuid}]


def is_available():
    return bool(_visible())


def device_count():
    return len(_visible())


def set_device(index):
    if os.environ.get("STUB_UNBINDABLE") == _visible()[index].address:
        raise RuntimeError("CUDA error: device kernel image is invalid\nCompile with TORCH_USE…")


def synchronize():
    pass


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
        pass

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return 30.0
