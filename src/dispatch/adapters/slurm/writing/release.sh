# Lift exactly the hold of this instance, $1. An object that is gated besides goes back to its gate, base + 0. Of one that was
# opened ($2) the flag is somebody else's: back at base + 0 it would be a gate again, so that it is left as it is (12, O5).
[ "$(field JobState)" = PENDING ] && [ "$(field StartTime)" = "$((base + $1))" ] || exit 0
if [ "$(field Priority)" != 0 ]; then
  to=now
elif [ "$2" = opened ]; then
  section "held by others"
  exit 0
else
  to=uts$base
fi
run lift scontrol update "JobId=$id" "StartTime=$to" || exit 0
show after
