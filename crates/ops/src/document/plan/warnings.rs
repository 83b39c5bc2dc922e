//! What a plan's author should know about a task that will work, but perhaps not as it is meant.

use std::collections::{BTreeMap, BTreeSet};

use contract::domain::confinement::{GitUse, NetworkUse, SandboxMode};
use contract::domain::pins::{self, Digests, PinRole};
use contract::domain::plan::PlanTask;
use contract::domain::scope::Scope;

use super::Warning;

/// The warnings about one task.
pub(super) fn about(
    (index, task): (usize, &PlanTask),
    workspace: &str,
    digests: &impl Fn(&str, &[&str]) -> Digests,
    is_directory: &impl Fn(&str, &str) -> bool,
) -> Vec<Warning> {
    let paths = pins::candidates(&task.checks, &task.pins, None, workspace);
    let written = paths.keys().filter(|path| is_written(task, workspace, path)).map(String::as_str);
    let wanted: BTreeSet<&str> = written.chain(task.pins.iter().map(Scope::as_str)).collect();
    let wanted: Vec<&str> = wanted.into_iter().collect();
    let found = if wanted.is_empty() { Digests::new() } else { digests(workspace, &wanted) };
    let missing = missing_pins(index, task, &found);
    let unconfined = without_sandbox(index, task);
    let is_there = |scope: &Scope| {
        let digest = || digests(workspace, &[scope.as_str()]).remove(scope.as_str());
        is_directory(workspace, scope.as_str()) || digest().is_some_and(|digest| digest != pins::ABSENT)
    };
    let opened = missing_scopes(index, task, is_there);
    let apart = without_repository(index, task, is_there).into_iter();
    let apart = apart.chain(without_hosts(index, task)).chain(in_repository(index, task));
    let written = warning(index, task, workspace, (&paths, &found));
    missing.into_iter().chain(unconfined).chain(opened).chain(apart).chain(written).collect()
}

/// Whether a task may write there.
fn is_written(task: &PlanTask, workspace: &str, path: &str) -> bool {
    let scope = Scope::parse(path, Some(workspace)).ok();
    scope.is_some_and(|scope| task.writes.iter().any(|written| written.overlaps(&scope)))
}

/// Pins of files that are not there: perhaps their names are wrong.
fn missing_pins(index: usize, task: &PlanTask, found: &Digests) -> Vec<Warning> {
    let missing = |(place, pin): (usize, &Scope)| {
        let is_missing = found.get(pin.as_str()).is_none_or(|digest| digest == pins::ABSENT);
        is_missing.then(|| Warning {
            path: format!("$.task[{index}].pins[{place}]"),
            rule: "pin_missing".to_owned(),
            message: format!("there is no `{pin}` in the workspace"),
        })
    };
    task.pins.iter().enumerate().filter_map(missing).collect()
}

/// What a task may reach is held by its sandbox alone.
fn without_sandbox(index: usize, task: &PlanTask) -> Option<Warning> {
    let field = match (task.network, task.git) {
        (NetworkUse::None | NetworkUse::Restricted, _) => "network",
        (NetworkUse::Full, GitUse::Commit) => "git",
        (NetworkUse::Full, GitUse::Read) => return None,
    };
    (task.sandbox == Some(SandboxMode::Off)).then(|| Warning {
        path: format!("$.task[{index}].{field}"),
        rule: "no_sandbox".to_owned(),
        message: "has no effect, because the task has no sandbox".to_owned(),
    })
}

/// A sandbox has no rule for a file that is not there: it opens the directory that would have it.
fn missing_scopes(index: usize, task: &PlanTask, is_there: impl Fn(&Scope) -> bool) -> Vec<Warning> {
    if task.sandbox != Some(SandboxMode::Enforce) {
        return Vec::new();
    }
    let warn = |(place, scope): (usize, &Scope)| Warning {
        path: format!("$.task[{index}].writes[{place}]"),
        rule: "scope_missing".to_owned(),
        message: format!(
            "there is no `{scope}` yet: the task can make other new files beside it; if it is a directory, write `{scope}/`"
        ),
    };
    let is_open = |(_, scope): &(usize, &Scope)| !task.directories().contains(scope) && !is_there(scope);
    task.writes.iter().enumerate().filter(is_open).map(warn).collect()
}

/// An empty host list is probably an oversight.
fn without_hosts(index: usize, task: &PlanTask) -> Option<Warning> {
    (task.network == NetworkUse::Restricted && task.network_allow.is_empty()).then(|| Warning {
        path: format!("$.task[{index}].network"),
        rule: "no_hosts".to_owned(),
        message: "is restricted to no host; name them in `network_allow`, or use \"none\"".to_owned(),
    })
}

/// No scope opens what is in `.git`.
fn in_repository(index: usize, task: &PlanTask) -> Vec<Warning> {
    let is_inside = |scope: &Scope| scope.as_str().split('/').next() == Some(".git");
    let warn = |place: usize| Warning {
        path: format!("$.task[{index}].writes[{place}]"),
        rule: "in_repository".to_owned(),
        message: "is in `.git`, which is read-only in a sandbox; `git = \"commit\"` lets the task commit"
            .to_owned(),
    };
    let inside = task.writes.iter().enumerate().filter(|(_, scope)| is_inside(scope));
    inside.filter(|_| task.sandbox != Some(SandboxMode::Off)).map(|(place, _)| warn(place)).collect()
}

/// A clone is one of the workspace's repository.
fn without_repository(index: usize, task: &PlanTask, is_there: impl Fn(&Scope) -> bool) -> Option<Warning> {
    let repository = Scope::parse(".git", None).ok()?;
    (task.worktree.is_some() && !is_there(&repository)).then(|| Warning {
        path: format!("$.task[{index}].isolation"),
        rule: "no_repository".to_owned(),
        message: "needs a git repository with a commit, and there is no `.git` in the workspace".to_owned(),
    })
}

/// The task may write what its checks use: if it does, its done is only claimed.
fn warning(
    index: usize,
    task: &PlanTask,
    workspace: &str,
    (paths, found): (&BTreeMap<String, PinRole>, &Digests),
) -> Option<Warning> {
    if task.checks_may_change || task.writes.is_empty() || (task.checks.is_empty() && task.pins.is_empty()) {
        return None;
    }
    let mut used = pins::baseline(paths, found);
    used.retain(|path, _| is_written(task, workspace, path));
    let names: Vec<String> = used.keys().map(|path| format!("`{path}`")).collect();
    (!names.is_empty()).then(|| Warning {
        path: format!("$.task[{index}].writes"),
        rule: "checks_in_writes".to_owned(),
        message: format!(
            "covers {}, which its checks use: if the task changes it, its done is only claimed; narrow `writes`, or say \
             checks_may_change = true",
            names.join(", ")
        ),
    })
}
