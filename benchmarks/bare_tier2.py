"""What plain torch measures on this node: GEMM, copies and all-reduce, without any of this project.

One process a GPU, all at once; each number is the median of five blocks (the product's of 15).
Written apart from the suite's own stages, so that a mistake in one of them shows.

    python benchmarks/bare_tier2.py NUMBER_OF_GPUS
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def timed(work, warm_up, repeats, blocks=5):
    """Return the median seconds of one *work* over *blocks* blocks."""
    for _ in range(warm_up):
        work()
    torch.cuda.synchronize()
    took = []
    for _ in range(blocks):
        start = torch.cuda.Event(enable_timing=True)
        stop = torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(repeats):
            work()
        stop.record()
        torch.cuda.synchronize()
        took.append(start.elapsed_time(stop) / 1000 / repeats)
    return statistics.median(took)


def one(index, gpus, folder):
    """Measure the GPU *index*, then the all-reduce with the others, and leave the numbers."""
    torch.cuda.set_device(index)
    told = {}
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    told["gemm_tflops"] = 2 * 8192**3 / timed(lambda: torch.matmul(a, b), 5, 20, 15) / 1e12
    x = torch.randn(2**28, device="cuda", dtype=torch.bfloat16)
    y = torch.empty_like(x)
    told["hbm_gbs"] = 2 * 2**29 / timed(lambda: y.copy_(x), 10, 20) / 1e9
    pinned = torch.empty(2**28, dtype=torch.uint8).pin_memory()
    there = torch.empty(2**28, dtype=torch.uint8, device="cuda")
    told["h2d_gbs"] = 2**28 / timed(lambda: there.copy_(pinned, non_blocking=True), 2, 5) / 1e9
    told["d2h_gbs"] = 2**28 / timed(lambda: pinned.copy_(there, non_blocking=True), 2, 5) / 1e9
    if gpus > 1:
        dist.init_process_group(
            "nccl", init_method=f"file://{folder}/meet", rank=index, world_size=gpus
        )
        for name, size in (("all_reduce", 64 * 2**20), ("all_reduce_large", 2**30)):
            buffer = torch.randn(size // 2, device="cuda", dtype=torch.bfloat16) * 1e-30
            seconds = timed(lambda data=buffer: dist.all_reduce(data), 5, 20)
            told[name] = 2 * size * (gpus - 1) / gpus / seconds / 1e9
    with open(os.path.join(folder, f"{index}.json"), "w") as file:
        json.dump(told, file)
    if gpus > 1:
        dist.barrier()
        os._exit(0)  # the teardown of NCCL is not what is measured


def main():
    """Print one line of JSON: the numbers by GPU, and the seconds that all of it took."""
    began, gpus = time.time(), int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(one, args=(gpus, folder), nprocs=gpus)
        told = []
        for index in range(gpus):
            with open(os.path.join(folder, f"{index}.json")) as file:
                told.append(json.load(file))
    print(json.dumps({"gpus": told, "seconds": round(time.time() - began, 2)}))


if __name__ == "__main__":
    main()
