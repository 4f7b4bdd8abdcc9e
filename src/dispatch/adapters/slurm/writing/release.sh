# Lift exactly the hold of this instance, $1. An object that is gated besides goes back to its gate, base + 0.
[ "$(field JobState)" = PENDING ] && [ "$(field StartTime)" = "$((base + $1))" ] || exit 0
if [ "$(field Priority)" = 0 ]; then to=uts$base; else to=now; fi
run lift scontrol update "JobId=$id" "StartTime=$to" || exit 0
show after
