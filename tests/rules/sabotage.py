"""The sabotages: for each rule of design 12 that is built, lines that break it, and tests that must notice.

``python3 dev.py rules`` applies them to a copy of the tree, one at a time. A rule that no sabotage can break has no test.
"""

from __future__ import annotations

from dataclasses import dataclass

CORE = "src/dispatch/core"
SHELL = "src/dispatch/shell"
SLURM = "src/dispatch/adapters/slurm"
STARTING = "tests/core/test_starting_rules.py"
READING = "tests/core/test_reading_rules.py"
ENDING = "tests/core/test_ending_rules.py"
ADOPTING = "tests/core/test_adopting_rules.py"
FORGETTING = "tests/core/test_forgetting_rules.py"
CEASING = "tests/core/test_cessation_rules.py"
VERBS = "tests/adapters/slurm/writing/test_verbs.py"
HOLD_VERBS = "tests/adapters/slurm/writing/test_hold_verbs.py"
HOLDING = "tests/core/test_holding_rules.py"
OPENING = "tests/rules/test_opening.py"
SWEEPING = "tests/shell/test_sweeping.py"


@dataclass(frozen=True)
class Sabotage:
    """One rule broken: the text that stands once in the file, what takes its place, and the tests that go red."""

    rule: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def _broken(rule: str, file: str, old: str, new: str, suite: str, *names: str) -> Sabotage:
    tests = tuple(f"{suite}::test_{name}" for name in names) or (suite,)
    return Sabotage(rule, file, old, new, tests)


SABOTAGES: tuple[Sabotage, ...] = (
    _broken(
        "R1", f"{CORE}/deciding.py", "if listing.version != view.version:", "if listing.version < 0:",
        READING, "a_listing_older_than_the_fold_decides_nothing",
    ),
    _broken(
        "R2", f"{CORE}/landing.py", "if known.misses + 1 < declared.settling_reads or previous is None:", "if False:",
        READING, "one_read_that_does_not_show_a_start_settles_nothing",
    ),
    _broken(
        "R2", f"{CORE}/landing.py",
        "previous = known.missed if known.missed and known.missed.boot == listing.boot else None", "previous = known.missed",
        READING, "reads_under_another_boot_start_the_count_again",
    ),
    _broken(
        "R3", f"{CORE}/landing.py", "+ declared.clock_skew + _STRICTLY_AFTER", "+ _STRICTLY_AFTER",
        READING, "the_landing_bound_is_deadline_and_call_bound_and_skew",
    ),
    _broken(
        "R3", f"{CORE}/landing.py", "if listing.sent < bound:", "if listing.requested < bound:",
        READING, "the_landing_bound_is_judged_by_the_clock_that_checked_the_deadline",
    ),
    _broken(
        "R4", f"{CORE}/automaton.py", "Move.OPEN_LANDED: {_G: _O,", "Move.OPEN_LANDED: {_G: _G,",
        READING, "an_open_learnt_late_to_have_landed_spends_its_number",
    ),
    _broken(
        "O1", f"{CORE}/reading.py", 'return Append(events=(adopted, *_doubts(seen)), row="adopt")', "continue",
        STARTING, "an_object_of_ours_that_the_record_does_not_know_is_adopted",
    ),
    _broken(
        "O1", f"{CORE}/reading.py", "and (gone or known.phase is Phase.GATED)", "and False",
        ADOPTING, "what_lives_is_adopted_in_place_of_an_object_of_its_number_that_was_never_opened",
    ),
    _broken(
        "O1", f"{CORE}/stopping.py", "return seen.key.submission in view.objects and seen.state is State.PENDING", "return False",
        ADOPTING, "what_waits_is_stopped_where_another_of_its_number_may_have_run",
    ),
    _broken(
        "O1", f"{CORE}/stopping.py", 'return Look(row="blocked by another object", why=why)', "continue",
        STARTING, "another_object_that_may_live_blocks_start_and_open",
    ),
    _broken(
        "O2", f"{CORE}/landing.py", "if intent.verb is Verb.OPEN and listing.boot != intent.boot:", "if False:",
        STARTING, "an_open_of_unknown_outcome_under_another_boot_may_have_run",
    ),
    _broken(
        "O3", f"{CORE}/reading.py", 'return Append(events=(forgot,), row="forgotten")', "return None",
        FORGETTING, "a_forgotten_open_is_stopped_and_not_repeated",
    ),
    _broken(
        "O4", f"{SLURM}/jobscript/body.sh", "  exit 119\n", "  return 0\n",
        "tests/adapters/slurm/jobscript/test_script.py", "a_second_launch_of_an_epoch_is_fenced_and_starts_nothing",
    ),
    _broken(
        "O4", f"{SLURM}/cluster.py", "if ticket_nodes >= TWO_NODES:", "if True:",
        OPENING, "the_fence_is_not_claimed_before_two_nodes_have_shown_that_they_share_the_directory",
    ),
    _broken(
        "O4", f"{CORE}/recovery.py", "frozenset({Cause.FENCED, Cause.FORGOTTEN})", "frozenset({Cause.FORGOTTEN})",
        FORGETTING, "fenced_charges_nobody_and_goes_on",
    ),
    _broken(
        "O5", f"{SLURM}/writing/open.sh", 'if [ "$(field StartTime)" = "$base" ]; then', "if true; then",
        HOLD_VERBS, "a_hold_survives_open",
    ),
    _broken(
        "O5", f"{CORE}/starting.py", "if seen.hold is not None and seen.hold.by is By.ADMINISTRATOR:", "if False:",
        STARTING, "an_administrators_hold_on_the_gated_object_is_left_to_him",
    ),
    _broken(
        "O5", f"{CORE}/starting.py", "if s.listing.sent >= saved:", "if s.listing.sent:",
        HOLDING, "an_open_goes_beneath_a_hold_only_once_no_controller_can_forget_the_hold",
    ),
    _broken(
        "O5", f"{SLURM}/writing/release.sh", '[ "$2" = opened ]', "false",
        HOLD_VERBS, "a_release_of_what_was_opened_leaves_the_hold_that_somebody_else_has_placed_on_it",
    ),
    _broken(
        "O6", "src/dispatch/model/view.py",
        "return current.submission + 1 if current.spent else current.submission", "return current.submission",
        STARTING, "a_number_is_spent_by_an_open_that_may_have_landed",
    ),
    _broken(
        "O6", "src/dispatch/shell/intents.py", "attempt=token() if starts else None", 'attempt="same" if starts else None',
        "tests/rules/test_stated.py", "a_start_that_is_made_again_has_a_new_attempt",
    ),
    _broken(
        "O7", f"{SLURM}/writing/prelude.sh", 'if [ "$began" -gt "$deadline" ]; then', "if false; then",
        VERBS, "a_call_that_begins_after_its_deadline_does_nothing",
    ),
    _broken(
        "E1", f"{SLURM}/writing/stop.sh", 'if [ "$(field Requeue)" = 1 ]; then', "if false; then",
        VERBS, "stop_first_takes_away_the_requeue_bit",
    ),
    _broken(
        "E1", f"{CORE}/ending.py", "if not seen.final:", "if False:",
        ENDING, "an_end_that_anybody_may_run_again_is_not_judged",
    ),
    _broken(
        "E2", f"{CORE}/ending.py", "if s.listing.sent < sure:", "if False:",
        ENDING, "an_end_is_judged_a_save_window_after_it_was_first_read",
    ),
    _broken(
        "E2", f"{CORE}/ending.py", "if seen.cleaning:", "if False:",
        ENDING, "an_end_that_is_still_being_cleaned_up_is_not_judged",
    ),
    _broken(
        "E3", f"{CORE}/deciding.py", "    stop_what_lives,\n    settle_intents,\n", "    settle_intents,\n    stop_what_lives,\n",
        ENDING, "a_stop_does_not_wait_for_another_write",
    ),
    _broken(
        "E4", f"{CORE}/ceasing.py", "if lost or not reports:", "if not reports:",
        CEASING, "a_lost_node_is_awaited_by_name_for_as_long_as_it_takes",
        "a_node_that_could_not_kill_its_processes_is_not_back",
    ),
    _broken(
        "E4", f"{CORE}/ceasing.py", "if listing.sent < proven:", "if False:",
        CEASING, "after_a_loss_every_node_must_be_back_for_the_kill_wait",
    ),
    _broken(
        "E4", f"{CORE}/folding.py", "return known if waits_for_the_same(before, known) else replace(known, nodes_back=None)", "return known",
        "tests/core/test_kill_wait.py", "a_kill_wait_that_began_before_more_was_known_says_nothing",
    ),
    _broken(
        "E5", f"{CORE}/situation.py", "if verdict.cause is Cause.NON_ZERO_EXIT and not verdict.proven:", "if False:",
        ENDING, "an_exit_code_that_nothing_proves_is_unknown_and_charged_to_nobody",
    ),
    _broken(
        "E5", f"{SLURM}/reading/facts.py", "return 0 < self.facts.boot <= self.start", "return True",
        "tests/adapters/slurm/reading/test_ending.py", "an_exit_of_the_batch_step_is_proven_under_one_boot_only",
    ),
    _broken(
        "E6", f"{CORE}/ending.py", 'return Append(events=(Ended(verdict=seen.verdict),), row="late success")', "return None",
        ENDING, "a_lost_execution_that_succeeds_while_its_cessation_is_awaited_is_not_run_again",
    ),
    _broken(
        "E6", f"{SLURM}/reading/assemble.py", "            told[ref] = said\n", "            told.pop(ref, None)\n",
        "tests/adapters/slurm/reading/test_reading.py",
        "an_object_of_which_only_tickets_are_left_is_seen_if_they_say_whose_it_is",
    ),
    _broken(
        "E6", f"{SHELL}/clusters.py", "if self._options.poll * 2 > window:", "if False:",
        OPENING, "a_poll_of_more_than_half_the_evidence_window_is_warned_of_once",
    ),
    _broken(
        "E7", f"{CORE}/stopping.py",
        "return known.settled or known.phase is Phase.TAINTED or known is not view.current",
        "return known.settled or known is not view.current",
        FORGETTING, "a_forgotten_open_is_stopped_and_not_repeated", "a_forgotten_start_is_stopped_before_it_runs_again",
    ),
    _broken(
        "T1", f"{CORE}/situation.py", "if seen.key.store == self.view.header.store\n", "if seen.key.store\n",
        STARTING, "an_object_of_another_store_is_shown_and_never_stopped",
    ),
    _broken(
        "T1", f"{CORE}/stopping.py", 'return _stop_first(s, alive, "the job has ended") or Look(', "return None or Look(",
        STARTING, "whatever_lives_of_an_ended_job_is_stopped",
    ),
    _broken(
        "T1", f"{SHELL}/sweeping.py", "if self.ledger.store.summary(job).finished else", "if False else",
        SWEEPING, "a_start_that_lands_after_its_job_has_ended_is_swept", "what_comes_later_is_found_by_a_later_sweep",
    ),
    _broken(
        "T1", f"{SHELL}/sweeping.py", "if one.store == self.ledger.store.id:", "if one.store:",
        SWEEPING, "what_another_store_made_is_none_of_our_strays",
    ),
    _broken(
        "T1", f"{SLURM}/writing/key.sh", '[ "$(field JobName)" = "$name" ] || return 1', ":",
        VERBS, "a_number_that_belongs_to_another_job_is_not_ours",
    ),
    _broken(
        "T2", f"{SHELL}/engine.py", "if (there.adapter, there.name) != (here.adapter, here.name):", "if False:",
        "tests/rules/test_stated.py", "another_cluster_behind_the_alias_is_refused_for_that_job",
    ),
    _broken(
        "T2", f"{SLURM}/opening.py", 'if "Federation:" in _succeeded(answer, "federation", config.alias).out:', "if False:",
        OPENING, "a_member_of_a_federation_is_refused",
        "a_cluster_that_cannot_tell_of_its_federation_is_not_taken_for_one_of_its_own",
    ),
    _broken(
        "T3", "src/dispatch/stores/sqlite/journal.py", "return rows.fetchall() == [", "return [] == [",
        "tests/stores/test_sqlite_suite.py",
    ),
    _broken(
        "T4", "src/dispatch/stores/sqlite/journal.py", "if row[1] > SCHEMA:", "if False:", "tests/stores/test_sqlite_suite.py",
    ),
    _broken(
        "T5", f"{CORE}/landing.py", "intent.deadline + declared.call_bound", "intent.deadline",
        "tests/rules/test_stated.py", "the_bounds_of_the_header_rule_whatever_the_cluster_declares_since",
    ),
    _broken(
        "T5", f"{CORE}/folding.py", "view.header.declarations.widened(event.declarations)", "event.declarations",
        "tests/core/test_bounds.py", "bounds_never_shrink",
    ),
    _broken(
        "T5", f"{CORE}/deciding.py", "    widen_bounds,\n    record_what_was_read,\n    stop", "    record_what_was_read,\n    stop",
        "tests/core/test_bounds.py", "bounds_that_have_grown_are_recorded_before_anything_is_decided_on_them",
    ),
    _broken(
        "B1", f"{CORE}/starting.py", "due = decision.due + s.view.header.declarations.clock_skew", "due = decision.due",
        "tests/core/test_recovery_waits.py", "the_next_submission_is_never_early_whatever_clock_recorded_the_end",
    ),
    _broken(
        "B1", f"{CORE}/recovery.py", "ended = known.ended.seen_by if known.ended else now", "ended = now",
        "tests/core/test_recovery_waits.py", "due_counts_from_the_recorded_end",
    ),
    _broken(
        "B2", f"{SLURM}/cluster.py", "native=dict.fromkeys(Action, _NATIVE),", 'native=dict.fromkeys(Action, _yes("")),',
        OPENING, "native_restart_is_no_on_every_release_with_its_reason",
    ),
    _broken(
        "B4", f"{SLURM}/reading/key.py", "a={key.attempt} base={base} spec", "a={key.attempt} base={base + 1} spec",
        "tests/adapters/slurm/reading/test_tickets.py", "a_comment_reads_back_as_it_was_written",
    ),
    _broken(
        "B6", f"{CORE}/starting.py", "or seen.state is not State.PENDING", "or seen.state.ended",
        HOLDING, "a_hold_on_a_running_job_waits_for_its_next_execution",
    ),
    _broken(
        "B7", f"{SHELL}/driving.py", "return view.stop is None and not view.intents and _holds_agree(view)", "return True",
        "tests/rules/test_stated.py", "a_stop_is_acknowledged_when_it_is_true_and_not_before",
    ),
    _broken(
        "P2", f"{SLURM}/writing/stop.sh", 'scancel --ctld --me --name="$name" "$id"', 'scancel "$id"',
        VERBS, "stop_cancels_exactly_this_object",
    ),
    _broken(
        "P3", f"{SLURM}/writing/open.sh", 'scontrol release "$id"', 'scontrol release "jobname=$name"',
        HOLD_VERBS, "open_releases_and_clears_the_begin_time",
    ),
    _broken(
        "P4", f"{CORE}/recovery.py", "return when is verdict.cause\n", "return when in (verdict.cause, verdict.detail.suspected)\n",
        "tests/core/test_recovery_rules.py", "a_suspicion_is_no_cause",
    ),
    _broken(
        "P5", f"{SHELL}/supervisor.py", "ONCE = timedelta(seconds=60)", "ONCE = timedelta(seconds=0)",
        "tests/shell/test_supervisor.py", "once_waits_for_times_of_a_jobs_own_but_not_for_the_queue",
    ),
)  # fmt: skip
