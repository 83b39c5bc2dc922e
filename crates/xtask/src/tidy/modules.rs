//! Source files that are not compiled: a forgotten `mod` line is a test that never runs.

use super::Violation;
use super::tree::{File, Tree};

/// Test binaries: the tests of every crate, and those with real agent programs, which a plain run leaves out.
const TEST_ROOTS: &[&str] = &["tests/it", "tests/agents"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust().filter_map(|file| judge(tree, file)).collect()
}

fn judge(tree: &Tree, file: &File) -> Option<Violation> {
    let (folder, name) = file.path.rsplit_once('/')?;
    let name = name.strip_suffix(".rs")?;
    if name == "mod" {
        let message = format!("is named mod.rs; rename it to {folder}.rs");
        return Some(Violation::new("mod-file", &file.path, 0, message));
    }
    let (crate_dir, inside) = split_crate(folder)?;
    if inside == "tests" {
        let message = "is a separate test binary; make it a module of tests/it/main.rs";
        return Some(Violation::new("test-binary", &file.path, 0, message));
    }
    if is_root(inside, name) {
        return None;
    }
    let parents = parents(crate_dir, inside);
    let declared = parents.iter().filter_map(|path| tree.file(path)).any(|parent| declares(parent, name));
    if declared {
        return None;
    }
    let message = format!("is not compiled: no `mod {name};` in {}", parents.join(" or "));
    Some(Violation::new("forgotten-file", &file.path, 0, message))
}

/// Splits `crates/store/src/sqlite` into `crates/store` and `src/sqlite`; `None` for files outside a crate's code.
fn split_crate(folder: &str) -> Option<(&str, &str)> {
    let at = ["/src", "/tests"].iter().filter_map(|part| folder.find(part)).min()?;
    let (crate_dir, inside) = (&folder[..at], &folder[at + 1..]);
    let in_crates = crate_dir.strip_prefix("crates/").is_some_and(|rest| !rest.contains('/'));
    in_crates.then_some((crate_dir, inside))
}

fn is_root(inside: &str, name: &str) -> bool {
    let crate_root = inside == "src" && matches!(name, "lib" | "main");
    let program = inside == "src/bin" || (inside.starts_with("src/bin/") && name == "main");
    let tests = TEST_ROOTS.contains(&inside) && name == "main";
    crate_root || program || tests
}

/// Where a module in this folder has to be declared.
fn parents(crate_dir: &str, inside: &str) -> Vec<String> {
    match inside {
        "src" => vec![format!("{crate_dir}/src/lib.rs"), format!("{crate_dir}/src/main.rs")],
        _ if TEST_ROOTS.contains(&inside) => vec![format!("{crate_dir}/{inside}/main.rs")],
        _ if inside.strip_prefix("src/bin/").is_some_and(|rest| !rest.contains('/')) => {
            vec![format!("{crate_dir}/{inside}/main.rs"), format!("{crate_dir}/{inside}.rs")]
        }
        _ => vec![format!("{crate_dir}/{inside}.rs")],
    }
}

fn declares(parent: &File, name: &str) -> bool {
    let module = format!("mod {name};");
    let by_path = format!("{name}.rs\"");
    parent.lines().any(|(_, line)| {
        let code = line.trim_start();
        if code.starts_with("//") {
            return false;
        }
        let visible = code.strip_prefix("pub ").or_else(|| {
            code.strip_prefix("pub(").and_then(|rest| rest.split_once(") ")).map(|(_, rest)| rest)
        });
        visible.unwrap_or(code).starts_with(&module)
            || (code.starts_with("#[path") && code.contains(&by_path))
    })
}
