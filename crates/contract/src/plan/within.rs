//! A plan that a program in a sandbox submits: its tasks get no more than that program has.

use crate::domain::confinement::{Ceiling, Namespace, NetworkUse};
use crate::domain::plan::{Plan, PlanTask};
use crate::domain::workspace::is_within;
use crate::finding::Findings;

/// The rule of every finding here.
const RULE: &str = "exceeds_caller";

/// Gives each task the stricter of what it asks for and what the caller has. What cannot be made stricter is a finding.
pub fn confine(plan: &mut Plan, root: &str, workspace: &str, ceiling: &Ceiling) -> Findings {
    let mut findings = Findings::default();
    for (index, task) in plan.tasks.iter_mut().enumerate() {
        let path = format!("{root}.task[{index}]");
        check(task, &path, workspace, ceiling, &mut findings);
        task.sandbox = task.sandbox.max(Some(ceiling.mode));
        if task.network > ceiling.network {
            task.network = ceiling.network;
            task.network_allow.clone_from(&ceiling.network_allow);
        }
        task.git = task.git.min(ceiling.git);
    }
    findings
}

fn check(task: &PlanTask, path: &str, workspace: &str, ceiling: &Ceiling, findings: &mut Findings) {
    if task.namespace == Namespace::Off {
        let message = "the calling task has a namespace, which its tasks cannot leave".to_owned();
        findings.push(format!("{path}.namespace"), RULE, message);
    }
    if task.worktree.is_some() {
        let message =
            "a task that is started from inside a sandbox cannot have a clone of its own".to_owned();
        findings.push(format!("{path}.isolation"), RULE, message);
    }
    if task.network == NetworkUse::Restricted && ceiling.network == NetworkUse::Restricted {
        for (place, rule) in task.network_allow.iter().enumerate() {
            if !ceiling.network_allow.contains(rule) {
                let message = format!("the calling task may not reach `{rule}` itself");
                findings.push(format!("{path}.network_allow[{place}]"), RULE, message);
            }
        }
    }
    let Some(allowed) = &ceiling.writes else { return };
    for (field, scopes) in [("writes", &task.writes), ("scratch", &task.scratch)] {
        for (place, scope) in scopes.iter().enumerate() {
            let wanted = match scope.as_str() {
                "." => workspace.to_owned(),
                inside if scope.is_absolute() => inside.to_owned(),
                inside => format!("{workspace}/{inside}"),
            };
            if !allowed.iter().any(|open| is_within(&wanted, open)) {
                let message = format!("the calling task may not write `{}` itself", scope.as_str());
                findings.push(format!("{path}.{field}[{place}]"), RULE, message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::confinement::{GitUse, SandboxMode};
    use crate::domain::network::HostRule;
    use crate::domain::scope::Scope;
    use crate::domain::worktree::WorktreeSpec;

    fn ceiling(writes: Option<&[&str]>) -> Ceiling {
        Ceiling {
            workspace: "/w".to_owned(),
            writes: writes.map(|paths| paths.iter().map(|path| (*path).to_owned()).collect()),
            mode: SandboxMode::Enforce,
            network: NetworkUse::None,
            network_allow: Vec::new(),
            git: GitUse::Read,
        }
    }

    fn plan(change: impl FnOnce(&mut PlanTask)) -> Plan {
        let mut task = PlanTask::minimal("a");
        change(&mut task);
        Plan { tasks: vec![task], ..Plan::default() }
    }

    #[test]
    fn a_task_gets_the_stricter_of_what_it_asks_for_and_what_the_caller_has() {
        let mut asked = plan(|task| {
            task.sandbox = Some(SandboxMode::Off);
            task.git = GitUse::Commit;
        });
        assert!(confine(&mut asked, "$", "/w", &ceiling(None)).is_empty());
        let task = &asked.tasks[0];
        assert_eq!(
            (task.sandbox, task.network, task.git),
            (Some(SandboxMode::Enforce), NetworkUse::None, GitUse::Read)
        );
        let mut stricter = plan(|task| task.network = NetworkUse::None);
        let wide = Ceiling { network: NetworkUse::Full, mode: SandboxMode::Prefer, ..ceiling(None) };
        assert!(confine(&mut stricter, "$", "/w", &wide).is_empty());
        assert_eq!(stricter.tasks[0].network, NetworkUse::None);
    }

    #[test]
    fn hosts_are_those_that_the_caller_reaches() {
        let rule = |text: &str| HostRule::try_from(text.to_owned()).unwrap();
        let allow = vec![rule("a.example:443")];
        let limit =
            Ceiling { network: NetworkUse::Restricted, network_allow: allow.clone(), ..ceiling(None) };
        let mut open = plan(|_| {});
        assert!(confine(&mut open, "$", "/w", &limit).is_empty());
        assert_eq!((open.tasks[0].network, &open.tasks[0].network_allow), (NetworkUse::Restricted, &allow));
        let mut other = plan(|task| {
            task.network = NetworkUse::Restricted;
            task.network_allow = vec![rule("a.example:443"), rule("b.example:443")];
        });
        let found = confine(&mut other, "$", "/w", &limit).sorted();
        assert_eq!(
            found.iter().map(|finding| finding.path.as_str()).collect::<Vec<_>>(),
            ["$.task[0].network_allow[1]"]
        );
    }

    #[test]
    fn what_the_caller_may_not_do_is_a_finding_with_its_path() {
        let scope = |text: &str| Scope::parse(text, None).unwrap();
        let found = |plan: &mut Plan| {
            let findings = confine(plan, "$", "/w", &ceiling(Some(&["/w/src", "/w/a.txt"])));
            findings.sorted().iter().map(|finding| finding.path.clone()).collect::<Vec<_>>()
        };
        let mut inside = plan(|task| {
            task.writes = vec![scope("src"), scope("src/deep"), scope("a.txt")];
            task.scratch = vec![scope("src/target")];
        });
        assert_eq!(found(&mut inside), Vec::<String>::new());
        let mut outside = plan(|task| {
            task.writes = vec![scope("src"), scope("srcs"), scope("."), scope("/etc")];
            task.scratch = vec![scope("b.txt")];
        });
        let writes =
            ["$.task[0].scratch[0]", "$.task[0].writes[1]", "$.task[0].writes[2]", "$.task[0].writes[3]"];
        assert_eq!(found(&mut outside), writes);
        let mut free = plan(|task| {
            task.namespace = Namespace::Off;
            task.worktree = Some(WorktreeSpec::default());
        });
        assert_eq!(found(&mut free), ["$.task[0].isolation", "$.task[0].namespace"]);
    }
}
