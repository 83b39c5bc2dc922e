//! The environment of checks: that of the task's author, as it was when the task was submitted.
//!
//! The completer of a task may have any environment, and most programs read variables that decide what they run. So
//! a check gets the variables named here with the author's values, what the plan adds, and nothing else.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits;
use crate::shape::words;
use crate::{digest, secrets};

/// The variables that are stored when a plan, a task or a bundle is submitted: where programs and the author's files
/// are, the locale, and where toolchains are installed. Variables that make a program load or run something else, such
/// as `PYTHONPATH`, `LD_PRELOAD` or `RUSTC_WRAPPER`, are not here: an author who needs one says so in `env`.
pub const STORED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "ANDROID_HOME",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CC",
    "CONDA_PREFIX",
    "COREPACK_HOME",
    "CXX",
    "DENO_DIR",
    "DEVELOPER_DIR",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GOTOOLCHAIN",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "MAVEN_HOME",
    "MISE_DATA_DIR",
    "NVM_DIR",
    "OPAMROOT",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "RBENV_ROOT",
    "RBENV_VERSION",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "SDKROOT",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Variables that begin like this are stored too: the parts of a locale.
pub const STORED_PREFIX: &str = "LC_";

/// The environment of checks whose author's was not stored: tasks of older versions.
const FIXED: &[(&str, &str)] = &[("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LANG", "C.UTF-8")];

/// The stored environment of an author.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AuthorEnvironment {
    pub values: BTreeMap<String, String>,
    /// Variables that were set and are not stored: they look like a secret, are too long, or are not UTF-8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
}

words! {
    /// Whose environment a check had.
    EnvironmentSource {
        /// The task's author's, as stored with the task.
        Author = "author",
        /// A fixed one: the task was stored by a version that kept no environment.
        Fixed = "fixed",
    }
}

/// What is recorded of the environment that a check had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentSeen {
    pub source: EnvironmentSource,
    pub names: Vec<String>,
    /// Of the names and values, without those of `passed`.
    pub digest: String,
    /// Names whose values the author takes from the environment of the process that runs the checks, with `env:NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    /// Variables of the author that could not be stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
}

/// Whether the variable is one of those that are stored.
pub fn is_stored(name: &str) -> bool {
    STORED.contains(&name) || name.starts_with(STORED_PREFIX)
}

impl AuthorEnvironment {
    /// Takes what is stored of these variables. `None` is a value that is not UTF-8.
    pub fn of(variables: impl IntoIterator<Item = (String, Option<String>)>) -> Self {
        let mut taken = Self::default();
        let mut set: Vec<_> = variables.into_iter().filter(|(name, _)| is_stored(name)).collect();
        // What is named first is needed most, should not everything fit.
        set.sort_by_key(|(name, _)| STORED.iter().position(|stored| stored == name).unwrap_or(STORED.len()));
        let mut bytes_left = limits::AUTHOR_ENVIRONMENT_BYTES_MAX;
        for (name, value) in set {
            let value = value.map(|value| if name == "PATH" { absolute_entries(&value) } else { value });
            let fits = |value: &String| bytes_left.checked_sub(name.len() + value.len());
            match value
                .filter(|value| can_be_stored(&name, value))
                .and_then(|value| Some((fits(&value)?, value)))
            {
                Some((left, value)) => {
                    bytes_left = left;
                    taken.values.insert(name, value);
                }
                None => taken.omitted.push(name),
            }
        }
        taken.omitted.sort();
        taken
    }

    /// The environment of checks whose author's was not stored.
    pub fn fixed() -> Self {
        let values = FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { values, omitted: Vec::new() }
    }
}

/// A digest of names and values.
pub fn digest_of(values: &BTreeMap<String, String>) -> String {
    let value = serde_json::json!(values);
    digest::of_value(&value).expect("BUG: texts have a canonical form")
}

/// A relative entry would name files of the workspace, which the task writes.
fn absolute_entries(path: &str) -> String {
    path.split(':').filter(|entry| entry.starts_with('/')).collect::<Vec<_>>().join(":")
}

fn can_be_stored(name: &str, value: &str) -> bool {
    value.len() <= limits::AUTHOR_VARIABLE_BYTES_MAX
        && !value.contains('\0')
        && secrets::find(value).is_none()
        && secrets::find(&format!("{name}={value}")).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(variables: &[(&str, Option<&str>)]) -> AuthorEnvironment {
        AuthorEnvironment::of(
            variables.iter().map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned))),
        )
    }

    #[test]
    fn only_the_named_variables_are_stored_and_no_secret() {
        let long = "x".repeat(limits::AUTHOR_VARIABLE_BYTES_MAX + 1);
        let taken = taken(&[
            ("PATH", Some("/usr/bin::./bin:node_modules/.bin:/bin")),
            ("LC_TIME", Some("C")),
            ("CARGO_HOME", None),
            ("HOME", Some("/x/ghp_012345678901234567890123456789012345")),
            ("GOPATH", Some(&long)),
            ("PYTHONPATH", Some("/evil")),
            ("LD_PRELOAD", Some("/evil.so")),
            ("RUSTC_WRAPPER", Some("/evil")),
        ]);
        let values: Vec<_> =
            taken.values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(values, [("LC_TIME", "C"), ("PATH", "/usr/bin:/bin")]);
        assert_eq!(taken.omitted, ["CARGO_HOME", "GOPATH", "HOME"]);
    }

    #[test]
    fn no_stored_variable_makes_a_program_load_or_run_something_else() {
        let dangerous = [
            "PYTHONPATH",
            "PYTHONHOME",
            "PYTHONSTARTUP",
            "MAKEFLAGS",
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_CONFIG_GLOBAL",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "BASH_ENV",
            "ENV",
            "CDPATH",
            "NODE_OPTIONS",
            "NODE_PATH",
            "PERL5OPT",
            "RUBYOPT",
            "RUSTC_WRAPPER",
            "RUSTFLAGS",
            "CARGO_BUILD_RUSTC",
            "GOFLAGS",
            "JAVA_TOOL_OPTIONS",
            "PYTEST_ADDOPTS",
        ];
        assert_eq!(dangerous.map(is_stored), [false; 22]);
    }
}
