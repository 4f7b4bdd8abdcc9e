# Lift many gates, as open.sh does one: $1 id, $2 name, $3 submission, $4 attempt, $5 base of each. Our key and gate are
# looked at in the very script, some objects at a time, so that little time passes between a look and the write.
ours='
  key = f[id, "Comment"] " "; base = want[5] + 0; begin = f[id, "StartTime"]
  mine = f[id, "JobName"] == want[2] && index(key, "dispatch/1 ") == 1 && index(key, " n=" want[3] " a=" want[4] " base=" want[5] " ")
  if (mine && f[id, "JobState"] == "PENDING" && f[id, "Reason"] != "JobHeldAdmin" && begin ~ /^[0-9]+$/ && begin + 0 >= base &&
      begin + 0 <= base + 999999'
listed() { # PROGRAM: numbers with commas
  pick "$1" | paste -s -d , -
}

some() { # the objects of $wanted, whose numbers these are
  began_at
  show_all "before $index" "$@"
  held=$(listed "$ours"' && f[id, "Priority"] == "0") print id')
  if [ -n "$held" ]; then
    run "release $index" scontrol release "$held"
    show_all "between $index" "$@"
  fi
  gated=$(listed "$ours"' && f[id, "Priority"] != "0" && begin == want[5]) print id')
  if [ -n "$gated" ]; then
    began_at
    run "clear $index" scontrol update "JobId=$gated" StartTime=now
    show_all "after $index" "$@"
  fi
}

index=0 wanted='' ids=''
while [ $# -gt 0 ]; do
  wanted="$wanted${wanted:+
}$1 $2 $3 $4 $5"
  ids="$ids $1"
  shift 5
  if [ $(($# / 5 % 25)) -eq 0 ]; then
    # shellcheck disable=SC2086  # numbers
    some $ids
    index=$((index + 1)) wanted='' ids=''
  fi
done
