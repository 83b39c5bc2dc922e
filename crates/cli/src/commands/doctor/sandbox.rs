//! What of a sandbox this machine enforces, found out by closing one around a program that does nothing.

use engine::launcher::sandbox_here;

use super::Look;
use crate::host;

pub(super) fn look() -> Look {
    // A machine that enforces less is no trouble: the mode `prefer` says it for each task, and `enforce` refuses.
    let (well, said) = match sandbox_here(&host::shim()) {
        Ok(in_force) => {
            let missing = in_force.missing();
            let on = in_force.parts().into_iter().filter(|(_, part)| !part.is_refused());
            let on: Vec<&str> = on.map(|(name, _)| name).collect();
            match (missing.as_slice(), on.as_slice()) {
                ([], _) => {
                    (true, format!("enforces {}; turned on with `sandbox = \"enforce\"`", on.join(", ")))
                }
                (missing, []) => (true, format!("nothing can be enforced: {}", missing.join("; "))),
                (missing, on) => {
                    (true, format!("enforces {}; not enforced: {}", on.join(", "), missing.join("; ")))
                }
            }
        }
        Err(error) => (false, format!("could not be tried: {error}")),
    };
    Look { what: "sandbox", well, said }
}
