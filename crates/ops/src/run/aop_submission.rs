//! What is known of submitted AOP TASKs besides the plan that they became.

use std::collections::BTreeMap;

use contract::aop::Fallback;
use contract::domain::run::RunWarning;

/// What a submission of AOP TASKs or of a prompt has besides.
#[derive(Debug, Clone, Default)]
pub struct AopSubmission {
    pub session_id: Option<String>,
    pub warnings: Vec<RunWarning>,
    /// Tasks of the plan, by their index, that are sent as AOP v1.
    pub fallbacks: Vec<(usize, Fallback)>,
    /// Whom the caller named in place of the targets.
    pub executor: Option<String>,
    /// How the caller mapped paths.
    pub map: BTreeMap<String, String>,
    /// Whether the session may have been aborted.
    pub reopens: bool,
}
