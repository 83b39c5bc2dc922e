//! Why work failed, as programs see it: a closed list of codes. AOP publishes the same words.

use crate::shape::words;

words! {
    /// The kind of a failure. An unknown code is read as [`FailureCode::Unknown`].
    FailureCode {
        Timeout = "E_TIMEOUT",
        HeartbeatFailure = "E_HEARTBEAT_FAILURE",
        ParseFailure = "E_PARSE_FAILURE",
        SchemaValidation = "E_SCHEMA_VALIDATION",
        AgentNotFound = "E_AGENT_NOT_FOUND",
        ModelUnavailable = "E_MODEL_UNAVAILABLE",
        AllModelsExhausted = "E_ALL_MODELS_EXHAUSTED",
        FileNotFound = "E_FILE_NOT_FOUND",
        PermissionDenied = "E_PERMISSION_DENIED",
        ContextOverflow = "E_CONTEXT_OVERFLOW",
        PayloadSizeWarning = "E_PAYLOAD_SIZE_WARNING",
        MalformedResponse = "E_MALFORMED_RESPONSE",
        DependencyFailed = "E_DEPENDENCY_FAILED",
        MaxDepthExceeded = "E_MAX_DEPTH_EXCEEDED",
        ProcessCrash = "E_PROCESS_CRASH",
        CostLimitExceeded = "E_COST_LIMIT_EXCEEDED",
        RollbackFailed = "E_ROLLBACK_FAILED",
        Unknown = "E_UNKNOWN",
    }
}

impl FailureCode {
    /// The code that an executor reported. A code outside the taxonomy is `E_UNKNOWN`.
    pub fn read(word: &str) -> FailureCode {
        FailureCode::parse(word).unwrap_or(FailureCode::Unknown)
    }

    pub fn meaning(self) -> &'static str {
        match self {
            FailureCode::Timeout => "the task ran longer than its timeout",
            FailureCode::HeartbeatFailure => "more heartbeats were missed than allowed",
            FailureCode::ParseFailure => "the input is neither JSON nor a readable v1 prompt",
            FailureCode::SchemaValidation => "the JSON does not match the v2 schema",
            FailureCode::AgentNotFound => "the agent does not exist or cannot be reached",
            FailureCode::ModelUnavailable => "the requested model is not available",
            FailureCode::AllModelsExhausted => "every alternative model failed too",
            FailureCode::FileNotFound => "a required input file does not exist",
            FailureCode::PermissionDenied => "the file system or network access is not permitted",
            FailureCode::ContextOverflow => "a hard limit on size or count was exceeded",
            FailureCode::PayloadSizeWarning => "a soft limit on size or count was exceeded",
            FailureCode::MalformedResponse => "the response does not match the v2 schema",
            FailureCode::DependencyFailed => "a task this one depends on failed or was aborted",
            FailureCode::MaxDepthExceeded => "tasks were delegated deeper than three levels",
            FailureCode::ProcessCrash => "the executor's process crashed or ended with a failure code",
            FailureCode::CostLimitExceeded => "the budget was exceeded",
            FailureCode::RollbackFailed => "a rollback could not restore every artifact",
            FailureCode::Unknown => "any other error",
        }
    }
}
