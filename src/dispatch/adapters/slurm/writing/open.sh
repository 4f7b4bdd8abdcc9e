# Lift the gate: release it, then clear the begin time, only if that is still base + 0 (12, O5). A crash between the two
# leaves the object gated. A hold, base + I, stays. Held at another time is a person's hold, and is left alone.
last=$((base + 999999))
begin=$(field StartTime)
case $begin in '' | *[!0-9]*) exit 0 ;; esac
[ "$(field JobState)" = PENDING ] && [ "$(field Reason)" != JobHeldAdmin ] || exit 0
[ "$begin" -ge "$base" ] && [ "$begin" -le "$last" ] || exit 0
if [ "$(field Priority)" = 0 ]; then
  # Of a job that can never start it complains, and releases it all the same: the read-back tells.
  run release scontrol release "$id"
  show between || exit 0
  [ "$(field Priority)" != 0 ] || exit 0
fi
if [ "$(field StartTime)" = "$base" ]; then
  run clear scontrol update "JobId=$id" StartTime=now
fi
show after
