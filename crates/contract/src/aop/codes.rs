//! The error taxonomy of AOP: every code a message may carry, and what it means.

use crate::shape::words;

words! {
    /// The contract's error codes. An unknown code is read as [`Code::Unknown`].
    Code {
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

impl Code {
    /// The code that an executor reported. A code outside the taxonomy is `E_UNKNOWN`.
    pub fn read(word: &str) -> Code {
        Code::parse(word).unwrap_or(Code::Unknown)
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Code::Timeout => "the task ran longer than its timeout",
            Code::HeartbeatFailure => "more heartbeats were missed than allowed",
            Code::ParseFailure => "the input is neither JSON nor a readable v1 prompt",
            Code::SchemaValidation => "the JSON does not match the v2 schema",
            Code::AgentNotFound => "the agent does not exist or cannot be reached",
            Code::ModelUnavailable => "the requested model is not available",
            Code::AllModelsExhausted => "every alternative model failed too",
            Code::FileNotFound => "a required input file does not exist",
            Code::PermissionDenied => "the file system or network access is not permitted",
            Code::ContextOverflow => "a hard limit on size or count was exceeded",
            Code::PayloadSizeWarning => "a soft limit on size or count was exceeded",
            Code::MalformedResponse => "the response does not match the v2 schema",
            Code::DependencyFailed => "a task this one depends on failed or was aborted",
            Code::MaxDepthExceeded => "tasks were delegated deeper than three levels",
            Code::ProcessCrash => "the executor's process crashed or ended with a failure code",
            Code::CostLimitExceeded => "the budget was exceeded",
            Code::RollbackFailed => "a rollback could not restore every artifact",
            Code::Unknown => "any other error",
        }
    }
}
