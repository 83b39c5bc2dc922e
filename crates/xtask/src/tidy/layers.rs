//! Layers inside `contract`: a module uses its own layer and the ones below.

use super::Violation;
use super::tree::{File, Tree};

const ROOT: &str = "crates/contract/src/";

/// From the bottom to the top: the domain and what it is written in, the published contracts, and the documents of users,
/// which become plans. A module that is in none of them belongs to the bottom.
const LAYERS: &[(&str, &[&str])] = &[
    ("the domain", &["domain"]),
    ("the published contracts", &["aee", "aocl", "aop", "bridge", "continuity", "operator"]),
    ("the documents of users", &["conformance", "convert", "intake", "plan", "validate"]),
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust().filter(|file| !file.is_test()).flat_map(of_file).collect()
}

fn of_file(file: &File) -> Vec<Violation> {
    let Some(inside) = file.path.strip_prefix(ROOT) else { return Vec::new() };
    let module = inside.split(['/', '.']).next().unwrap_or_default();
    if module == "lib" {
        return Vec::new();
    }
    let own = layer(module);
    let code = file.lines().filter(|(_, line)| !line.trim_start().starts_with("//"));
    let above = code.flat_map(|(at, line)| used(line).map(move |name| (at, name)));
    let above = above.filter(|(_, name)| layer(name) > own);
    let message =
        |name: &str| format!("`{module}` may not use `{name}`, which belongs to {}", LAYERS[layer(name)].0);
    above.map(|(at, name)| Violation::new("layer", &file.path, at, message(name))).collect()
}

/// The modules of the crate that a line names.
fn used(line: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    line.split("crate::").skip(1).filter_map(move |rest| rest.split(|c| !is_name(c)).next())
}

fn layer(module: &str) -> usize {
    LAYERS.iter().position(|(_, modules)| modules.contains(&module)).unwrap_or(0)
}
