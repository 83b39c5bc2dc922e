//! Paths of another machine in a TASK, and where they are on this one.

use serde_json::Value;

use crate::aop::effective::path;

/// A directory of a TASK, and the directory that stands for it here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathMapping {
    from: String,
    /// In the normalized form, without a slash at its end.
    normal: String,
    to: String,
}

impl PathMapping {
    /// `None` unless `from` is an absolute path of Windows or Unix and `to` is not empty.
    pub fn new(from: &str, to: &str) -> Option<Self> {
        let is_absolute = is_windows(from) || from.starts_with('/');
        let normal = path::normal("/", from).filter(|_| is_absolute)?;
        let to = if to.len() > 1 { to.trim_end_matches('/') } else { to };
        (!to.is_empty()).then(|| Self {
            from: from.to_owned(),
            normal: normal.trim_end_matches('/').to_owned(),
            to: to.to_owned(),
        })
    }

    pub fn from(&self) -> &str {
        &self.from
    }

    pub fn to(&self) -> &str {
        &self.to
    }

    /// Where a path is here, if it is this directory or in it.
    fn apply(&self, path: &str) -> Option<String> {
        let normal = path::normal("/", path).filter(|_| is_windows(path) || path.starts_with('/'))?;
        let rest = normal.strip_prefix(&self.normal)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| {
            let rest = rest.trim_end_matches('/');
            if self.to == "/" && !rest.is_empty() { rest.to_owned() } else { format!("{}{rest}", self.to) }
        })
    }
}

/// Maps every path of a TASK; of several mappings that fit, the longest counts. Says which of them were used.
pub(super) fn apply(task: &mut Value, mappings: &[PathMapping]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..mappings.len()).collect();
    // Of two for the same directory the first counts.
    order.sort_by_key(|&index| std::cmp::Reverse(mappings[index].normal.len()));
    let mut used = vec![false; mappings.len()];
    paths(task, &mut |_, path| {
        let found = order.iter().find_map(|&index| Some((index, mappings[index].apply(path)?)));
        if let Some((index, mapped)) = found {
            used[index] = true;
            *path = mapped;
        }
    });
    used
}

/// The paths of a TASK that are of Windows, each with its place.
pub(super) fn foreign(task: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    // They are visited where they could be changed, which nobody does here.
    paths(&mut task.clone(), &mut |place, path| {
        if is_windows(path) {
            found.push((place.to_owned(), path.clone()));
        }
    });
    found
}

fn is_windows(path: &str) -> bool {
    let bytes = path.as_bytes();
    let has_drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    has_drive || path.starts_with("\\\\")
}

type Visit<'v> = dyn FnMut(&str, &mut String) + 'v;

/// Visits every path field of a TASK. Commands are no paths, even where they name some.
fn paths(task: &mut Value, visit: &mut Visit<'_>) {
    if let Some(environment) = task.pointer_mut("/task/environment") {
        field(environment, "$.task.environment", "workspace_root", visit);
    }
    each(task, "$.task.inputs", |input, at| field(input, at, "path", visit));
    each(task, "$.task.expected_outputs", |output, at| product(output, at, visit));
    for name in ["read_paths", "write_paths"] {
        each(task, &format!("$.task.access.filesystem.{name}"), |path, at| {
            if let Value::String(path) = path {
                visit(at, path);
            }
        });
    }
    each(task, "$.phases", |phase, at| {
        below(phase, "checkpoints", at, |point, at| {
            below(point, "expected_artifacts", at, |made, at| product(made, at, visit));
        });
    });
}

fn product(product: &mut Value, at: &str, visit: &mut Visit<'_>) {
    field(product, at, "path", visit);
    if let Some(snapshot) = product.get_mut("rollback_snapshot") {
        field(snapshot, &format!("{at}.rollback_snapshot"), "snapshot_path", visit);
    }
}

fn field(object: &mut Value, at: &str, name: &str, visit: &mut Visit<'_>) {
    if let Some(Value::String(path)) = object.get_mut(name) {
        visit(&format!("{at}.{name}"), path);
    }
}

/// Visits the items of the list at a path of the TASK.
fn each(task: &mut Value, at: &str, visit: impl FnMut(&mut Value, &str)) {
    let pointer = at.trim_start_matches('$').replace('.', "/");
    items(task.pointer_mut(&pointer), at, visit);
}

/// The same for a list in an object at `at`.
fn below(object: &mut Value, name: &str, at: &str, visit: impl FnMut(&mut Value, &str)) {
    items(object.get_mut(name), &format!("{at}.{name}"), visit);
}

fn items(list: Option<&mut Value>, at: &str, mut visit: impl FnMut(&mut Value, &str)) {
    for (index, item) in list.and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
        visit(item, &format!("{at}[{index}]"));
    }
}

#[cfg(test)]
mod tests;
