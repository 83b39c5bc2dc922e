use super::*;

fn rules() -> Policy {
    Policy { deny_executors: vec!["codex".to_owned()], deny_shell: true, ..Policy::default() }
}

fn asked(action: PolicyAction, resource: &PolicyResource<'_>, policy: &Policy) -> Option<Denial> {
    authorize("human.ann", action, resource, policy).denial()
}

fn task<'t>(executors: &[&'t str], uses_shell: bool) -> PolicyResource<'t> {
    PolicyResource::Task { name: "a", executors: executors.to_vec(), uses_shell }
}

#[test]
fn a_task_may_use_neither_a_listed_executor_nor_a_shell() {
    let run = |resource: &PolicyResource<'_>| asked(PolicyAction::Run, resource, &rules());
    assert_eq!(run(&task(&["shell", "claude"], false)), None);
    let listed = Denial {
        rule: DenyRule::Executor("codex".to_owned()),
        text: "task `a` is denied: policy.deny_executors has `codex`".to_owned(),
    };
    assert_eq!(run(&task(&["claude", "codex"], true)), Some(listed));
    let shell =
        Denial { rule: DenyRule::Shell, text: "task `a` is denied: policy.deny_shell is set".to_owned() };
    assert_eq!(run(&task(&["shell"], true)), Some(shell));
    assert_eq!(asked(PolicyAction::Run, &task(&["codex"], true), &Policy::default()), None);
}

#[test]
fn a_check_may_not_use_a_shell() {
    let check = |uses_shell| PolicyResource::Check { line: "make | tail", uses_shell };
    assert_eq!(asked(PolicyAction::Run, &check(false), &rules()), None);
    let denied = asked(PolicyAction::Run, &check(true), &rules()).unwrap();
    assert_eq!(denied.text, "check `make | tail` is denied: policy.deny_shell is set");
}

#[test]
fn commands_of_a_project_run_while_a_person_trusts_them() {
    let cases = [
        (TrustState::Trusted, true, true),
        (TrustState::Changed, true, false),
        (TrustState::Untrusted, false, false),
        (TrustState::NoCommands, false, true),
        (TrustState::NoCommands, true, false),
    ];
    for (trust, was_trusted, allowed) in cases {
        let project = PolicyResource::Project { directory: "/w", trust, was_trusted };
        let denied = asked(PolicyAction::UseCommands, &project, &Policy::default());
        let expected = (!allowed).then_some(DenyRule::Untrusted(trust));
        assert_eq!(denied.map(|denied| denied.rule), expected, "{trust:?} {was_trusted}");
    }
}

#[test]
fn a_project_cannot_loosen_the_users_settings() {
    let code = |name, value| {
        let denied = asked(PolicyAction::Configure, &PolicyResource::Setting { name, value }, &rules());
        denied.map(|denied| denied.rule.code())
    };
    let cases = [
        ("sandbox.mode", Some("enforce"), None),
        ("sandbox.mode", Some("off"), Some("misplaced")),
        ("sandbox.credentials", None, Some("misplaced")),
        ("prices", None, Some("misplaced")),
        ("aop.fallback", Some("refuse"), None),
        ("aop.fallback", Some("v1"), Some("looser")),
        ("aop.audit", Some("audit"), Some("misplaced")),
        ("policy.deny_shell", None, None),
    ];
    for (name, value, expected) in cases {
        assert_eq!(code(name, value), expected, "{name} {value:?}");
    }
}

#[test]
fn an_action_that_no_rule_knows_is_denied() {
    let decision = authorize("human.ann", PolicyAction::Configure, &task(&[], false), &Policy::default());
    assert_eq!(decision.code(), "POLICY_DENY");
    assert_eq!(decision.denial().map(|denied| denied.rule), Some(DenyRule::Undefined));
}
