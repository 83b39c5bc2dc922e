use super::{VERBS, VerbEntry};

#[test]
fn names_and_commands_are_unique_and_every_verb_says_what_it_does() {
    for (i, verb) in VERBS.iter().enumerate() {
        let others = &VERBS[..i];
        assert!(others.iter().all(|other| other.name != verb.name), "{}", verb.name);
        // `cancel` and `logs` take the name of a run or of a task, and the name decides which verb they call; for
        // `lock release` the flag `--force` does, for `session audit` the flag `--write`.
        let shares = verb.command.is_empty()
            || matches!(verb.name, "task.cancel" | "run.logs_of_run" | "lock.force" | "session.write_audit");
        let is_other = |other: &VerbEntry| shares || other.command != verb.command;
        assert!(others.iter().all(is_other), "{}", verb.command);
        assert!(verb.summary.len() > 5 && !verb.summary.ends_with('.'), "{}", verb.name);
    }
}

#[test]
fn requests_of_ours_refuse_unknown_fields() {
    for verb in VERBS {
        let schema = (verb.request_schema)();
        let closed = schema["additionalProperties"] == false;
        // Documents of a published contract follow that contract.
        assert!(closed || schema["x-contract"].is_string(), "{}: {schema:#}", verb.name);
    }
}
