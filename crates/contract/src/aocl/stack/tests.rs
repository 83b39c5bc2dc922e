use super::*;

#[test]
fn the_default_stack_is_valid_and_survives_printing() {
    let stack = Stack::standard();
    let printed = serde_json::to_vec(&stack).unwrap();
    let verdict = validate(&printed, true);
    assert_eq!((verdict.code.as_str(), verdict.details.warnings.len()), ("OK", 0));
    assert_eq!(parse(&printed).unwrap(), stack);
    assert_eq!(stack.root(), "L0.ingress.normalize");
    assert!(stack.can_verify());
}

#[test]
fn no_stack_file_allows_skipping_identity_and_policy() {
    let mut stack = Stack::standard();
    assert_eq!(stack.bypass("admin", "L5.context.retrieve"), BypassAnswer::RoleNotAllowed);
    stack.bypass_policy.allowed_roles = vec!["admin".to_owned()];
    stack.bypass_policy.never_bypass = vec!["L8.verify.check".to_owned()];
    stack.defaults.bypass_allowed_for_roles = vec!["ops".to_owned()];
    assert_eq!(stack.bypass("admin", "L5.context.retrieve"), BypassAnswer::Allowed);
    assert_eq!(stack.bypass("ops", "L5.context.retrieve"), BypassAnswer::Allowed);
    for id in ["L1.identity.scope", "L3.policy.gate", "L8.verify.check"] {
        assert_eq!(stack.bypass("admin", id), BypassAnswer::NeverBypassed, "{id}");
    }
}

#[test]
fn a_guard_under_another_name_is_not_skipped_either() {
    let mut stack = Stack::standard();
    stack.bypass_policy.allowed_roles = vec!["admin".to_owned()];
    let StackWalk::Pipeline(steps) = &mut stack.walk else { panic!("the standard stack is a pipeline") };
    steps[3].id = "P.own.gate".to_owned();
    assert_eq!(stack.bypass("admin", "P.own.gate"), BypassAnswer::NeverBypassed);
}

#[test]
fn a_switch_is_on_if_it_is_absent_or_enabled() {
    let switch = |word: Option<&str>| PolicyOverrides {
        tool_execution: word.map(str::to_owned),
        network_access: word.map(str::to_owned),
    };
    for (word, on) in
        [(None, true), (Some("enabled"), true), (Some("disabled"), false), (Some("maybe"), false)]
    {
        let overrides = switch(word);
        assert_eq!((overrides.tools_enabled(), overrides.network_enabled()), (on, on), "{word:?}");
    }
}
