//! Resolves paths of a workspace.

use contract::domain::crew::lock::LockRefusal;
use contract::domain::scope::{Links, Scope};
use contract::operator::Code;

use super::denial::deny;
use crate::error::Result;
use crate::host::HostView;

/// Paths in the workspace without symbolic links, sorted, without paths inside another one.
pub(crate) fn real_scopes(view: &HostView, root: &str, paths: &[String]) -> Result<Vec<Scope>> {
    let texts: Vec<&str> = paths.iter().map(String::as_str).collect();
    resolve(view.links(root, &texts)?, root, paths)
}

/// The same with links that are already known.
pub fn resolve(links: &Links, root: &str, paths: &[String]) -> Result<Vec<Scope>> {
    let mut scopes = Vec::new();
    for text in paths {
        let scope = Scope::parse(text, Some(root)).and_then(|scope| scope.follow(links, Some(root)));
        scopes.push(scope.map_err(|fault| {
            deny(LockRefusal::Scope(fault).into(), fault.rule(), format!("`{}` {fault}", printable(text)))
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
            format!("`{outside}` is outside the workspace"),
        )),
        None => Ok(scopes),
    }
}

/// A path with invisible characters escaped.
fn printable(text: &str) -> String {
    contract::secrets::scrub(text).chars().take(200).flat_map(char::escape_debug).collect()
}
