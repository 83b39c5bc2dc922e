//! What has to be asked of the disk: links, and whether names differ by case.

use contract::domain::scope::{Links, Scope};
use contract::operator::Code;

use super::denial::deny;
use crate::error::Result;

/// Whoever can look at a workspace.
pub trait Ground {
    /// The symbolic links on the way to these paths, as seen from the root.
    fn links(&self, root: &str, paths: &[&str]) -> Links;
    /// Whether the file system there takes names that differ only in case for one.
    fn folds_case(&self, root: &str) -> bool;
    /// Whether there is a directory at this path, as seen from the root.
    fn is_directory(&self, root: &str, path: &str) -> bool;
}

/// Paths under their real names in the workspace, sorted; what another one covers is left out.
pub fn real_scopes(ground: &dyn Ground, root: &str, paths: &[String]) -> Result<Vec<Scope>> {
    let texts: Vec<&str> = paths.iter().map(String::as_str).collect();
    let links = ground.links(root, &texts);
    let mut scopes = Vec::new();
    for text in texts {
        let scope = Scope::parse(text, Some(root)).and_then(|scope| scope.follow(&links, Some(root)));
        scopes.push(scope.map_err(|fault| {
            let code = contract::operator::fencing::Refused::Scope(fault).code();
            deny(code, fault.rule(), format!("`{}` {fault}", shown(text)))
        })?);
    }
    scopes.sort();
    scopes.dedup();
    let covered = |scope: &Scope| scopes.iter().any(|other| other != scope && other.contains(scope));
    let scopes: Vec<Scope> = scopes.iter().filter(|scope| !covered(scope)).cloned().collect();
    match scopes.iter().find(|scope| scope.is_absolute()) {
        Some(outside) => Err(deny(
            Code::ScopeViolation,
            "workspace_escape",
            format!("`{outside}` leads out of the workspace"),
        )),
        None => Ok(scopes),
    }
}

/// A path as it can be printed: what is not seen is written out.
fn shown(text: &str) -> String {
    text.chars().take(200).flat_map(char::escape_debug).collect()
}
