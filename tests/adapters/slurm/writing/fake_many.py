"""A stand-in for Slurm's commands with many jobs: each in a file, its script beside it. Its home is ``$HOME``."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from adapters.slurm.writing.fake_slurm import OPTIONS, SHOWN

FIRST = 77
"""The number of the first job; the others follow."""

_COMMON = r"""#!/bin/bash
cd "$HOME"
echo "${0##*/} $*" >>calls
at=$(grep -c "^${0##*/} " calls)
if [ -e "before.${0##*/}" ]; then . "./before.${0##*/}"; fi
set_field() { sed -i "s|\b$2=[^ ]*|$2=$3|" "jobs/$1"; }
each() { tr , '\n' <<<"$1"; }
"""

_COMMANDS = {
    "sbatch": r"""
id=$(($(ls jobs | wc -l) + 77))
cat >"script.$id"
"""
    + OPTIONS
    + r"""cat >"jobs/$id" <<END
"""
    + SHOWN
    + r"""END
[ ! -e plugin ] || . ./plugin
echo "$id"
""",
    "scontrol": r"""
case $1 in
  show) [ -e "jobs/$3" ] && cat "jobs/$3" || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; } ;;
  release) for id in $(each "$2"); do set_field "$id" Priority 1; set_field "$id" Reason BeginTime; done ;;
  update)
    for id in $(each "${2#JobId=}"); do
      case $3 in
        StartTime=uts*) set_field "$id" StartTime "${3#*=uts}" ;;
        StartTime=now) set_field "$id" StartTime Unknown ;;
        Requeue=*) set_field "$id" Requeue "${3#*=}" ;;
      esac
    done ;;
esac
""",
    "scancel": r"""
for id; do case $id in -*) ;; *) set_field "$id" JobState CANCELLED ;; esac; done
""",
    "squeue": r"""
fields= asked=
while [ $# -gt 0 ]; do
  case $1 in -O) fields=$2; shift ;; --jobs=*) asked=${1#*=} ;; esac
  shift
done
of() { sed -n "s/^ *\(.* \)\{0,1\}$1=\([^ ]*\).*/\2/p" "jobs/$id" | sed -n 1p; }
known=0
for id in $(each "$asked"); do
  [ -e "jobs/$id" ] || continue
  known=1
  for field in $(each "$fields"); do
    case ${field%%:*} in
      JobID) value=$id ;;
      Name) value=$(of JobName) ;;
      Comment) value=$(sed -n '/Comment=/,/WorkDir=/{s/^ *Comment=//;/WorkDir=/!p}' "jobs/$id"); value=${value% } ;;
      State) value=$(of JobState) ;;
      Reason) value=$(of Reason) ;;
      StartTime) value=$(of StartTime); [ "$value" != Unknown ] || value=N/A ;;
      PriorityLong) value=$(of Priority) ;;
      Requeue) [ "$(of Requeue)" = 0 ] && value=no || value=yes ;;
      *) echo "squeue: error: Invalid job format specification: ${field%%:*}" >&2; exit 1 ;;
    esac
    printf '%s%s' "$value" "${field#*:}"
  done
  echo
done
case $known$asked in 0*,*) ;; 0*) echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1 ;; esac
""",
    "date": r"""
now=$(/bin/date "$@")
later=$(cat later 2>/dev/null || echo 0)
[ ${#now} -gt 11 ] || later=$((later / 1000))
echo $((now + later))
""",
}


class FakeSlurm:
    """The commands in a directory, and what a test looks at and changes."""

    def __init__(self, place: Path) -> None:
        self.bin = place / "bin"
        self.home = place / "home"
        self.bin.mkdir()
        (self.home / "jobs").mkdir(parents=True)
        for name, text in _COMMANDS.items():
            common = "#!/bin/bash\ncd ~\n" if name == "date" else _COMMON
            (self.bin / name).write_text(common + text)
            (self.bin / name).chmod(0o755)

    def before(self, command: str, shell: str) -> None:
        """Have the command run this first; ``$at`` is how often it was called by now."""
        (self.home / f"before.{command}").write_text(shell)

    def plugin(self, shell: str) -> None:
        """Have this run on each submitted job, as a job_submit plugin would."""
        (self.home / "plugin").write_text(shell)

    def set(self, number: int, **fields: str) -> None:
        """Change fields of a job, whose values have no space."""
        path = self.home / "jobs" / str(number)
        text = path.read_text()
        for name, value in fields.items():
            text = re.sub(rf"\b{name}=\S*", f"{name}={value}", text, count=1)
        path.write_text(text)

    def field(self, number: int, name: str) -> str:
        """A field of a job."""
        text = (self.home / "jobs" / str(number)).read_text()
        return text.partition(f"{name}=")[2].split()[0]

    def forget(self) -> None:
        """Let no job ever have been, nor a call been made."""
        shutil.rmtree(self.home / "jobs")
        (self.home / "jobs").mkdir()
        (self.home / "calls").unlink(missing_ok=True)

    @property
    def writes(self) -> list[str]:
        """The calls that were no reads, in order."""
        path = self.home / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        reads = ("squeue ", "scontrol show ")
        return [line for line in lines if not line.startswith(reads)]


TWO_HOURS_LATER = "sleep 1.1; echo 7200000 >later"
"""Lets two hours pass, by the clock that the scripts read; they read it again after a second."""
