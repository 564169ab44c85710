"""The made-up clusters that the merge is measured with."""

import json

from benchmarks.make_cluster import Template

RATES = [
    ("gemm_tflops", "tflops", "gpu0", 770.0),
    ("hbm_gbs", "gbs", "gpu0", 3950.0),
    ("copies_alone", "h2d_gbs", "gpu0", 55.3),
    ("all_reduce", "bus_gbs", "", 331.0),
]
CHECKS = {"copies_alone": "performance.h2d_gbs"}


def test_the_number_of_a_check_is_that_of_its_fact(tmp_path):
    facts = [
        {"fact": "stage", "stage": stage, "device": device, "values": {key: value}}
        for stage, key, device, value in RATES
    ]
    checks = [
        {"id": CHECKS.get(stage, f"performance.{stage}"), "device": device, "outcome": "PASS",
         "value": value}
        for stage, _, device, value in RATES
    ]  # fmt: skip
    node = {"facts": facts, "checks": checks, "durations": {}}

    Template({"node": node, "tests": []}).write(tmp_path / "n1.json", 1, "n1")

    made = json.loads((tmp_path / "n1.json").read_text())["node"]
    for fact, check, (*_, value) in zip(made["facts"], made["checks"], RATES, strict=True):
        (measured,) = fact["values"].values()
        assert abs(check["value"] - measured) < 1e-3
        assert check["value"] != value
