//! Which crate may use which: dependencies between our crates, and third-party crates that only some may use.

use serde_json::Value;

use super::Violation;
use super::tree::Tree;

/// Every allowed dependency. ARCHITECTURE.md repeats the table in a block fenced with ```` ```crates ````.
pub(super) const EDGES: &[(&str, &[&str])] = &[
    ("contract", &[]),
    ("store", &["contract"]),
    ("ops", &["contract", "store"]),
    ("engine", &["contract", "ops"]),
    ("server", &["contract", "ops"]),
    ("cli", &["contract", "ops", "engine", "server"]),
    ("testkit", &["contract", "store"]),
    ("xtask", &[]),
];

/// Only tests may use it.
const TESTS_ONLY: &str = "testkit";

/// Third-party crates that only some of our crates may use, also in tests.
const WALLS: &[(&str, &[&str])] = &[
    ("rusqlite", &["store"]),
    ("libsqlite3-sys", &["store"]),
    ("axum", &["server"]),
    ("hyper", &["server"]),
    ("tokio", &["server"]),
    ("tower", &["server"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("jsonc-parser", &["cli"]),
    ("ratatui", &["cli"]),
    ("unicode-width", &["cli"]),
    ("vt100", &["cli"]),
    ("serde-saphyr", &["contract"]),
    ("strsim", &["contract"]),
    ("hmac", &["store"]),
    ("libc", &["engine"]),
    ("landlock", &["engine"]),
    ("httparse", &["engine"]),
    ("rustix", &["engine", "cli", "store", "testkit"]),
    ("signal-hook", &["engine", "cli", "store", "testkit"]),
];

struct Dependency<'a> {
    from: &'a str,
    to: &'a str,
    in_tests: bool,
}

pub(super) fn check(metadata: &Value, tree: &Tree) -> Vec<Violation> {
    let members: Vec<&str> = packages(metadata).map(name).collect();
    let dependencies: Vec<Dependency<'_>> = packages(metadata).flat_map(dependencies).collect();
    let mut found = Vec::new();
    for member in members.iter().filter(|member| allowed(member).is_none()) {
        let message = format!("`{member}` is not in the table of crates; a new crate is a decision");
        found.push(Violation::new("crate-edge", &manifest(member), 0, message));
    }
    for dependency in &dependencies {
        if members.contains(&dependency.to) {
            found.extend(forbidden_edge(dependency, tree));
        }
        found.extend(forbidden_user(dependency, tree));
    }
    found.extend(described(tree));
    found
}

fn forbidden_edge(dependency: &Dependency<'_>, tree: &Tree) -> Option<Violation> {
    let Dependency { from, to, in_tests } = dependency;
    let may = allowed(from).is_some_and(|allowed| allowed.contains(to));
    if may || (*in_tests && *from != "xtask") {
        return None;
    }
    let message = if *to == TESTS_ONLY {
        format!("`{from}` may use `{to}` only as a dev-dependency")
    } else {
        format!("`{from}` may not depend on `{to}`")
    };
    Some(Violation::new("crate-edge", &manifest(from), line_of(tree, from, to), message))
}

fn forbidden_user(dependency: &Dependency<'_>, tree: &Tree) -> Option<Violation> {
    let Dependency { from, to, .. } = dependency;
    let (_, users) = WALLS.iter().find(|(walled, _)| walled == to)?;
    if users.contains(from) {
        return None;
    }
    let message = format!("`{to}` is only for {}", users.join(", "));
    Some(Violation::new("wall", &manifest(from), line_of(tree, from, to), message))
}

/// Compares the table in ARCHITECTURE.md with the one above.
fn described(tree: &Tree) -> Vec<Violation> {
    let Some(page) = tree.file("ARCHITECTURE.md") else { return Vec::new() };
    let mut block = page.lines().skip_while(|(_, line)| line.trim() != "```crates");
    let Some((opening, _)) = block.next() else {
        let message = "has no block fenced with ```crates that lists `crate: what it may use`";
        return vec![Violation::new("crate-edge", &page.path, 0, message)];
    };
    let rows: Vec<(usize, &str)> = block.take_while(|(_, line)| line.trim() != "```").collect();
    let mut found = Vec::new();
    for (crate_name, uses) in EDGES {
        let expected =
            format!("{crate_name}: {}", if uses.is_empty() { "-".to_owned() } else { uses.join(", ") });
        let row = rows.iter().find(|(_, row)| row.split(':').next().map(str::trim) == Some(crate_name));
        match row {
            None => {
                let message = format!("the table of crates lacks `{expected}`");
                found.push(Violation::new("crate-edge", &page.path, opening, message));
            }
            Some((line, row)) if normal(row) != normal(&expected) => {
                let message = format!("the table of crates has `{}`, expected `{expected}`", row.trim());
                found.push(Violation::new("crate-edge", &page.path, *line, message));
            }
            Some(_) => {}
        }
    }
    found
}

/// A row, independent of spaces and of the order of its list.
fn normal(row: &str) -> (String, Vec<String>) {
    let (name, uses) = row.split_once(':').unwrap_or((row, ""));
    let mut uses: Vec<String> = uses
        .split(',')
        .map(|used| used.trim().to_owned())
        .filter(|used| !used.is_empty() && used != "-")
        .collect();
    uses.sort_unstable();
    (name.trim().to_owned(), uses)
}

fn allowed(member: &str) -> Option<&'static [&'static str]> {
    EDGES.iter().find(|(name, _)| *name == member).map(|(_, uses)| *uses)
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}

fn dependencies(package: &Value) -> impl Iterator<Item = Dependency<'_>> {
    package["dependencies"].as_array().into_iter().flatten().map(|dependency| Dependency {
        from: name(package),
        to: name(dependency),
        in_tests: dependency["kind"] == "dev",
    })
}

fn manifest(member: &str) -> String {
    format!("crates/{member}/Cargo.toml")
}

/// Where the manifest names the dependency; 0 when it cannot be found.
fn line_of(tree: &Tree, from: &str, to: &str) -> usize {
    let Some(file) = tree.file(&manifest(from)) else { return 0 };
    let names = |line: &str| line.strip_prefix(to).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
    file.lines().find(|(_, line)| names(line)).map_or(0, |(number, _)| number)
}
