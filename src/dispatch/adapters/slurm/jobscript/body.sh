
# What follows is the same for every job. Names that begin with dispatch_ are its own.
dispatch_say() { printf 'dispatch: %s\n' "$*" >&2; }

dispatch_refuse() { # MESSAGE: the launch fails, nothing of the job is started
  dispatch_say "launch failed: $*"
  dispatch_launch=failed
  dispatch_leave 118
}

# ---------------------------------------------------------------- who this execution is

dispatch_restarts=${SLURM_RESTART_COUNT:-0}
dispatch_epoch=$((dispatch_submission * 1000000 + dispatch_restarts))
case $dispatch_shared in
  '~/'* | '$HOME/'*) dispatch_shared=$HOME/${dispatch_shared#*/} ;;
esac
dispatch_dir=$dispatch_shared/$dispatch_job
case $dispatch_workdir in
  '~') dispatch_workdir=$HOME ;;
  '~/'*) dispatch_workdir=$HOME/${dispatch_workdir#*/} ;;
  /*) ;;
  *) dispatch_workdir=$HOME/$dispatch_workdir ;;
esac
dispatch_step= dispatch_missed= dispatch_told= dispatch_interrupted= dispatch_ticket= dispatch_ran= dispatch_signal= dispatch_launch=

# The paths of what we call ourselves, before a profile, setup or env can hide them.
dispatch_srun=$(command -v srun) dispatch_scancel=$(command -v scancel)
dispatch_date=$(command -v date) dispatch_mv=$(command -v mv)
dispatch_now() { "$dispatch_date" +%s; }

# ---------------------------------------------------------------- the start ticket
# A controller that crashed may start one job twice (12, O4): whoever creates the ticket runs, nobody else.

dispatch_higher() { # FROM: is there a ticket of that epoch or a later one? Its name is left in dispatch_seen.
  local file number
  for file in "$dispatch_dir"/*.start; do
    number=${file##*/} number=${number%.start}
    case $number in '' | *[!0-9]*) continue ;; esac
    if [ "$number" -ge "$1" ]; then
      dispatch_seen=${file##*/}
      return 0
    fi
  done
  return 1
}

dispatch_fence() {
  local n=1
  until (
    umask 077
    set -C
    printf '%s\n' "epoch=$dispatch_epoch" "attempt=$dispatch_attempt" "jobid=$SLURM_JOB_ID" \
      "node=${SLURMD_NODENAME:-}" "seen=$dispatch_seen" "at=$(dispatch_now)" \
      >"$dispatch_dir/$dispatch_epoch.fenced.$SLURM_JOB_ID.$n"
  ) 2>/dev/null || [ "$n" -ge 99 ]; do n=$((n + 1)); done
  dispatch_say "fenced: epoch $dispatch_epoch must not start, since $dispatch_dir/$dispatch_seen exists"
  exit 119
}

# A cancellation reaches every process of the script. What it cut in two would look like a launch that failed, or like a
# ticket of somebody else; so what records a start ignores signals, and the script itself, which has them too, heeds them.
dispatch_undisturbed() { # COMMAND: in a shell of its own; again where a signal ended that before it could ignore any
  local tries=0 status
  while :; do
    (
      trap '' HUP INT TERM USR1 USR2
      umask 077
      "$@"
    )
    status=$?
    [ "$status" -gt 128 ] && [ $((tries += 1)) -lt 10 ] || return "$status"
  done
}

dispatch_create_ticket() {
  set -C # makes the redirection an exclusive create
  {
    printf '%s\n' "epoch=$dispatch_epoch" "attempt=$dispatch_attempt" "jobid=$SLURM_JOB_ID" \
      "sluid=${SLURM_JOB_SLUID:-}" "node=${SLURMD_NODENAME:-}" "nodes=${SLURM_JOB_NODELIST:-}" \
      "restarts=$dispatch_restarts" "store=$dispatch_store" "base=$dispatch_base" "started=$(dispatch_now)" || exit 2
  } >"$dispatch_dir/$dispatch_epoch.start"
}

dispatch_take_ticket() {
  dispatch_undisturbed mkdir -p "$dispatch_dir" ||
    dispatch_refuse "cannot make the directory $dispatch_dir, where starts are recorded; see that it is on a file system which every node can write"
  dispatch_higher "$dispatch_epoch" && dispatch_fence
  dispatch_undisturbed dispatch_create_ticket
  case $? in
    0) ;;
    2) dispatch_refuse "cannot write $dispatch_dir/$dispatch_epoch.start; see that the file system is not full" ;;
    *)
      dispatch_higher "$dispatch_epoch" && dispatch_fence
      dispatch_refuse "cannot create $dispatch_dir/$dispatch_epoch.start; see that every node can write there"
      ;;
  esac
  # Looked for again: a later epoch may have started since the first look.
  dispatch_higher $((dispatch_epoch + 1)) && dispatch_fence
  dispatch_ticket=yes
}

dispatch_write_end() { # STATUS: written aside, so that nobody reads half of it
  printf '%s\n' "status=$1" "signal=$dispatch_signal" "ended=$(dispatch_now)" "attempt=$dispatch_attempt" \
    "launch=$dispatch_launch" "told=$dispatch_told" >"$dispatch_dir/.$dispatch_epoch.end.$SLURM_JOB_ID" &&
    "$dispatch_mv" -f "$dispatch_dir/.$dispatch_epoch.end.$SLURM_JOB_ID" "$dispatch_dir/$dispatch_epoch.end"
}

dispatch_leave() { # STATUS: the end record, then the exit
  trap - EXIT
  [ -z "$dispatch_ticket" ] || dispatch_undisturbed dispatch_write_end "$1" ||
    dispatch_say "cannot write $dispatch_dir/$dispatch_epoch.end"
  exit "$1"
}

dispatch_unasked() { # STATUS: something exited this shell before the command had ended
  [ -n "$dispatch_ran" ] || dispatch_refuse "a line of setup, or a profile, ended the script with status $1"
  dispatch_leave "$1"
}

# ---------------------------------------------------------------- signals
# USR1 and USR2 go by srun, which hands them on. TERM, HUP and INT would make srun kill the step at once; scancel
# hands them on, and does nothing for a job that is ending, whose steps Slurm has told already.

dispatch_pass() {
  dispatch_interrupted=yes
  # srun may run already, though its number is not noted yet: what comes in between is passed on then.
  [ -n "$dispatch_step" ] || dispatch_missed="$dispatch_missed $1"
  case $1 in
    USR1 | USR2) [ -z "$dispatch_step" ] || kill -s "$1" "$dispatch_step" 2>/dev/null ;;
    *)
      dispatch_told=$1
      [ -z "$dispatch_step" ] || "$dispatch_scancel" --signal="$1" "$SLURM_JOB_ID" </dev/null >/dev/null 2>&1 &
      ;;
  esac
}

dispatch_catch() {
  trap 'dispatch_pass TERM' TERM
  trap 'dispatch_pass HUP' HUP
  trap 'dispatch_pass INT' INT
  trap 'dispatch_pass USR1' USR1
  trap 'dispatch_pass USR2' USR2
}

dispatch_heed() { # a signal to end that came before the command: it is not started any more
  dispatch_missed= # what told no command yet is no command's to hear
  [ -n "$dispatch_told" ] || return 0
  dispatch_signal=$dispatch_told
  dispatch_leave $((128 + $(kill -l "$dispatch_told")))
}

# ---------------------------------------------------------------- the environment of the command

dispatch_names() {
  export DISPATCH_JOB_ID=$dispatch_job DISPATCH_SUBMISSION=$dispatch_submission
  export DISPATCH_RESTARTS=$dispatch_restarts DISPATCH_EPOCH=$dispatch_epoch
  export DISPATCH_ATTEMPT=$dispatch_attempt.$dispatch_restarts
  export DISPATCH_NODES=${SLURM_JOB_NUM_NODES:-$dispatch_nodes}
  local first
  first=$(scontrol show hostnames "${SLURM_JOB_NODELIST:-}" 2>/dev/null | head -n 1)
  # A node's name in Slurm need not be a host's name; this script runs on the first node.
  getent hosts "${first:-.}" >/dev/null 2>&1 || first=$(hostname)
  export MASTER_ADDR=$first
  # Below the ports that kernels give to outgoing connections (32768 and up), other for each job and restart.
  export MASTER_PORT=$((20000 + (SLURM_JOB_ID + 7 * dispatch_restarts) % 10000))
  export WORLD_SIZE=$((DISPATCH_NODES * dispatch_tasks))
  if [ "$dispatch_launcher" = torchrun ]; then
    export PET_NNODES=$DISPATCH_NODES PET_NPROC_PER_NODE=$dispatch_processes
    export PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=$MASTER_ADDR:$MASTER_PORT PET_RDZV_ID=$DISPATCH_ATTEMPT
  fi
  export SLURM_EXPORT_ENV=ALL # srun hands the whole environment to the tasks
}

dispatch_export() { # no locals here: a variable of that name would be exported to nobody
  for dispatch_entry in "${dispatch_env[@]}"; do
    export "$dispatch_entry" || dispatch_refuse "the environment variable ${dispatch_entry%%=*} cannot be set"
  done
  for dispatch_entry in "${dispatch_secrets[@]}"; do
    dispatch_file=${dispatch_entry#*=} dispatch_entry=${dispatch_entry%%=*}
    case $dispatch_file in '~/'*) dispatch_file=$HOME/${dispatch_file#*/} ;; esac
    [ -f "$dispatch_file" ] && [ -r "$dispatch_file" ] ||
      dispatch_refuse "the file $dispatch_file of secretEnv.$dispatch_entry cannot be read on ${SLURMD_NODENAME:-this node}"
    export "$dispatch_entry=$(<"$dispatch_file")" || dispatch_refuse "the environment variable $dispatch_entry cannot be set"
  done
}

# ---------------------------------------------------------------- the command

# What each task runs: the command, and a note of the first one that failed. srun only tells the highest status, which is
# that of the ranks it killed because one had failed. A death by signal is noted as one only where it is known: bash says
# so, or the signal came to this shell too; a program may exit with 143 by itself. Its names are
# ours alone, here as well: one that env has would be exported, and changed.
dispatch_task='
dispatch_note=$1 dispatch_told=
shift
export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID NODE_RANK=$SLURM_NODEID
[ -z "$PET_NNODES" ] || export PET_NODE_RANK=$SLURM_NODEID
for dispatch_signal in HUP INT TERM USR1 USR2; do trap "dispatch_told=\$dispatch_told:$dispatch_signal:" "$dispatch_signal"; done
# A pipe in which bash says that the command died; numbers that nobody uses, since PMI hands descriptors down too.
exec {dispatch_err}>&2 {dispatch_pipe}<> <(:)
{ (exec -- "$@" 2>&"$dispatch_err" {dispatch_err}>&- {dispatch_pipe}>&-); } 2>&"$dispatch_pipe"
dispatch_status=$?
echo >&"$dispatch_pipe"
read -r dispatch_said <&"$dispatch_pipe"
[ "$dispatch_status" -ne 0 ] || exit 0
dispatch_signal=
if [ "$dispatch_status" -gt 128 ] && dispatch_name=$(kill -l "$dispatch_status" 2>/dev/null); then
  case $dispatch_said:$dispatch_told in ?*:* | *":$dispatch_name:"*) dispatch_signal=$dispatch_name ;; esac
fi
(
  umask 077
  set -C
  printf "%s\n" "status=$dispatch_status" "signal=$dispatch_signal" "rank=$RANK" "node=$SLURMD_NODENAME" >"$dispatch_note"
) 2>/dev/null
if [ -n "$dispatch_signal" ]; then # die as the command did, so that Slurm sees it too
  ulimit -c 0
  trap - "$dispatch_signal"
  kill -s "$dispatch_signal" $$
fi
exit "$dispatch_status"'

dispatch_first() { # the first failure of a task, instead of what srun made of all of them
  local line
  if [ ! -e "$dispatch_note" ]; then
    dispatch_untold
    return 0
  fi
  while IFS= read -r line; do
    case $line in
      status=[0-9]*) dispatch_status=${line#*=} ;;
      signal=?*) dispatch_signal=${line#*=} ;;
    esac
  done <"$dispatch_note"
}

# No task noted that it failed. A task that was killed together with its shell could not: srun then gives 128 + a signal.
# Anything else is srun's own: slurmd of a node did not answer, or no step could be made. Slurm calls that the script's exit
# (233 is 128 + the last bits of "connection failure", 1001), but no program had it.
dispatch_untold() {
  [ -z "$dispatch_told" ] || return 0
  if [ "$dispatch_status" -gt 128 ] && [ "$dispatch_status" -le 192 ]; then return 0; fi
  dispatch_say "launch failed: srun ended with status $dispatch_status, and no task of the command had failed"
  dispatch_launch=failed
}

dispatch_run() {
  dispatch_options=(--nodes="$DISPATCH_NODES" --ntasks-per-node="$dispatch_tasks" --ntasks="$WORLD_SIZE")
  # One rank that failed leaves the others waiting for it for ever.
  dispatch_options+=(--kill-on-bad-exit=1 --export=ALL)
  [ "$dispatch_launcher" != srun ] || dispatch_options+=(--cpus-per-task="$dispatch_cpus")
  [ "$dispatch_launcher" != torchrun ] || dispatch_command=(torchrun "${dispatch_command[@]}")
  dispatch_note=$dispatch_dir/.$dispatch_epoch.first
  # -p: a BASH_ENV of the site is the command's, not ours
  "$dispatch_srun" "${dispatch_options[@]}" /bin/bash -p -c "$dispatch_task" dispatch-task "$dispatch_note" "${dispatch_command[@]}" &
  dispatch_step=$!
  for dispatch_signal in $dispatch_missed; do dispatch_pass "$dispatch_signal"; done
  dispatch_signal=
  while :; do
    dispatch_interrupted=
    wait "$dispatch_step"
    dispatch_status=$?
    [ -n "$dispatch_interrupted" ] || break # else it was a signal that ended the wait
  done
  dispatch_ran=yes
  [ "$dispatch_status" -eq 0 ] || dispatch_first
  dispatch_leave "$dispatch_status"
}

dispatch_catch
dispatch_take_ticket
trap 'dispatch_unasked $?' EXIT
# Slurm itself would run a job whose directory is missing in /tmp.
cd -- "$dispatch_workdir" ||
  dispatch_refuse "the working directory $dispatch_workdir cannot be entered on ${SLURMD_NODENAME:-this node}"
[ -n "$dispatch_srun" ] || dispatch_refuse "srun is not on the PATH of ${SLURMD_NODENAME:-this node}"

# As a login has it, so that `module` works; a person's own profile is not read: what a job needs stands in setup.
# Not in a function, where what a profile declares would be local.
if [ -r /etc/profile ]; then . /etc/profile; fi
case :$PATH: in *:"${dispatch_srun%/*}":*) ;; *) PATH=$PATH:${dispatch_srun%/*} ;; esac
unset SLURM_JWT # the submitter's token is no business of the job's

dispatch_names
dispatch_export
for dispatch_line in "${dispatch_setup[@]}"; do
  eval "$dispatch_line" || dispatch_refuse "the setup line '$dispatch_line' failed with status $?"
done
dispatch_catch # a setup line may have set traps of its own
dispatch_heed
dispatch_run
