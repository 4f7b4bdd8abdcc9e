# Keep a pending object from starting: its begin time becomes base + instance. $1 the instance.
wanted=$((base + $1)) last=$((base + 999999))
[ "$(field JobState)" = PENDING ] || exit 0
begin=$(field StartTime)
case $begin in '' | *[!0-9]*) begin=0 ;; esac
# A later hold than this one stands.
if [ "$begin" -gt "$wanted" ] && [ "$begin" -le "$last" ]; then exit 0; fi
[ "$begin" = "$wanted" ] || run hold scontrol update "JobId=$id" "StartTime=uts$wanted" || exit 0
show after
