//! A child that spends nothing, by the user's configuration.

use contract::aop::event::Body;
use contract::domain::money::MicroUsd;
use contract::domain::reason::Warning;
use contract::domain::report::CostReport;

use super::conversation::AgentUsage;
use super::{ChildEnd, OutputLine, Reader, Returned, Wishes};

/// Reads like the inner reader, with a cost of zero unless one is reported.
pub(crate) struct Free(pub(crate) Box<dyn Reader>);

impl Reader for Free {
    fn line(&mut self, line: OutputLine<'_>) -> Vec<Body> {
        self.0.line(line)
    }

    fn error_output(&mut self, bytes: &[u8]) {
        self.0.error_output(bytes);
    }

    fn warnings(&mut self) -> Vec<Warning> {
        self.0.warnings()
    }

    fn wishes(&mut self) -> Wishes {
        self.0.wishes()
    }

    fn seen(&mut self, digest: Option<String>) {
        self.0.seen(digest);
    }

    fn end(&mut self, ended: &ChildEnd) -> Returned {
        let mut returned = self.0.end(ended);
        let report = returned.claims.report.as_mut().filter(|report| report.cost.is_none());
        if let Some(report) = report {
            report.cost = Some(CostReport {
                actual: Some(MicroUsd(0)),
                tokens_input: Some(0),
                tokens_output: Some(0),
                ..CostReport::default()
            });
            returned.reported.spend(&AgentUsage {
                input: Some(0),
                output: Some(0),
                cost_usd: Some(0.0),
                ..AgentUsage::default()
            });
        }
        returned
    }
}
