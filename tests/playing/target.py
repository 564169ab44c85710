"""Which calls of which tool a case answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from . import seen
from .case import Case, Variant

JSON, TEXT, FAULT = "json", "text", "fault"
"""What a case's answer is: records in one of the two forms, or an error, garbage, nothing."""
_ROCM = {
    "--showpids": "process",
    "--showpidgpus": "process",
    "--showtopo": "topology",
    "--showtopotype": "topology",
    "--showtopoweight": "topology",
    "--showtopohops": "topology",
    "--showrasinfo": "ras",
    "--showuse": "use",
    "-u": "use",
    "--showbus": "bus",
    "--showmeminfo": "memory",
    "--showid": "id",
    "-i": "id",
}
_BANNER = "ROCm System Management Interface"


@dataclass(frozen=True)
class Target:
    """The calls of `tool` about `subject` (empty: all of them), which print an answer of `kind`.

    `options` are the further ones that the case was recorded with.
    """

    tool: str
    subject: str
    kind: str
    options: frozenset[str] = frozenset()

    def answers(self, argv: Sequence[str]) -> bool:
        """Return whether the case, and not the node around it, answers the command *argv*.

        A tool that fails does so whatever the options are, and in either form.
        """
        if argv[0] != self.tool or self.subject not in {"", subject(argv)}:
            return False
        if self.kind == FAULT or not self.subject:
            return True
        return (self.kind == JSON) == ("--json" in argv) and self.options == options(argv)

    def refuses(self, argv: Sequence[str]) -> bool:
        """Return whether the tool is too old for *argv*: it prints this subject as text alone."""
        mine = argv[0] == self.tool and subject(argv) == self.subject
        return mine and self.kind == TEXT and "--json" in argv


def subject(argv: Sequence[str]) -> str:
    """Return what a command is about: a subcommand, or the option that stands for one."""
    tool, *rest = argv
    if tool == "nvidia-smi" and {"-q", "--query"} & {*rest}:
        return "-q"
    if tool == "rocm-smi":
        told = [_ROCM.get(word, word) for word in rest if word.startswith("-")]
        return next((t for t in told if t != "--json"), "")
    return rest[0] if rest and tool != "lsof" else ""


def options(argv: Sequence[str]) -> frozenset[str]:
    """Return what makes another answer of the same subject: `--partition`, `-x`.

    rocm-smi's options are subjects themselves.
    """
    if argv[0] == "nvidia-smi":
        return frozenset(argv[1:]) & {"-x", "--xml-format"}
    return frozenset(argv[2:]) - {"--json"} if argv[0] == "amd-smi" else frozenset()


def of(case: Case, variant: Variant) -> Target | None:
    """Return what of the node's tools *variant* answers; None when it is about files alone."""
    command = re.split(r"\s+/\s+|\s+via\s+", case.tool.strip())[0].split()
    if not variant.answered or not command:
        return None
    tool = variant.tool or (case.topic if command[0] == "<any>" else command[0])
    if tool in {"dmesg", "journalctl"}:  # whichever way the log is asked for, this is what it says
        return Target(tool, "", TEXT)
    if tool not in {"amd-smi", "rocm-smi"}:
        told = seen.nvidia(variant.stdout).count or tool != "nvidia-smi"
        return Target(tool, subject(command), TEXT if told else FAULT, options(command))
    shown = seen.amd(variant.stdout)
    kind = _kind(tool, variant.stdout, shown)
    named = "" if "<any>" in command else subject(command)
    if not named and kind != FAULT:
        named = shown.subject
    return Target(tool, named, kind, options(command))


def _kind(tool: str, text: str, shown: seen.Seen) -> str:
    documents = [d for d in seen.documents(text) if d]
    if tool == "rocm-smi":
        told = shown.count or any(isinstance(d, dict) and "system" in d for d in documents)
        return JSON if documents and told else TEXT if _BANNER in text else FAULT
    if not shown.subject:
        return FAULT
    return JSON if documents else TEXT
