"""A stand-in for Slurm's commands: one job in a file, and failures as a test asks for them. Its home is ``$HOME``."""

from __future__ import annotations

from pathlib import Path

_COMMON = r"""#!/bin/bash
cd "$HOME"
echo "${0##*/} $*" >>calls
if [ -e "fail.${0##*/}" ]; then . "./fail.${0##*/}"; fi
set_field() { sed -i "s|\b$1=[^ ]*|$1=$2|" job; }
"""

OPTIONS = r"""for option; do
  case $option in
    --job-name=*) name=${option#*=} ;; --comment=*) comment=${option#*=} ;; --begin=uts*) begin=${option#*=uts} ;;
  esac
done
"""
"""Reads what a job is marked with from the options of sbatch."""

SHOWN = r"""JobId=$id JobName=$name
   Priority=0 Nice=0 Account=team QOS=normal
   JobState=PENDING Reason=JobHeldUser Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1
   StartTime=$begin EndTime=Unknown Deadline=N/A
   Partition=main AllocNode:Sid=localhost:0
   Comment=$comment${x- }
   WorkDir=/home
"""
"""How scontrol shows a job that has just been made; of what sbatch was given it has ``OPTIONS`` and ``$id``."""

_COMMANDS = {
    "sbatch": r"""
cat >script; env | sort >environment; id=77
"""
    + OPTIONS
    + r"""cat >job <<END
"""
    + SHOWN
    + r"""END
[ ! -e plugin ] || . ./plugin
echo "${SAYS:-$id}"
""",
    "scontrol": r"""
case $1 in
  show) [ -e job ] && cat job || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; } ;;
  release) set_field Priority 1; set_field Reason BeginTime ;;
  update)
    case $3 in
      StartTime=now) set_field StartTime Unknown ;;
      StartTime=uts*) set_field StartTime "${3#*=uts}" ;;
      Requeue=*) set_field Requeue "${3#*=}" ;;
    esac ;;
esac
""",
    "scancel": r"""
all=$*
case $all in *--name=*) name=${all#*--name=}; grep -q "JobName=${name%% *}\$" job || exit 0 ;; esac
set_field JobState CANCELLED
""",
}


class FakeSlurm:
    """The commands in a directory, and what a test looks at and changes."""

    def __init__(self, place: Path) -> None:
        self.bin = place / "bin"
        self.home = place / "home"
        self.bin.mkdir()
        self.home.mkdir()
        for name, text in _COMMANDS.items():
            (self.bin / name).write_text(_COMMON + text)
            (self.bin / name).chmod(0o755)

    def fail(self, command: str, shell: str) -> None:
        """Have the command run this first, such as ``echo no >&2; exit 1``."""
        (self.home / f"fail.{command}").write_text(shell)

    def plugin(self, shell: str) -> None:
        """Have this run on each submitted job, as a job_submit plugin would."""
        (self.home / "plugin").write_text(shell)

    def set(self, **fields: str) -> None:
        """Change fields of the job."""
        path = self.home / "job"
        text = path.read_text()
        for name, value in fields.items():
            head, _, tail = text.partition(f"{name}=")
            text = head + f"{name}={value}" + tail[len(tail.split()[0]) :]
        path.write_text(text)

    def field(self, name: str) -> str:
        """A field of the job."""
        return (self.home / "job").read_text().partition(f"{name}=")[2].split()[0]

    @property
    def writes(self) -> list[str]:
        """The calls that were no reads, in order."""
        path = self.home / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if not line.startswith("scontrol show")]
