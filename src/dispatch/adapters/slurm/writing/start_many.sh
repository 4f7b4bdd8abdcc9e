# Create many gated objects, as start.sh does one. Each is $1 its number of arguments and these: name, comment, base, workdir,
# output, the beginning of its job script, and its options. How all job scripts go on is on standard input. After some objects,
# all of these are read back, and those end at once in which a plugin has changed what keeps them from running.
at_home() { # PATH: as an absolute one, in $path
  case $1 in
    /*) path=$1 ;;
    '~') path=$HOME ;;
    '~/'*) path=$HOME/${1#??} ;;
    *) path=$HOME/$1 ;;
  esac
}

prepare() { # the directories of an object; it fails where they cannot be
  at_home "$5"
  output=$path
  at_home "$4"
  workdir=$path
  if [ ! -d "$workdir" ]; then
    case $output in "$workdir"/*)
      section "workdir $index"
      printf '%s\n' "$workdir"
      return 1
      ;;
    esac
  fi
  [ -d "${output%/*}" ] || run "directory $index" mkdir -p -- "${output%/*}" || return 1
  pattern=$output
  case $output in *%*) pattern=$(printf '%s\n' "$output" | sed 's/%/%%/g') ;; esac
}

submit() { # OPTION...: the object. An sbatch that fails need not have read its script
  section "sbatch $index"
  answer=$(printf '%s' "$script$rest" 2>/dev/null | bounded sbatch --parsable --hold --begin="uts$base" --no-requeue \
    --job-name="$name" --comment="$comment" --export=ALL --propagate=NONE --open-mode=append --chdir="$workdir" \
    --output="$pattern" "$@")
  rc=$?
  printf '%s\n' "$answer"
  section "rc $rc"
  [ $rc -eq 0 ] || return 0
  case $answer in *[!0-9]*) answer=$(printf '%s\n' "$answer" |
    sed -n 's/^\(Submitted batch job \)\{0,1\}\([0-9][0-9]*\)\(;.*\| on cluster .*\)\{0,1\}$/\2/p' | tail -n 1) ;; esac
  [ -n "$answer" ] || return 0
  made="$made $answer"
  wanted="$wanted${wanted:+
}$answer $name $base $comment"
}

one() { # COUNT ARGUMENT...: one object, from the first COUNT
  count=$1 name=$2 comment=$3 base=$4 script=$7
  shift
  prepare "$@" || return 0
  # Only the numbers of positions are evaluated, nothing that was given.
  position=7 options=
  while [ "$position" -le "$count" ]; do
    options="$options \"\${$position}\""
    position=$((position + 1))
  done
  eval "submit $options"
}

read_back() {
  [ -n "$made" ] || return 0
  # shellcheck disable=SC2086  # numbers
  show_all "back $index" $made
  changed=$(pick '
    comment = w[id]; for (n = 0; n < 3; n++) sub(/^[^ ]* /, "", comment)
    if (f[id, "JobName"] != want[2] || f[id, "Comment"] != comment || f[id, "StartTime"] != want[3] || f[id, "Priority"] != "0" ||
        f[id, "Requeue"] != "0" || f[id, "JobState"] != "PENDING") print id')
  for id in $changed; do
    run "requeue $id" scontrol update "JobId=$id" Requeue=0
    run "changed $id" scancel "$id"
  done
  made='' wanted=''
}

whole_input
rest=$input
index=0 made='' wanted=''
while [ $# -gt 0 ]; do
  count=$1
  shift
  clock
  began=$now
  if [ "$began" -gt "$deadline" ]; then
    section late
    break
  fi
  one "$count" "$@"
  shift "$count"
  index=$((index + 1))
  [ $((index % 10)) -ne 0 ] || read_back
done
read_back
