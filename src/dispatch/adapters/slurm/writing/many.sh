# What the scripts for many objects share. The answer of each object is in sections of its own, "NAME INDEX"; objects are
# read, released and cleared some at a time, in sections "NAME INDEX" of the first of them.
began_at() { # a new bound begins; after the deadline nothing more is done
  clock
  began=$now
  if [ "$began" -gt "$deadline" ]; then
    section late
    exit 0
  fi
}

# Nobody can guess the mark, so that no comment, whatever is in it, ends a field.
fields=
for field in JobID Name Comment State Reason StartTime PriorityLong Requeue; do
  fields="$fields${fields:+,}$field:$mark="
done

show_all() { # NAME ID...: the objects as the controller has them, all by one squeue; in $jobs
  section "$1"
  shift
  jobs=$(
    IFS=,
    SLURM_TIME_FORMAT=%s bounded squeue --noheader --all --me --states=all --jobs="$*" -O "$fields"
  )
  rc=$?
  printf '%s\n' "$jobs"
  section "rc $rc"
  return $rc
}

# $wanted has a line for each object, "ID NAME BASE COMMENT" or the like, which come before what was shown; what is shown
# twice is not believed.
pick() { # PROGRAM: what it prints of objects whose fields are f[ID, NAME], in the lines w[ID]
  { printf '%s\n' "$wanted" ''; printf '%s\n' "$jobs"; } | awk -v end="$mark=" '
    !body { if ($0 == "") body = 1; else { w[$1] = $0; order[++count] = $1 } next }
    { row = row == "" ? $0 : row "\n" $0 }
    split(row, of, end) >= 9 {
      id = of[1]; seen[id]++; row = ""
      f[id, "JobName"] = of[2]; f[id, "Comment"] = of[3]; f[id, "JobState"] = of[4]; f[id, "Reason"] = of[5]
      f[id, "StartTime"] = of[6]; f[id, "Priority"] = of[7]; f[id, "Requeue"] = of[8] == "yes" ? 1 : of[8] == "no" ? 0 : of[8] }
    END { for (k = 1; k <= count; k++) { id = order[k]; if (seen[id] == 1) { split(w[id], want, " "); '"$1"' } } }'
}
