# End the object for good: first take away what could start it again (12, E1), then cancel exactly this one, by a filter
# that the controller applies.
case $(field JobState) in
  PENDING | RUNNING | SUSPENDED | CONFIGURING | REQUEUED | COMPLETING | SIGNALING | STAGE_OUT | STOPPED | RESIZING) ;;
  *) exit 0 ;;
esac
if [ "$(field Requeue)" = 1 ]; then
  run requeue scontrol update "JobId=$id" Requeue=0
  show between || exit 0
  [ "$(field Requeue)" = 0 ] || exit 0
fi
run cancel scancel --ctld --me --name="$name" "$id"
for pause in 0 0.1 0.3 1; do
  sleep $pause
  show after || exit 0
  case $(field JobState) in PENDING | RUNNING | SUSPENDED | CONFIGURING | REQUEUED) ;; *) exit 0 ;; esac
done
