//! Files that a task's checks rest on. If one changed since the work began, passed checks show less than their author
//! meant, and done is only claimed.

use std::collections::BTreeMap;

use super::check::{Check, Expects};
use super::scope::Scope;

/// Paths in the workspace with their digests, or what stands in place of a digest.
pub type Digests = BTreeMap<String, String>;

/// There is nothing at the path.
pub const ABSENT: &str = "absent";
/// There is too much to digest, so that nothing can be said about a change.
pub const TOO_LARGE: &str = "too large";
/// The path is not in the workspace.
pub const OUTSIDE: &str = "outside the workspace";
/// How the digest of a regular file begins. Others have another prefix.
const FILE: &str = "sha256:";
/// How the digest of a path begins that is in the workspace and leads out of it.
pub const LINK: &str = "link:";

/// Programs whose first argument is what they run.
const INTERPRETERS: &[&str] =
    &["ash", "bash", "bun", "dash", "deno", "fish", "ksh", "node", "perl", "php", "ruby", "sh", "zsh"];

/// What came before a change: the first attempt or assignment of a task.
pub const WORK_BEGAN: &str = "the work began";

/// Paths that a reason lists by name.
const NAMED_MAX: usize = 5;

/// A path whose change would matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PinRole {
    /// A word of a check. It matters if it is a regular file before the work begins.
    Named,
    /// What a check runs. It matters even if it does not exist yet: then the task would write its own check.
    Program,
    /// The author said that it matters.
    Pinned,
}

/// The paths that matter to these checks, relative to the workspace. `search_path` is the author's `PATH`: a directory
/// of it that lies in the workspace is a place where the task could put a program.
pub fn candidates(
    checks: &[Check],
    pins: &[Scope],
    search_path: Option<&str>,
    workspace: &str,
) -> BTreeMap<String, PinRole> {
    let mut found = BTreeMap::new();
    let mut add = |path: &str, role: PinRole| {
        let path = if path.starts_with("../") { format!("{workspace}/{path}") } else { path.to_owned() };
        // Another name of the workspace may lead to a file in it, which shows when it is digested.
        let scope = Scope::parse(&path, Some(workspace)).or_else(|_| Scope::parse(&path, None));
        if let Ok(scope) = scope
            && scope != Scope::everything()
            && (!scope.is_absolute() || role == PinRole::Named)
        {
            let known = found.entry(scope.to_string()).or_insert(role);
            *known = role.max(*known);
        }
    };
    for check in checks.iter().filter(|check| check.expects != Expects::FileExists) {
        let Some(first) = check.command.first() else { continue };
        if check.shell {
            words_of_script(first).for_each(|word| add(word, PinRole::Named));
            continue;
        }
        for word in &check.command {
            parts_of_word(word).into_iter().for_each(|part| add(part, PinRole::Named));
            // The script of `sh -c`.
            words_of_script(word).for_each(|part| add(part, PinRole::Named));
        }
        if first.contains('/') {
            add(first, PinRole::Program);
        } else {
            let places = search_path.unwrap_or_default().split(':').filter(|place| place.starts_with('/'));
            places.for_each(|place| add(&format!("{place}/{first}"), PinRole::Program));
        }
        if let Some(script) = script_of(check) {
            add(script, PinRole::Program);
        }
    }
    pins.iter().for_each(|pin| add(pin.as_str(), PinRole::Pinned));
    found
}

/// What is remembered before the work begins, of what was found at these paths.
pub fn baseline(candidates: &BTreeMap<String, PinRole>, found: &Digests) -> Digests {
    let matters = |path: &String, digest: &String| match candidates.get(path) {
        Some(PinRole::Named) => digest.starts_with(FILE) || digest.starts_with(LINK),
        Some(PinRole::Program | PinRole::Pinned) => digest != OUTSIDE,
        None => false,
    };
    found
        .iter()
        .filter(|(path, digest)| matters(path, digest))
        .map(|(path, digest)| (path.clone(), digest.clone()))
        .collect()
}

/// Why evidence is withheld although the checks passed; `None` if everything is as it was.
pub fn withheld(before: &Digests, now: &Digests, since: &str) -> Option<String> {
    let value = |path: &String| now.get(path).map_or(ABSENT, String::as_str);
    let too_large = |path: &String, was: &String| was == TOO_LARGE || value(path) == TOO_LARGE;
    let (unknown, known): (Vec<_>, Vec<_>) = before.iter().partition(|(path, was)| too_large(path, was));
    let changed: Vec<&str> = known
        .into_iter()
        .filter(|(path, was)| value(path) != was.as_str())
        .map(|(path, _)| path.as_str())
        .collect();
    let unknown: Vec<&str> = unknown.into_iter().map(|(path, _)| path.as_str()).collect();
    let mut reasons = Vec::new();
    if !changed.is_empty() {
        reasons.push(format!("its checks use {}, which changed since {since}", listed(&changed)));
    }
    if !unknown.is_empty() {
        reasons.push(format!("{} is too large to see whether it changed", listed(&unknown)));
    }
    together(reasons.into_iter().map(Some))
}

/// Why evidence is withheld where nothing was digested before the work began.
pub fn not_digested(candidates: &BTreeMap<String, PinRole>, now: &Digests) -> Option<String> {
    let used = baseline(candidates, now);
    let used: Vec<&str> =
        used.iter().filter(|(_, digest)| *digest != ABSENT).map(|(path, _)| path.as_str()).collect();
    (!used.is_empty()).then(|| {
        format!(
            "{} {} not digested before the work began",
            listed(&used),
            if used.len() == 1 { "was" } else { "were" }
        )
    })
}

/// Several reasons as one.
pub fn together(reasons: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn listed(paths: &[&str]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED_MAX).map(|path| format!("`{path}`")).collect();
    let more = paths.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// The file that an interpreter is told to run.
fn script_of(check: &Check) -> Option<&str> {
    let (program, arguments) = check.command.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let runs_files = INTERPRETERS.contains(&name) || name.starts_with("python");
    // After `-c` or `-m` comes no file.
    let first = arguments.first().filter(|word| runs_files && !word.starts_with('-'))?;
    Some(first)
}

/// A word, and what may be a path in it: `--config=x.toml`, `-fMakefile`, `tests/a.py::test_b`, `a.rs:10`.
fn parts_of_word(word: &str) -> Vec<&str> {
    let value = word.split_once('=').map(|(_, value)| value);
    let mut parts = vec![word];
    parts.extend(value);
    let option = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).map(str::chars);
    parts.extend(option.map(|mut rest| {
        rest.next();
        rest.as_str()
    }));
    parts.extend(word.split_once(':').map(|(path, _)| path));
    parts.retain(|part| !part.is_empty() && !part.starts_with('-'));
    parts
}

/// The words of a script, as well as they can be told without a shell. A file whose name a script computes is not seen.
fn words_of_script(script: &str) -> impl Iterator<Item = &str> {
    let separates = |c: char| c.is_whitespace() || ";|&<>()`$\"'{}".contains(c);
    script.split(separates).flat_map(parts_of_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(checks: &[Check], pins: &[&str]) -> String {
        let pins: Vec<Scope> = pins.iter().map(|pin| Scope::parse(pin, None).unwrap()).collect();
        let found = candidates(checks, &pins, Some("/usr/bin:/w/venv/bin"), "/w");
        found.iter().map(|(path, role)| format!("{path} {role:?}\n")).collect()
    }

    fn check(line: &str) -> Check {
        Check::of_arguments(line.split(' ').map(str::to_owned).collect())
    }

    #[test]
    fn what_a_check_runs_and_names_and_what_its_author_pins_matters() {
        let checks = [
            check("./scripts/check.sh --config=ci.toml"),
            check("python3 tests/run.py"),
            check("pytest /w/tests/a.py::test_b ../outside"),
            Check::of_script("cd sub && sh lint.sh | tee \"log.txt\""),
            Check { expects: Expects::FileExists, ..check("out.txt") },
            Check::of_arguments(["sh", "-ec", ". ./env.sh; sh<\"in.sh\""].map(str::to_owned).into()),
            check("make -frules.mk ../w/dots.sh /alias/linked.sh"),
        ];
        insta::assert_snapshot!(found(&checks, &["Makefile", "tests"]), @r#"
        . ./env.sh; sh<"in.sh" Named
        /alias/linked.sh Named
        /outside Named
        Makefile Pinned
        c Named
        cd Named
        ci.toml Named
        dots.sh Named
        env.sh Named
        in.sh Named
        lint.sh Named
        log.txt Named
        make Named
        pytest Named
        python3 Named
        rules.mk Named
        scripts/check.sh Program
        sh Named
        sub Named
        tee Named
        tests Pinned
        tests/a.py Named
        tests/a.py::test_b Named
        tests/run.py Program
        venv/bin/make Program
        venv/bin/pytest Program
        venv/bin/python3 Program
        venv/bin/sh Program
        "#);
    }

    #[test]
    fn a_named_file_that_does_not_exist_yet_is_an_output_and_a_missing_program_is_not() {
        let roles = candidates(&[check("grep x out.txt"), check("sh check.sh")], &[], None, "/w");
        let digests = |pairs: &[(&str, &str)]| -> Digests {
            pairs.iter().map(|(path, digest)| ((*path).to_owned(), (*digest).to_owned())).collect()
        };
        let nothing = digests(&[("out.txt", ABSENT), ("check.sh", ABSENT), ("x", "tree:sha256:1")]);
        let before = baseline(&roles, &nothing);
        assert_eq!(before, digests(&[("check.sh", ABSENT)]));
        let written = digests(&[("out.txt", "sha256:1"), ("check.sh", "sha256:2")]);
        let reason = "its checks use `check.sh`, which changed since the work began";
        assert_eq!(withheld(&before, &written, WORK_BEGAN).as_deref(), Some(reason));
        assert_eq!(withheld(&before, &before, WORK_BEGAN), None);
        let all = baseline(&roles, &written);
        assert_eq!(withheld(&all, &written, WORK_BEGAN), None);
        assert_eq!(
            withheld(&all, &digests(&[("out.txt", "sha256:9"), ("check.sh", "sha256:2")]), WORK_BEGAN)
                .as_deref(),
            Some("its checks use `out.txt`, which changed since the work began")
        );
        let large = digests(&[("check.sh", TOO_LARGE)]);
        assert_eq!(
            withheld(&large, &large, WORK_BEGAN).as_deref(),
            Some("`check.sh` is too large to see whether it changed")
        );
        let reason = "`check.sh`, `out.txt` were not digested before the work began";
        assert_eq!(not_digested(&roles, &written).as_deref(), Some(reason));
        assert_eq!(not_digested(&roles, &nothing), None);
    }
}
