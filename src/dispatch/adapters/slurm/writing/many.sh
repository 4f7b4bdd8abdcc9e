# What the scripts for many objects share. The answer of each object is in sections of its own, "NAME INDEX"; objects are
# read, released and cleared some at a time, in sections "NAME INDEX" of the first of them.
began_at() { # NAME...: a new bound begins; after the deadline nothing more is done
  began=$(date +%s%3N)
  if [ "$began" -gt "$deadline" ]; then
    section late
    exit 0
  fi
}

show_all() { # NAME ID...: the objects as the controller has them, by one scontrol that reads its commands; in $jobs
  section "$1"
  shift
  jobs=$(printf 'show job %s\n' "$@" | SLURM_TIME_FORMAT=%s bounded scontrol)
  rc=$?
  printf '%s\n' "$jobs"
  section "rc $rc"
  return $rc
}

# $wanted has a line for each object, "ID NAME BASE COMMENT" or the like, which come before what was shown; what is shown
# twice is not believed. Fields are the first of their name, as for one object.
pick() { # PROGRAM: what it prints of objects whose fields are f[ID, NAME], in the lines w[ID]
  { printf '%s\n' "$wanted" ''; printf '%s\n' "$jobs"; } | awk '
    !body { if ($0 == "") body = 1; else { w[$1] = $0; order[++count] = $1 } next }
    { sub(/^(scontrol: )+/, "") }
    /^JobId=[0-9]+ / { id = substr($1, 7); seen[id]++; said = 0 }
    /^ *Comment=/ { if (!said++) { sub(/^ *Comment=/, ""); sub(/ *$/, ""); f[id, "Comment"] = $0 } next }
    { for (i = 1; i <= NF; i++) { at = index($i, "="); name = substr($i, 1, at - 1)
        if (at && !((id, name) in f)) f[id, name] = substr($i, at + 1) } }
    END { for (k = 1; k <= count; k++) { id = order[k]; if (seen[id] == 1) { split(w[id], want, " "); '"$1"' } } }'
}
