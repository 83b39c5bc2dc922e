//! The two documents as plain structs, as one would write them to get the values without validation.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

type Extensions = Option<BTreeMap<String, Value>>;

macro_rules! plain {
    ($($name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            #[derive(Deserialize)]
            #[expect(dead_code, reason = "reading them is what is measured; the names are the contract's")]
            pub(crate) struct $name { $($field: $type,)* }
        )*
    };
}

plain! {
    Task {
        aop_version: String, schema_version: String, protocol_family: String, message_type: String,
        session: Session, target: Target, task: Work, execution_policy: Option<ExecutionPolicy>,
        guard_rails: Option<GuardRails>, phases: Option<Vec<Phase>>,
        orchestration_metadata: Option<Metadata>, extensions: Extensions,
    }
    Session {
        session_id: String, created_at: String, orchestrator: String, origin: String,
        workflow_pattern: Option<String>, extensions: Extensions,
    }
    Target {
        agent_name: String, role: String, provider: String, model: String, execution_profile: Option<String>,
        capabilities: Option<Capabilities>, extensions: Extensions,
    }
    Capabilities {
        aop_versions_supported: Option<Vec<String>>, file_system_access: Option<bool>,
        network_access: Option<String>, headless_mode: Option<bool>, extensions: Extensions,
    }
    Work {
        task_id: String, parent_task_id: Option<String>, attempt: Option<u64>, objective: String,
        category: String, complexity: String, priority: Option<String>, environment: Environment,
        inputs: Option<Vec<Input>>, expected_outputs: Option<Vec<Output>>, constraints: Option<Constraints>,
        budgets: Option<Budgets>, access: Option<Access>, extensions: Extensions,
    }
    Environment {
        workspace_root: String, os: Option<String>, shell: Option<String>, git_branch: Option<String>,
        extensions: Extensions,
    }
    Input {
        r#type: String, path: Option<String>, content: Option<String>, read_only: Option<bool>,
        extensions: Extensions,
    }
    Output {
        r#type: String, description: Option<String>, path: Option<String>, validation: Option<Validation>,
        rollback_snapshot: Option<Snapshot>, extensions: Extensions,
    }
    Validation { command: String, expects: String, extensions: Extensions, }
    Snapshot {
        enabled: Option<bool>, snapshot_path: Option<String>, snapshot_strategy: Option<String>,
        extensions: Extensions,
    }
    Constraints {
        max_tokens: Option<u64>, max_cost_usd: Option<f64>, read_only_mode: Option<bool>,
        delegation_allowed: Option<bool>, network_access: Option<String>, extensions: Extensions,
    }
    Budgets { max_cost_usd: Option<f64>, max_tokens: Option<u64>, extensions: Extensions, }
    Access { filesystem: Option<Filesystem>, network: Option<String>, extensions: Extensions, }
    Filesystem { read_paths: Option<Vec<String>>, write_paths: Option<Vec<String>>, extensions: Extensions, }
    ExecutionPolicy {
        timeout_seconds: Option<u64>, max_retries: Option<u64>, retry_backoff_seconds: Option<Vec<u64>>,
        abort_on_first_critical_error: Option<bool>, auto_terminate_on_timeout: Option<bool>,
        on_failure: Option<String>, alternative_models: Option<Vec<AlternativeModel>>,
        heartbeat: Option<Heartbeat>, extensions: Extensions,
    }
    AlternativeModel { provider: String, model: String, fallback_trigger: String, extensions: Extensions, }
    Heartbeat {
        enabled: Option<bool>, interval_seconds: Option<u64>, max_missed_beats: Option<u64>,
        on_heartbeat_failure: Option<String>, extensions: Extensions,
    }
    GuardRails {
        require_minimal_report: Option<bool>, require_final_signal: Option<bool>,
        auto_terminate_on_timeout: Option<bool>, timeout_seconds: Option<u64>,
        abort_on_first_critical_error: Option<bool>, extensions: Extensions,
    }
    Phase {
        phase_id: String, phase_order: i64, label: String, objective: String,
        checkpoints: Option<Vec<Checkpoint>>, extensions: Extensions,
    }
    Checkpoint {
        checkpoint_id: String, description: String, expected_artifacts: Option<Vec<Output>>,
        validation: Option<Validation>, status: Option<String>, recovery_strategy: Option<String>,
        extensions: Extensions,
    }
    Metadata {
        initiator: Option<String>, spec_author: Option<String>, tags: Option<Vec<String>>,
        notes: Option<String>, extensions: Extensions,
    }
    Envelope {
        v: String, id: String, ts: String, r#type: String, from: String, to: String, intent: String,
        corr: String, reply_to: Option<String>, trace: Option<Value>, priority: String,
        requires: Option<Value>, payload: Payload, sig: Option<Value>,
    }
    Payload {
        run_id: String, layer: Layer, decisions: Vec<Decision>, delta: BTreeMap<String, Value>,
        refs: Vec<String>, digests: BTreeMap<String, String>, control: Control,
    }
    Layer { id: String, version: String, }
    Decision { code: String, reason: String, }
    Control { halt_pipeline: Option<bool>, }
}
