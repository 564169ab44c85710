"""The floor: import torch once, fork a child for each GPU, run tier 1's stages, print the answers.

No pytest, no checks, no deadlines, no result: what the suite's wall clock and CPU are held against
on the same machine in the same call. Every stage that tier 1 runs on a GPU is here too.

    python benchmarks/floor.py NUMBER_OF_GPUS
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

BEGAN = time.time()

import torch  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent.parent))

from fixtures.recorder.names import LIVENESS  # noqa: E402
from fixtures.recorder.stages import STAGE_OF, Gpu, Task  # noqa: E402


def stages(index: int, answers: int) -> None:
    """Run the stages on the GPU *index*, a line of JSON for each into the pipe *answers*."""

    def tell(**values: object) -> None:
        line = {"gpu": index, "t": round(time.time() - BEGAN, 3), **values}
        os.write(answers, (json.dumps(line) + "\n").encode())

    torch.cuda.set_device(index)
    gpu = Gpu(Task(name=f"gpu{index}", rank=index))
    for stage in LIVENESS:
        tell(stage=stage, **STAGE_OF[stage](gpu))


def main() -> None:
    """Fork, read, wait."""
    imported = time.time()
    reader, writer = os.pipe()
    children = []
    for index in range(int(sys.argv[1])):
        child = os.fork()
        if not child:
            os.close(reader)
            try:
                stages(index, writer)
            finally:
                os._exit(0)
        children.append(child)
    os.close(writer)
    with os.fdopen(reader) as lines:
        for line in lines:
            print(line.strip(), flush=True)
    for child in children:
        os.waitpid(child, 0)
    print(f"import {imported - BEGAN:.2f} s, total {time.time() - BEGAN:.2f} s")


main()
