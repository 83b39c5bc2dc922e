//! Where an installation of the agent contract's original is, so that what it knows can be imported.

use std::path::{Path, PathBuf};

use ops::host::Diagnostic;
use ops::status::VYBE_FOUND;

use crate::app::Globals;
use crate::commands::run::read_bounded;
use crate::persona::{self, Persona};
use crate::{env, host};

/// The original's own configuration, for all users of a machine.
const SYSTEM_CONFIG: &str = "/etc/vybe/config.yaml";

/// The database of the original, if there is one: from its variable, its configuration or its default. A file
/// that is open as our store is not looked at.
pub(crate) fn database(store: Option<&Path>) -> Option<PathBuf> {
    let variable = env::get("VYBE_DB_PATH").map(PathBuf::from);
    let homes = homes();
    let files = homes.iter().map(|home| home.join("config.yaml")).chain([PathBuf::from(SYSTEM_CONFIG)]);
    let configured = files.filter_map(|file| configured(&file));
    let usual = homes.iter().map(|home| home.join("vybe.db"));
    let store = store.and_then(|store| store.canonicalize().ok());
    let is_other = |path: &PathBuf| path.canonicalize().is_ok_and(|path| Some(path) != store);
    let candidates = variable.into_iter().chain(configured).chain(usual);
    candidates.filter(is_other).find(|path| ops::vybe::may_be_database(path))
}

/// The directories in which its versions keep their files.
fn homes() -> Vec<PathBuf> {
    let by_variable = env::directory("XDG_CONFIG_HOME").map(|home| home.join("vybe"));
    let by_home = env::directory("HOME").map(|home| home.join(".config/vybe"));
    let mut homes: Vec<PathBuf> = by_variable.into_iter().chain(by_home).collect();
    homes.dedup();
    homes
}

/// The `db_path` of its configuration.
fn configured(file: &Path) -> Option<PathBuf> {
    let text = read_bounded(file).ok().and_then(|bytes| String::from_utf8(bytes).ok())?;
    let path = db_path(&text)?;
    match path.strip_prefix("~/") {
        Some(inside) => env::directory("HOME").map(|home| home.join(inside)),
        None => Some(PathBuf::from(path)),
    }
}

/// Its configuration is YAML, of which this is one scalar at the top level.
fn db_path(text: &str) -> Option<&str> {
    let value = text.lines().find_map(|line| line.strip_prefix("db_path:"))?.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.split_once(quote));
    let value =
        quoted.map_or_else(|| value.split(" #").next().unwrap_or_default(), |(inside, _)| inside).trim();
    Some(value).filter(|value| !value.is_empty() && !value.starts_with('#'))
}

/// How to import it, as a shell command.
fn command(path: &Path) -> String {
    let path = path.to_string_lossy();
    let quoted = shlex::try_quote(&path).unwrap_or_default();
    match persona::current() {
        Persona::Vybe => format!("`vybe import {quoted}`"),
        Persona::Writ | Persona::Ol | Persona::Ao => format!("`writ import --from vybe {quoted}`"),
    }
}

/// The notice of the first command that creates a store beside an installation of the original.
pub(crate) fn notice(globals: &Globals) -> Option<String> {
    let found = found(globals)?;
    Some(format!("note: found a vybe database at {}; import it with {}\n", found.display(), command(&found)))
}

/// The same for `status`.
pub(crate) fn diagnostic(globals: &Globals) -> Option<Diagnostic> {
    let found = found(globals)?;
    Some(Diagnostic {
        level: "info".to_owned(),
        code: VYBE_FOUND.to_owned(),
        message: format!("found a vybe database at {}, which is not imported", found.display()),
        suggested_action: Some(format!("import it with {}", command(&found))),
    })
}

/// The database, unless it is named as the store itself: that is refused with its own hint.
fn found(globals: &Globals) -> Option<PathBuf> {
    database(host::store_path(globals).ok().as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_read_from_the_originals_configuration() {
        let cases = [
            ("db_path: /a/b.db\n", Some("/a/b.db")),
            ("# vybe\nevents_retention_days: 3\ndb_path: \"~/x y.db\"  # mine\n", Some("~/x y.db")),
            ("db_path: '/q.db'", Some("/q.db")),
            ("db_path: /a.db # mine", Some("/a.db")),
            ("# db_path: /a.db", None),
            ("db_path:\n", None),
            ("db_path: # none", None),
            ("nested:\n  db_path: /a.db", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(db_path(text), expected, "{text}");
        }
    }
}
