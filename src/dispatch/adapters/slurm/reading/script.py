"""The shell scripts of a read, and the sections that they print.

Each command's output stands between two lines that begin with a token which nobody can guess, so that nothing in a job's
comment can end a section; the closing line has the return code. The token opens each section of stderr too. Names and ids
come by standard input, ready in chunks, a line each: one argument may be 128 KiB at most, and the whole script travels as one argument.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dispatch.adapters.slurm.reading.key import NAME_PREFIX, Ref
from dispatch.adapters.slurm.reading.legacy import ACCOUNTING_FIELDS, QUEUE_FIELDS, SEPARATOR
from dispatch.model.base import Value
from dispatch.model.epoch import is_ulid
from dispatch.model.errors import Invalid, Unavailable

_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

CHUNK = 200
"""Names, or ids, in one squeue."""

LATEST = 4_000_000_000
"""The end of accounting's window, in 2096: a job that never became eligible is found only if it lies after its begin."""

SCRUB = """\
# What a user sets for his own squeue must not change what we read.
for v in $(env | sed -n -e 's/^\\(SLURM_[A-Za-z0-9_]*\\)=.*/\\1/p' -e 's/^\\(SQUEUE_[A-Za-z0-9_]*\\)=.*/\\1/p' \\
  -e 's/^\\(SACCT_[A-Za-z0-9_]*\\)=.*/\\1/p' -e 's/^\\(SCONTROL_[A-Za-z0-9_]*\\)=.*/\\1/p'); do
  case $v in SLURM_CONF|SLURM_JWT) ;; *) unset "$v" ;; esac
done
export LC_ALL=C
"""

_FRAME = """\
token=$1 bound=$2
begin() { printf '\\n%s begin %s\\n' "$token" "$1"; printf '\\n%s begin %s\\n' "$token" "$1" >&2; }
end() { printf '\\n%s end %s\\n' "$token" "$1"; }
bounded() { timeout -k 2 "$bound" "$@" </dev/null; }
"""

_HELLO = """\
begin hello
ms=$(date +%s%3N); case $ms in *N*) ms=$(date +%s)000 ;; esac
printf '%s\\n%s\\n%s\\n' "$ms" "$(id -u)" "$(id -un)"
version=$(bounded squeue --version); rc=$?
printf '%s\\n' "$version"
end $rc
old=no
case $version in *' 2'[012].*|*' 23.02.'*) old=yes ;; esac
"""

_BOOT = """\
boot() {
  begin boot
  config=$(bounded env SLURM_TIME_FORMAT=%s scontrol show config); rc=$?
  printf '%s\\n' "$config" | sed -n -e 's/^BOOT_TIME *= *//p'
  end $rc
  # A controller that is away need not be asked again.
  [ $rc -eq 0 ] || exit 0
}
"""

_QUEUE = """\
# --all: a job in a hidden partition would not be shown, not even to its owner.
asked_for() { case $1 in dj-*) which=--name=$1 ;; *) which=--jobs=$1 ;; esac; }
queue() {
  printf '%s\\n' "$chunks" | while IFS= read -r line; do
    begin queue
    asked_for "$line"
    if [ $old = yes ]; then
      bounded env SLURM_TIME_FORMAT=%s squeue --noheader --all --states=all --me "$which" -O "$queue_format"
    else
      bounded squeue --json --all --states=all --me "$which"
    fi
    end $?
  done
}
"""

_TICKETS = """\
tickets() {
  begin tickets
  printf '%s\\n' "$chunks" | timeout -k 2 "$bound" sh -c '
    cd "$1" 2>/dev/null || exit 0
    tr , "\\n" | grep "^dj-" | while IFS= read -r name; do
      for file in "${name#dj-}"/*.start "${name#dj-}"/*.end "${name#dj-}"/*.fenced.*; do
        case $file in *[!A-Za-z0-9./]*) continue ;; esac
        [ -f "$file" ] && [ -r "$file" ] && printf "%s\\n" "$file"
      done
    done | xargs -r grep -s -a -H -m 16 "" | cut -b 1-500 | head -c 8000000
  ' sh "$shared"
  end $?
}
"""

_ACCOUNTING = """\
accounting() {
  printf '%s\\n' "$chunks" | while IFS= read -r line; do
    begin accounting
    asked_for "$line"
    if [ $old = yes ]; then
      bounded env SLURM_TIME_FORMAT=%s sacct -D -P -n --user="$(id -u)" "$which" -S "uts$since" -E "uts$until" \\
        --delimiter="$separator" --format="$accounting_format"
    else
      bounded sacct -D --json --user="$(id -u)" "$which" -S "uts$since" -E "uts$until"
    fi
    end $?
  done
}
"""

_SHARED = """\
shared=$3 queue_format=$4 accounting_format=$5 separator=$6 since=$7 until=$8
case $shared in '$HOME'*) shared=$HOME${shared#'$HOME'} ;; '~/'*) shared=$HOME/${shared#'~/'} ;; esac
chunks=$(cat)
"""

_SETUP = SCRUB + _FRAME + _SHARED + _BOOT + _QUEUE + _TICKETS + _ACCOUNTING + _HELLO

# Tickets before the queue: a start that is written after the queue was read must not make a waiting job look forgotten.
QUEUE_SCRIPT = _SETUP + "boot; tickets; queue; boot\n"
# Accounting before the queue: a job that appears between the two is then in the queue, and one that only accounting
# knows is surely unknown to the controller.
FULL_SCRIPT = _SETUP + "boot; accounting; tickets; queue; tickets; boot\n"

_NODES = """\
begin nodes
names=$3 id=$4 name=$5
if [ -z "$names" ]; then
  # No node is known: every node of its partitions, or of the cluster where accounting does not tell them.
  for partition in $(bounded sacct -X -n -P -j "$id" --name="$name" --format=Partition 2>/dev/null | tr , ' '); do
    more=$(bounded scontrol show partition "$partition" -o | sed -n -e 's/.* Nodes=\\([^ ]*\\).*/\\1/p')
    names=$names${names:+,}$more
  done
fi
if [ -n "$names" ]; then
  bounded env SLURM_TIME_FORMAT=%s scontrol show node -o "$names"
else
  bounded env SLURM_TIME_FORMAT=%s scontrol show node -o
fi
end $?
"""


class Script(Value):
    """A script ready to run: its text, its arguments, and what it reads."""

    text: str
    args: tuple[str, ...]
    stdin: bytes = b""


class Section(Value):
    """What one command of a script printed, and its return code; ``-1`` where the script did not get to its end."""

    name: str
    out: bytes
    err: str
    returncode: int


def read_script(
    jobs: Sequence[str],
    known: Sequence[int] = (),
    *,
    full: bool,
    token: str,
    bound: int,
    shared: str,
    since: int,
) -> Script:
    """Compose the script of one read of these jobs, by their names, and of these ids.

    ``bound`` are the seconds for each command, ``shared`` the directory of the tickets, ``since`` Unix seconds from which
    on accounting is asked. Raises ``Invalid`` for what is no job id.
    """
    if wrong := [job for job in jobs if not is_ulid(job)]:
        raise Invalid(f"{wrong[0]!r} is no job id.", todo="A job id is a ULID of 26 characters.")
    names = [NAME_PREFIX + job for job in jobs]
    chunks = [*_chunks(names), *_chunks([str(number) for number in known])]
    queue_format = ",".join(f"{field}:{SEPARATOR}" for field in QUEUE_FIELDS)
    formats = (queue_format, ",".join(ACCOUNTING_FIELDS), SEPARATOR)
    return Script(
        text=FULL_SCRIPT if full else QUEUE_SCRIPT,
        args=(token, str(bound), shared, *formats, str(since), str(LATEST)),
        stdin="\n".join(chunks).encode("ascii"),
    )


def _chunks(words: Sequence[str]) -> list[str]:
    return [",".join(words[start : start + CHUNK]) for start in range(0, len(words), CHUNK)]


def sections_of(stdout: bytes, stderr: str, token: str) -> list[Section]:
    """Cut what a script printed into its sections; what stands outside them (a banner) is dropped.

    Raises ``Unavailable`` where a section has no end: the script was cut short.
    """
    errors = _errors(stderr, token)
    found: list[Section] = []
    for place, part in enumerate(stdout.split(f"\n{token} begin ".encode())[1:]):
        head, _, body = part.partition(b"\n")
        out, mark, tail = body.partition(f"\n{token} end ".encode())
        name, code = head.decode("ascii", "replace"), tail.partition(b"\n")[0]
        if not mark or not code.isdigit():
            raise Unavailable(
                f"The read was cut short while it printed {name!r}.",
                todo="It is tried again at the next poll.",
            )
        err = errors[place] if place < len(errors) else ""
        found.append(Section(name=name, out=out, err=err, returncode=int(code)))
    return found


def _errors(stderr: str, token: str) -> list[str]:
    return [part.partition("\n")[2].strip() for part in stderr.split(f"\n{token} begin ")[1:]]


def nodes_script(names: Sequence[str], ref: Ref, *, token: str, bound: int) -> Script:
    """Compose the script that reads nodes; with no names, every node on which the object of ``ref`` could have run.

    Raises ``Invalid`` for what is no node's name.
    """
    if wrong := [name for name in names if not _NODE.fullmatch(name)]:
        raise Invalid(f"{wrong[0]!r} is no node's name.")
    args = (",".join(names), str(ref.number), NAME_PREFIX + ref.job)
    return framed(_NODES, args, token=token, bound=bound)


def framed(body: str, args: Sequence[str], *, token: str, bound: int) -> Script:
    """Put a frame around a body that prints sections by itself; its arguments begin with ``$3``."""
    return Script(text=SCRUB + _FRAME + body, args=(token, str(bound), *args))
