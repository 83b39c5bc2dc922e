//! What of a sandbox this machine enforces, found out by closing one around a program that does nothing.

use engine::launcher::sandbox_here;

use super::DoctorFinding;
use crate::config::Config;
use crate::host;

pub(super) fn look(config: Option<&Config>) -> DoctorFinding {
    // A machine that enforces less is not an error: `prefer` reports it per task, and `enforce` refuses.
    let mut warns = false;
    let (well, said) = match sandbox_here(&host::shim()) {
        Ok(in_force) => {
            let missing = in_force.missing();
            let on = in_force.parts().into_iter().filter(|(_, part)| !part.is_refused());
            let on: Vec<&str> = on.map(|(name, _)| name).collect();
            match (missing.as_slice(), on.as_slice()) {
                ([], _) => (true, format!("enforces {}; {}", on.join(", "), mode(config))),
                (missing, []) => {
                    warns = true;
                    (true, format!("nothing can be enforced: {}; {REFUSED}", missing.join("; ")))
                }
                (missing, on) => {
                    warns = true;
                    let missing = missing.join("; ");
                    (true, format!("enforces {}; not enforced: {missing}; {REFUSED}", on.join(", ")))
                }
            }
        }
        Err(error) => (false, format!("could not be tried: {error}")),
    };
    DoctorFinding { warns, ..DoctorFinding::new("sandbox", well, said) }
}

/// What follows where a part is missing.
const REFUSED: &str = "tasks with `sandbox = \"enforce\"` are refused here, others go without these parts";

/// The default sandbox mode and its origin.
fn mode(config: Option<&Config>) -> String {
    let set = config.and_then(|config| config.policy.sandbox);
    let Some(set) = set else {
        return "tasks get it as far as possible (mode `prefer`, the default)".to_owned();
    };
    let sources = config.into_iter().flat_map(|config| &config.sources);
    let mut said = sources.filter(|(name, value, _)| name == "sandbox.mode" && value == set.as_str());
    let from = said.next().map(|(_, _, file)| format!(", from {}", file.display()));
    format!("mode `{}`{}", set.as_str(), from.unwrap_or_default())
}
