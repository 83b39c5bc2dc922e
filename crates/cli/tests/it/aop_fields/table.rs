//! Which test shows the effect of each field of a TASK and of a RESPONSE.
//!
//! A test is named by its file and its function: `aop_tasks::…` is in this directory, `contract/aop/effective::…` in the tests
//! of that module. A field whose change changes nothing is [`NO_EFFECT`].

/// The field changes nothing, and answer and trace name it.
pub(super) const NO_EFFECT: &str = "";

/// Any `extensions`: kept and passed on, and otherwise without a meaning.
pub(super) const EXTENSIONS: &str = "contract/intake::extensions_of_others_change_nothing_in_the_plan \
                                     aop_tasks::the_executor_gets_the_task_that_was_submitted";

const HEADER: &str = "aop_fields::the_header_of_a_message_decides_whether_it_is_read";
const KEPT: &str = "aop_fields::every_field_of_a_response_is_kept";
const SNAPSHOTS: &str = "rollback::an_aop_task_with_a_rollback_snapshot_is_rolled_back";
const OUTPUTS: &str = "aop_tasks::expected_outputs_and_checkpoints_decide_whether_a_task_is_done";
const ARTIFACTS: &str = "checkpoints::the_artifacts_of_a_checkpoint_must_exist_before_it_is_validated \
                         aop_fields::what_a_checkpoint_expects_is_validated_and_kept_as_an_output_is";
const SENDER: &str = "intake::who_sent_a_task_and_what_it_says_about_itself_is_in_identity_and_run";
const HEARTBEAT: &str = "aop_tasks::an_executor_that_misses_its_heartbeats_is_ended \
                         contract/aop/effective::a_heartbeat_is_required_only_if_the_task_says_so";
const NETWORK: &str = "contract/intake::a_task_may_demand_a_sandbox_and_says_what_it_needs_of_the_network \
                       network::an_aop_task_names_its_hosts_in_an_extension";

pub(super) const TASK: &[(&str, &str)] = &[
    (
        "$.aop_version",
        "aop_tasks::every_version_that_starts_with_2_runs aop_fields::the_header_of_a_message_decides_whether_it_is_read",
    ),
    ("$.schema_version", NO_EFFECT),
    ("$.protocol_family", HEADER),
    ("$.message_type", HEADER),
    ("$.session.session_id", "aop_tasks::a_response_of_another_session_is_not_an_answer"),
    ("$.session.created_at", SENDER),
    ("$.session.orchestrator", SENDER),
    ("$.session.origin", SENDER),
    (
        "$.session.workflow_pattern",
        "sessions::several_files_of_one_session_are_one_run contract/intake/session::the_pattern_of_the_session_is_the_shape_of_the_graph",
    ),
    ("$.target.agent_name", "executors::a_task_is_worked_by_the_executor_that_is_configured_for_its_agent"),
    ("$.target.role", NO_EFFECT),
    (
        "$.target.provider",
        "executors::a_task_of_a_provider_is_worked_by_its_program_with_its_model_and_profile",
    ),
    ("$.target.model", "executors::a_task_of_a_provider_is_worked_by_its_program_with_its_model_and_profile"),
    (
        "$.target.execution_profile",
        "executors::a_task_of_a_provider_is_worked_by_its_program_with_its_model_and_profile executors::a_profile_that_a_program_has_no_setting_for_is_said_to_have_no_effect",
    ),
    (
        "$.target.capabilities.aop_versions_supported[]",
        "intake::a_target_that_reads_no_v2_gets_a_prompt_and_answers_in_text",
    ),
    (
        "$.target.capabilities.file_system_access",
        "task_access::a_target_without_file_access_can_neither_read_nor_write_the_workspace",
    ),
    ("$.target.capabilities.network_access", NETWORK),
    ("$.target.capabilities.headless_mode", "task_environment::a_target_that_needs_a_person_is_refused"),
    ("$.task.task_id", "layers::l7_only_a_single_response_to_this_very_task_is_an_answer"),
    ("$.task.parent_task_id", "sessions::a_parent_of_an_earlier_run_is_found_by_its_session"),
    ("$.task.attempt", "fallbacks::the_executor_is_told_which_model_and_which_attempt_it_is"),
    ("$.task.objective", "aop_tasks::the_executor_gets_the_task_that_was_submitted"),
    ("$.task.category", NO_EFFECT),
    ("$.task.complexity", NO_EFFECT),
    (
        "$.task.priority",
        "contract/intake::the_priority_budget_and_checkpoints_of_a_task_reach_the_plan layers::l4_the_most_urgent_task_starts_first",
    ),
    (
        "$.task.environment.workspace_root",
        "layers::l0_a_task_in_a_workspace_that_is_not_there_is_refused_and_no_child_runs",
    ),
    ("$.task.environment.os", "task_environment::a_task_for_another_system_is_refused_before_anything_runs"),
    ("$.task.environment.shell", "task_environment::the_shell_of_a_task_runs_its_validations"),
    ("$.task.environment.git_branch", "task_environment::a_task_runs_only_on_its_branch"),
    ("$.task.inputs[].type", "task_inputs::content_that_a_task_brings_along_needs_no_file"),
    ("$.task.inputs[].path", "task_inputs::a_missing_input_is_refused_before_anything_runs"),
    ("$.task.inputs[].content", "aop_fields::content_reaches_the_executor"),
    ("$.task.inputs[].read_only", "task_inputs::an_input_that_is_read_only_must_stay_as_it_is"),
    (
        "$.task.expected_outputs[].type",
        "rollback::an_aop_task_that_names_no_write_paths_is_told_that_nothing_is_kept aop_fields::fields_without_effect_are_named",
    ),
    ("$.task.expected_outputs[].path", OUTPUTS),
    ("$.task.expected_outputs[].description", NO_EFFECT),
    ("$.task.expected_outputs[].validation.command", OUTPUTS),
    (
        "$.task.expected_outputs[].validation.expects",
        "layers::l8_each_kind_of_check_passes_only_on_what_it_expects contract/intake::an_aop_task_becomes_a_plan_of_one_task",
    ),
    ("$.task.expected_outputs[].rollback_snapshot.enabled", SNAPSHOTS),
    ("$.task.expected_outputs[].rollback_snapshot.snapshot_path", SNAPSHOTS),
    (
        "$.task.expected_outputs[].rollback_snapshot.snapshot_strategy",
        "rollback::an_aop_task_with_a_rollback_snapshot_is_rolled_back rollback::git_strategies_leave_a_patch_and_a_stash_and_run_nothing_of_the_repository",
    ),
    ("$.task.constraints.max_tokens", "aop_tasks::a_task_may_use_the_tokens_of_its_constraints_and_no_more"),
    ("$.task.constraints.max_cost_usd", "aop_fields::each_budget_is_a_limit"),
    (
        "$.task.constraints.read_only_mode",
        "task_access::a_task_that_may_write_nothing_fails_if_it_writes_without_a_sandbox",
    ),
    ("$.task.constraints.delegation_allowed", "sessions::a_task_starts_runs_only_if_it_may_delegate"),
    ("$.task.constraints.network_access", NETWORK),
    ("$.task.budgets.max_cost_usd", "aop_fields::each_budget_is_a_limit"),
    ("$.task.budgets.max_tokens", "aop_fields::each_budget_is_a_limit"),
    (
        "$.task.access.filesystem.read_paths[]",
        "task_access::only_read_paths_and_write_paths_can_be_read_in_a_sandbox task_access::read_paths_without_a_sandbox_are_named_as_without_effect",
    ),
    (
        "$.task.access.filesystem.write_paths[]",
        "task_access::a_task_that_may_write_nothing_fails_if_it_writes_without_a_sandbox",
    ),
    ("$.task.access.network", NETWORK),
    ("$.execution_policy.timeout_seconds", "layers::l6_guard_rails_outrank_the_execution_policy"),
    (
        "$.execution_policy.max_retries",
        "fallbacks::alternatives_are_used_in_order_by_their_triggers fallbacks::a_rule_without_effect_is_named_in_the_trace",
    ),
    (
        "$.execution_policy.retry_backoff_seconds[]",
        "contract/aop/effective::waits_repeat_the_last_one contract/intake::an_aop_task_becomes_a_plan_of_one_task",
    ),
    (
        "$.execution_policy.abort_on_first_critical_error",
        "fallbacks::a_critical_error_aborts_a_task_that_says_so",
    ),
    (
        "$.execution_policy.auto_terminate_on_timeout",
        "heartbeats::a_task_that_may_be_late_is_reported_and_finishes",
    ),
    (
        "$.execution_policy.on_failure",
        "fallbacks::a_rule_without_effect_is_named_in_the_trace checkpoints::a_checkpoint_without_a_strategy_follows_on_failure",
    ),
    (
        "$.execution_policy.alternative_models[].provider",
        "fallbacks::alternatives_are_used_in_order_by_their_triggers",
    ),
    (
        "$.execution_policy.alternative_models[].model",
        "fallbacks::the_executor_is_told_which_model_and_which_attempt_it_is",
    ),
    (
        "$.execution_policy.alternative_models[].fallback_trigger",
        "fallbacks::each_trigger_is_reached_by_a_real_failure",
    ),
    ("$.execution_policy.heartbeat.enabled", HEARTBEAT),
    ("$.execution_policy.heartbeat.interval_seconds", HEARTBEAT),
    ("$.execution_policy.heartbeat.max_missed_beats", HEARTBEAT),
    (
        "$.execution_policy.heartbeat.on_heartbeat_failure",
        "heartbeats::an_executor_that_misses_its_heartbeats_is_warned_about_and_goes_on heartbeats::missed_heartbeats_are_only_recorded_where_the_task_says_continue",
    ),
    (
        "$.guard_rails.require_minimal_report",
        "aop_tasks::guard_rails_say_whether_a_response_needs_a_signal_and_a_report",
    ),
    (
        "$.guard_rails.require_final_signal",
        "aop_tasks::guard_rails_say_whether_a_response_needs_a_signal_and_a_report",
    ),
    ("$.guard_rails.auto_terminate_on_timeout", "contract/aop/effective::guard_rails_override_the_policy"),
    ("$.guard_rails.timeout_seconds", "layers::l6_guard_rails_outrank_the_execution_policy"),
    ("$.guard_rails.abort_on_first_critical_error", "fallbacks::a_critical_error_aborts_a_task_that_says_so"),
    (
        "$.phases[].phase_id",
        "checkpoints::phases_run_in_ascending_order_and_checkpoints_as_they_are_written aop_fields::what_a_checkpoint_expects_is_validated_and_kept_as_an_output_is",
    ),
    (
        "$.phases[].phase_order",
        "checkpoints::phases_run_in_ascending_order_and_checkpoints_as_they_are_written",
    ),
    ("$.phases[].label", NO_EFFECT),
    ("$.phases[].objective", NO_EFFECT),
    (
        "$.phases[].checkpoints[].checkpoint_id",
        "checkpoints::phases_run_in_ascending_order_and_checkpoints_as_they_are_written",
    ),
    ("$.phases[].checkpoints[].description", NO_EFFECT),
    ("$.phases[].checkpoints[].expected_artifacts[].type", ARTIFACTS),
    ("$.phases[].checkpoints[].expected_artifacts[].path", ARTIFACTS),
    ("$.phases[].checkpoints[].expected_artifacts[].description", NO_EFFECT),
    ("$.phases[].checkpoints[].expected_artifacts[].validation.command", ARTIFACTS),
    ("$.phases[].checkpoints[].expected_artifacts[].validation.expects", ARTIFACTS),
    ("$.phases[].checkpoints[].expected_artifacts[].rollback_snapshot.enabled", ARTIFACTS),
    ("$.phases[].checkpoints[].expected_artifacts[].rollback_snapshot.snapshot_path", ARTIFACTS),
    ("$.phases[].checkpoints[].expected_artifacts[].rollback_snapshot.snapshot_strategy", ARTIFACTS),
    ("$.phases[].checkpoints[].validation.command", OUTPUTS),
    (
        "$.phases[].checkpoints[].validation.expects",
        "layers::l8_each_kind_of_check_passes_only_on_what_it_expects contract/intake::the_priority_budget_and_checkpoints_of_a_task_reach_the_plan",
    ),
    (
        "$.phases[].checkpoints[].status",
        "checkpoints::a_checkpoint_that_the_task_skips_is_not_run_and_one_that_passed_is_run_all_the_same",
    ),
    (
        "$.phases[].checkpoints[].recovery_strategy",
        "checkpoints::a_checkpoint_that_retries_fails_the_attempt_and_is_tried_again checkpoints::a_checkpoint_that_continues_leaves_a_partial_success",
    ),
    ("$.orchestration_metadata.initiator", NO_EFFECT),
    ("$.orchestration_metadata.spec_author", NO_EFFECT),
    ("$.orchestration_metadata.tags[]", NO_EFFECT),
    ("$.orchestration_metadata.notes", NO_EFFECT),
];

pub(super) const RESPONSE: &[(&str, &str)] = &[
    ("$.aop_version", HEADER),
    ("$.schema_version", HEADER),
    ("$.protocol_family", HEADER),
    ("$.message_type", HEADER),
    ("$.session_id", "aop_tasks::a_response_of_another_session_is_not_an_answer"),
    ("$.task_id", "layers::l7_only_a_single_response_to_this_very_task_is_an_answer"),
    ("$.agent.name", KEPT),
    ("$.agent.provider", KEPT),
    ("$.agent.model", KEPT),
    ("$.task_status.state", "responses::only_a_completed_state_without_a_bad_signal_is_a_success"),
    ("$.task_status.final_signal", "responses::only_a_completed_state_without_a_bad_signal_is_a_success"),
    ("$.task_status.message", "responses::everything_that_a_response_says_is_kept_and_shown"),
    (
        "$.execution_summary.summary",
        "aop_tasks::guard_rails_say_whether_a_response_needs_a_signal_and_a_report aop_fields::every_field_of_a_response_is_kept",
    ),
    (
        "$.execution_summary.actions[]",
        "responses::more_actions_than_recommended_are_a_warning_in_answer_and_trace",
    ),
    ("$.execution_summary.warnings[]", "responses::everything_that_a_response_says_is_kept_and_shown"),
    ("$.execution_summary.errors[]", "responses::everything_that_a_response_says_is_kept_and_shown"),
    ("$.execution_summary.output_artifacts[].type", KEPT),
    (
        "$.execution_summary.output_artifacts[].path",
        "responses::a_false_hash_size_or_status_is_a_finding_and_does_not_fail_the_task",
    ),
    (
        "$.execution_summary.output_artifacts[].hash",
        "responses::a_false_hash_size_or_status_is_a_finding_and_does_not_fail_the_task",
    ),
    ("$.execution_summary.output_artifacts[].status", "responses::a_deleted_file_is_seen_as_deleted"),
    (
        "$.execution_summary.output_artifacts[].size_bytes",
        "responses::a_false_hash_size_or_status_is_a_finding_and_does_not_fail_the_task",
    ),
    (
        "$.checkpoint_results[].checkpoint_id",
        "responses::claimed_checkpoints_are_compared_with_what_writ_ran",
    ),
    ("$.checkpoint_results[].status", "responses::claimed_checkpoints_are_compared_with_what_writ_ran"),
    ("$.checkpoint_results[].validation_output", KEPT),
    ("$.checkpoint_results[].evidence[]", KEPT),
    ("$.checkpoint_results[].notes", KEPT),
    ("$.error_details.error_code", "responses::a_code_that_aop_does_not_have_is_unknown_and_stays_readable"),
    ("$.error_details.message", "responses::a_code_that_aop_does_not_have_is_unknown_and_stays_readable"),
    ("$.error_details.stack_trace", KEPT),
    (
        "$.error_details.recovery_suggestions[]",
        "responses::a_code_that_aop_does_not_have_is_unknown_and_stays_readable",
    ),
    ("$.timing.started_at", "contract/aop/report::claimed_times_may_differ_as_clocks_do_and_no_more"),
    ("$.timing.completed_at", "contract/aop/report::claimed_times_may_differ_as_clocks_do_and_no_more"),
    ("$.timing.duration_seconds", KEPT),
    ("$.timing.retries_attempted", "responses::everything_that_a_response_says_is_kept_and_shown"),
    ("$.cost_tracking.estimated_cost_usd", KEPT),
    ("$.cost_tracking.actual_cost_usd", "layers::l8_work_that_cost_more_than_its_budget_is_not_done"),
    (
        "$.cost_tracking.tokens_input",
        "budgets_over_attempts::a_cost_is_computed_from_tokens_by_the_price_table",
    ),
    ("$.cost_tracking.tokens_output", "aop_tasks::a_task_may_use_the_tokens_of_its_constraints_and_no_more"),
    ("$.cost_tracking.model_pricing_tier", "responses::everything_that_a_response_says_is_kept_and_shown"),
    ("$.progress_log.last_progress_event_at", KEPT),
    ("$.progress_log.progress_percentage", "responses::everything_that_a_response_says_is_kept_and_shown"),
];
