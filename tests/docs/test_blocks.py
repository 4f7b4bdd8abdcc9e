"""Every block of the pages is what it says it is: jobs that can be planned, settings that decode, code that runs."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import click
import pytest

from dispatch.adapters.slurm.cluster import answers_of, read_cluster
from dispatch.adapters.slurm.settings import decode_settings
from dispatch.cli.main import ALIASES, COMMANDS, cli as dispatch_cli, load
from dispatch.core.planning import make_plan
from dispatch.model.answers import Answers
from dispatch.model.documents import decode_document
from dispatch.model.job import Job
from dispatch.shell.config import ConfigFile
from dispatch.shell.yaml_events import parse_yaml
from docs.blocks import Block, all_blocks

LANGUAGES = {"text", "yaml", "toml", "python", "sh", "console", "ini", "mermaid", "cron", "json"}
SLURM_CONFIG = "ClusterName=c\nKillWait=30 sec\nMinJobAge=300 sec\nMessageTimeout=10 sec\n"


def ident(value: object) -> str | None:
    return str(value) if isinstance(value, Block) else None


def blocks(*languages: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("block", all_blocks(*languages), ids=ident)


def slurm() -> Answers:
    return answers_of(read_cluster("slurm 26.05.5", SLURM_CONFIG))


@blocks()
def test_a_block_names_a_language_that_is_checked(block: Block) -> None:
    assert block.language in LANGUAGES


def job_of(block: Block) -> Job:
    """A block of YAML is a job, or a part of one without its command; a policy of the configuration stands in by name."""
    data, _ = parse_yaml(block.text, where=str(block))
    assert isinstance(data, dict)
    document = {"command": ["x"], **cast("dict[str, Any]", data)}
    if isinstance(document.get("recovery"), str):
        document["recovery"] = {}
    return decode_document(document, Job, where=str(block))


@blocks("yaml")
def test_a_job_is_accepted_by_slurm(block: Block) -> None:
    make_plan(job_of(block), slurm())


@blocks("toml")
def test_a_configuration_decodes_with_the_settings_of_its_clusters(block: Block) -> None:
    file = decode_document(tomllib.loads(block.text), ConfigFile, where=str(block))
    for cluster in file.clusters.values():
        assert cluster.adapter == "slurm"
        decode_settings(cluster.settings)
    for policy in file.policies.values():
        job = decode_document({"command": ["x"]}, Job, where="a job")
        make_plan(type(job)(command=job.command, recovery=policy), slurm())


@blocks("python")
def test_python_compiles(block: Block) -> None:
    compile(block.text, str(block), "exec")


@blocks("sh", "cron", "console")
def test_a_command_line_of_dispatch_is_one_that_the_command_takes(block: Block) -> None:
    for line in commands_of(block):
        for words in dispatch_words(line):
            accept(words)


@blocks("sh")
def test_shell_has_a_right_grammar(block: Block) -> None:
    subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)


@blocks("ini")
def test_a_unit_of_systemd_parses_and_starts_dispatch(block: Block) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(block.text)
    (words,) = dispatch_words(unit["Service"]["ExecStart"])
    accept(words)


@pytest.mark.parametrize(
    "block", [block for block in all_blocks("sh") if block.mark == "run"], ids=ident
)
def test_a_block_that_is_marked_to_run_runs(block: Block, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.text],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        check=True,
        timeout=60,
    )


def commands_of(block: Block) -> list[str]:
    """The command lines of a block, continued lines joined."""
    lines = re.sub(r"\\\n\s*", " ", block.text).splitlines()
    if block.language == "console":
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    if block.language == "cron":
        lines = [line for line in lines if not re.match(r"[A-Z_]+=", line)]
    return lines


SEPARATOR = re.compile(r"&&?|\|\|?|;|\d?[<>].*")


def dispatch_words(line: str) -> list[list[str]]:
    """The words of each call of ``dispatch`` in a command line; those of one in quotes too."""
    words = shlex.split(line, comments=True)
    calls: list[list[str]] = []
    for index, word in enumerate(words):
        if " " in word:
            calls += dispatch_words(word)
        elif Path(word).name == "dispatch" and begins_a_command(words, index):
            rest = words[index + 1 :]
            end = next(
                (place for place, other in enumerate(rest) if SEPARATOR.fullmatch(other)), len(rest)
            )
            calls.append(rest[:end])
    return calls


def begins_a_command(words: list[str], index: int) -> bool:
    """Whether the word at that place is a program, and not another one's argument."""
    before = words[index - 1] if index else ""
    after_a_setting = re.match(r"[A-Z_]+=", before) is not None
    by_ssh = index > 1 and words[index - 2] == "ssh"
    between = before == "*" or SEPARATOR.fullmatch(before) is not None
    return not index or between or after_a_setting or by_ssh


def accept(words: list[str]) -> None:
    """Let click parse the words as the command would; it raises where there is no such command or option."""
    assert words, "dispatch alone"
    if words[0].startswith("-"):
        return
    name = ALIASES.get(words[0], words[0])
    assert name in COMMANDS, f"there is no command {words[0]}"
    if "--help" not in words:
        context = click.Context(dispatch_cli, info_name="dispatch")
        load(name).make_context(name, words[1:], parent=context)


def test_the_check_of_command_lines_sees_a_wrong_one() -> None:
    (words,) = dispatch_words("FOO=1 /opt/bin/dispatch submit --wiat job.yaml && echo done")
    assert words == ["submit", "--wiat", "job.yaml"]
    with pytest.raises(click.UsageError):
        accept(words)
    assert dispatch_words("tmux new -d -s dispatch 'dispatch supervise'") == [["supervise"]]
    assert dispatch_words("cd dispatch; ssh login2 dispatch status") == [["status"]]
