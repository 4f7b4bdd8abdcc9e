# Create one gated object, read it back, and end it at once where a plugin has changed what keeps it from running.
name=$1 comment=$2 base=$3 workdir=$4 output=$5
shift 5

at_home() { # PATH: as an absolute one
  case $1 in
    /*) printf '%s\n' "$1" ;;
    '~') printf '%s\n' "$HOME" ;;
    '~/'*) printf '%s\n' "$HOME/${1#??}" ;;
    *) printf '%s\n' "$HOME/$1" ;;
  esac
}
workdir=$(at_home "$workdir")
output=$(at_home "$output")
# slurmd makes the directory of the output, and with it a working directory that was only misspelt.
if [ ! -d "$workdir" ]; then
  case $output in "$workdir"/*)
    section "workdir"
    printf '%s\n' "$workdir"
    exit 0
    ;;
  esac
fi
[ -d "${output%/*}" ] || run directory mkdir -p -- "${output%/*}" || exit 0
pattern=$output
case $output in *%*) pattern=$(printf '%s\n' "$output" | sed 's/%/%%/g') ;; esac

whole_input
section sbatch
answer=$(printf '%s' "$input" 2>/dev/null | bounded sbatch --parsable --hold --begin="uts$base" --no-requeue --job-name="$name" --comment="$comment" \
  --export=ALL --propagate=NONE --open-mode=append --chdir="$workdir" --output="$pattern" "$@")
rc=$?
printf '%s\n' "$answer"
section "rc $rc"
[ $rc -eq 0 ] || exit 0

id=$answer
case $id in *[!0-9]*) id=$(printf '%s\n' "$answer" |
  sed -n 's/^\(Submitted batch job \)\{0,1\}\([0-9][0-9]*\)\(;.*\| on cluster .*\)\{0,1\}$/\2/p' | tail -n 1) ;; esac
[ -n "$id" ] && show back || exit 0
if [ "$(field JobName)" != "$name" ] || [ "$(comment)" != "$comment" ] || [ "$(field StartTime)" != "$base" ] ||
  [ "$(field Priority)" != 0 ] || [ "$(field Requeue)" != 0 ] || [ "$(field JobState)" != PENDING ]; then
  [ "$(field Requeue)" = 0 ] || run requeue scontrol update "JobId=$id" Requeue=0
  run changed scancel "$id"
fi
