# The prelude of every write. $1 a mark that no output has by chance, $2 the deadline in Unix milliseconds,
# $3 the seconds within which all commands together must end.
mark=$1 deadline=$2 bound=$3
shift 3

# Only what finds the commands and the cluster stays: a variable of a person's shell must change no call, and a job that
# a daemon submits again gets the environment of its first submission.
for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
  case $name in PATH | HOME | USER | LOGNAME | SLURM_CONF | SLURM_JWT) ;; *) unset "$name" 2>/dev/null ;; esac
done
export LANG=C.UTF-8
umask 022
bin=$(command -v sbatch) && PATH=${bin%/*}:/usr/local/bin:/usr/bin:/bin

section() {
  printf '\n%s %s\n' "$mark" "$1"
  printf '\n%s %s\n' "$mark" "$1" >&2
}

at='' read=0
clock() { # this host's clock, in $now: read each second; in between the uptime is added to it, which costs no process
  read -r up _ 2>/dev/null </proc/uptime || up=
  up=${up%.*}${up#*.}
  case $up in '' | 0* | *[!0-9]*) up= ;; esac
  if [ -n "$at" ] && [ -n "$up" ] && [ "$up" -ge "$at" ] && [ $((up - at)) -lt 100 ]; then
    now=$((read + (up - at + 1) * 10))
  else
    now=$(date +%s%3N)
    at=$up read=$now
  fi
}

clock
began=$now
section "clock $began"
if [ "$began" -gt "$deadline" ]; then
  section expired
  exit 0
fi

bounded() { # COMMAND...: run it within what is left of the bound
  clock
  left=$((bound - now / 1000 + began / 1000))
  [ "$left" -gt 0 ] || return 124
  timeout -k 1 "$left" "$@"
}

run() { # NAME COMMAND...: its output, its errors and its return code as one section
  section "$1"
  shift
  bounded "$@"
  rc=$?
  section "rc $rc"
  return $rc
}

whole_input() { # standard input, in $input. It ends with the mark: what was cut on its way would be a job script, too
  input=$(cat)
  case $input in *"$mark") input=${input%"$mark"} ;; *) exit 0 ;; esac
}

show() { # NAME: the object $id as the controller has it; in $job for field()
  section "$1"
  job=$(SLURM_TIME_FORMAT=%s bounded scontrol show job "$id")
  rc=$?
  printf '%s\n' "$job"
  section "rc $rc"
  return $rc
}

# Both are called in a subshell only, and start no process.
field() { # NAME: the value of a field without spaces
  set -f
  IFS='
'
  for line in $job; do
    line=" $line"
    case $line in *" $1="*)
      line=${line##*" $1="}
      printf '%s\n' "${line%% *}"
      return
      ;;
    esac
  done
}

comment() {
  set -f
  IFS='
'
  for line in $job; do
    line=${line#"${line%%[! ]*}"}
    case $line in Comment=*[!" "]*)
      line=${line#Comment=}
      printf '%s\n' "${line%"${line##*[! ]}"}"
      return
      ;;
    esac
  done
}
