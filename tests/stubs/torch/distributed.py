"""What the stages ask of `torch.distributed`: the other ranks have always done their share.

STUB_COLLECTIVE=hang has every collective wait for ever.
"""

import os
import signal

from . import cuda


class FileStore:
    def __init__(self, path, ranks):
        self.path = path


def init_process_group(backend, **kwargs):
    pass


def all_reduce(tensor):
    while os.environ.get("STUB_COLLECTIVE") == "hang":
        signal.pause()
    cuda.work(2 * tensor.nbytes / cuda.LINK_RATE + 2e-5)
