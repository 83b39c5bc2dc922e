//! The environment of a check: its author's, what the plan adds, and where the store is. Nothing of it comes from
//! whoever completes the task, except what the author takes from there by name.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use contract::domain::environment::{
    AuthorEnvironment, EnvironmentSeen, EnvironmentSource, digest_of, is_stored,
};
use contract::secrets::Hidden;

use super::CheckLocation;

/// Variables by which a check that calls writ finds this store. They are writ's own and not the caller's.
const OWN: &[&str] = &["WRIT_DB", "WRIT_OUTPUT"];

pub(crate) struct CheckEnvironment {
    pub(crate) variables: BTreeMap<OsString, OsString>,
    /// Values that are never stored.
    pub(crate) hidden: Hidden,
    pub(crate) seen: EnvironmentSeen,
}

pub(crate) fn of(place: &CheckLocation<'_>) -> CheckEnvironment {
    let (source, author) = match place.author {
        Some(author) => (EnvironmentSource::Author, author.clone()),
        None => (EnvironmentSource::Fixed, AuthorEnvironment::fixed()),
    };
    let mut values = author.values;
    let mut passed = BTreeMap::new();
    let mut hidden = Hidden::default();
    for (name, value) in place.task_env {
        let Some(named) = value.strip_prefix("env:") else {
            values.insert(name.clone(), value.clone());
            continue;
        };
        values.remove(name);
        let stored = place.author.and_then(|author| author.values.get(named)).filter(|_| is_stored(named));
        if let Some(value) = stored {
            values.insert(name.clone(), value.clone());
        } else if let Some(value) = place.environment.get(OsStr::new(named)) {
            hidden.add(&value.to_string_lossy());
            passed.insert(name.clone(), value.clone());
        }
    }
    let own = OWN.iter().filter_map(|name| {
        let value = place.environment.get(OsStr::new(name))?;
        Some((OsString::from(name), value.clone()))
    });
    let text = |(name, value): (&String, &String)| (OsString::from(name), OsString::from(value));
    let seen = EnvironmentSeen {
        source,
        names: values.keys().chain(passed.keys()).cloned().collect(),
        digest: digest_of(&values),
        passed: passed.keys().cloned().collect(),
        omitted: author.omitted,
    };
    let variables = own
        .chain(values.iter().map(text))
        .chain(passed.into_iter().map(|(name, value)| (OsString::from(name), value)))
        .collect();
    CheckEnvironment { variables, hidden, seen }
}
