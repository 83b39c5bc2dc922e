//! What names of tasks and runs mean.

use contract::domain::code::ErrorCode;
use contract::domain::run::RunId;
use ops::names::{Names, last};
use ops::run::retry;
use ops::task;

use crate::world::{World, begin, key, set_status, submit};

/// Submits a plan in a workspace. Later calls are newer.
fn run_in(world: &mut World, workspace: &str, names: &[&str]) -> RunId {
    world.clock().advance(std::time::Duration::from_millis(5));
    let mut request = submit(names);
    request.workspace = workspace.to_owned();
    request.document_digest = format!("{workspace} {}", world.state().1.events);
    let key = key("setup", &request.document_digest.clone());
    ops::run::accept::submit(&mut world.cx, &key, &request).unwrap().answer.run_id
}

fn in_project(project: &str) {
    let project = Some(project.to_owned());
    crate::world::understand_names(Names { project, ..Names::default() });
}

/// In a directory that is in no project.
fn in_directory(directory: &str) {
    let directory = Some(directory.to_owned());
    crate::world::understand_names(Names { directory, ..Names::default() });
}

fn id_of(world: &mut World, name: &str) -> Result<String, ErrorCode> {
    task::get::get(&mut world.cx, &crate::world::reader(), name)
        .map(|task| task.id.to_string())
        .map_err(|error| error.code)
}

#[test]
fn a_task_has_one_id_and_many_names() {
    let mut world = World::new();
    let run = world.run(&["build", "tests"]);
    let tests = world.task_of(&run, "tests").id.to_string();
    let uuid = run.uuid().unwrap();
    for name in [
        tests.as_str(),
        "tests",
        "tes",
        "T-2",
        &tests[..tests.len() - 1],
        &tests["task_".len()..],
        &format!("{run}/tests"),
        &format!("{run}/T-2"),
        &format!("{run}/{tests}"),
        &format!("{uuid}/tests"),
        "@last/tests",
    ] {
        assert_eq!(id_of(&mut world, name).as_deref(), Ok(tests.as_str()), "{name}");
    }
    for unknown in
        ["nothing", "T-3", "T-0", "task_nothing", "@last/nothing", "", "task_", "nowhere/tests", "\u{1b}[31m"]
    {
        let code = id_of(&mut world, unknown).unwrap_err();
        let allowed = [ErrorCode::NotFound, ErrorCode::InvalidInput, ErrorCode::Ambiguous];
        assert!(allowed.contains(&code), "{unknown}: {code:?}");
    }
}

#[test]
fn an_id_of_a_plan_means_the_newest_run_of_the_project_that_has_it() {
    let mut world = World::new();
    let old = run_in(&mut world, "/pr", &["build", "tests"]);
    let new = run_in(&mut world, "/pr/sub", &["build"]);
    let other = run_in(&mut world, "/elsewhere", &["build", "tests", "docs"]);
    in_project("/pr");
    for (name, run) in [("build", &new), ("tests", &old), ("T-1", &new), ("T-2", &old)] {
        let expected = match name {
            "T-1" => "build",
            "T-2" => "tests",
            name => name,
        };
        let expected = world.task_of(run, expected).id.to_string();
        assert_eq!(id_of(&mut world, name), Ok(expected), "{name}");
    }
    let error = task::get::get(&mut world.cx, &crate::world::reader(), "docs").unwrap_err();
    assert_eq!(error.message, "no run of the project /pr has a task `docs`");
    let full = format!("{other}/docs");
    assert!(error.hint.unwrap().contains(&full));
    let expected = world.task_of(&other, "docs").id.to_string();
    assert_eq!(id_of(&mut world, &full), Ok(expected));
    in_project("/elsewhere");
    let expected = world.task_of(&other, "build").id.to_string();
    assert_eq!(id_of(&mut world, "build"), Ok(expected));
}

#[test]
fn a_name_of_several_things_is_refused_with_the_candidates() {
    let mut world = World::new();
    world.run(&["test-a", "test-b", "docs"]);
    let error = task::get::get(&mut world.cx, &crate::world::reader(), "test").unwrap_err();
    assert_eq!(error.code, ErrorCode::Ambiguous);
    assert_eq!(error.details["candidates"], serde_json::json!(["test-a", "test-b"]));
    let error = task::get::get(&mut world.cx, &crate::world::reader(), "task_").unwrap_err();
    assert_eq!(error.code, ErrorCode::Ambiguous);
    assert_eq!(error.details["candidates"].as_array().unwrap().len(), 3);
    let error = task::get::get(&mut world.cx, &crate::world::reader(), "misc").unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::NotFound, "task not found: misc"));
    assert!(error.hint.unwrap().contains("docs, test-a, test-b"));
}

#[test]
fn candidates_are_bounded() {
    let mut world = World::new();
    let names: Vec<String> = (0..40).map(|number| format!("t{number}")).collect();
    world.run(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for name in ["t", "task_", "nothing"] {
        let error = task::get::get(&mut world.cx, &crate::world::reader(), name).unwrap_err();
        assert_eq!(error.details["candidates"].as_array().unwrap().len(), 10, "{name}");
    }
}

#[test]
fn only_whole_ids_are_names_where_the_agent_contract_says_so() {
    let mut world = World::new();
    let run = world.run(&["tests"]);
    let whole = world.task_of(&run, "tests").id.to_string();
    crate::world::understand_names(Names { only_ids: true, ..Names::default() });
    assert_eq!(id_of(&mut world, &whole).as_deref(), Ok(whole.as_str()));
    for name in ["tests", "T-1", &whole[..whole.len() - 1]] {
        let error = task::get::get(&mut world.cx, &crate::world::reader(), name).unwrap_err();
        assert_eq!(error.message, format!("task not found: {name}"));
    }
}

#[test]
fn a_repeated_request_gets_its_answer_whatever_its_name_means_by_now() {
    let mut world = World::new();
    let one = world.task("one");
    let prefix = &one[..one.len() - 1];
    let delete = task::delete::Request { id: prefix.to_owned() };
    let first = task::delete::delete(&mut world.cx, &key("ann", "d"), &delete).unwrap();
    let again = task::delete::delete(&mut world.cx, &key("ann", "d"), &delete).unwrap();
    assert_eq!((again.answer, again.replayed), (first.answer, true));

    run_in(&mut world, "/pr", &["a"]);
    let begun = task::begin::begin(&mut world.cx, &key("ann", "b"), &begin("a")).unwrap();
    run_in(&mut world, "/pr", &["a"]);
    let again = task::begin::begin(&mut world.cx, &key("ann", "b"), &begin("a")).unwrap();
    assert_eq!((again.answer, again.replayed), (begun.answer, true));
    let blocked = set_status("a", "blocked");
    let newest = task::set_status::set_status(&mut world.cx, &key("ann", "s"), &blocked).unwrap();
    assert_ne!(newest.answer.task.id, again_id(&mut world));
}

/// The task `a` of the older of two runs.
fn again_id(world: &mut World) -> String {
    let runs = ops::run::list::rows(&mut world.cx, None, 2).unwrap();
    let older = runs.last().unwrap().asked.id.clone();
    world.task_of(&older, "a").id.to_string()
}

#[test]
fn the_last_run_is_the_newest_of_the_project_or_directory() {
    let mut world = World::new();
    let show = |world: &mut World, name: &str| {
        ops::run::show::show(&mut world.cx, &crate::world::reader(), name)
            .map(|whole| whole.run.asked.id)
            .map_err(|error| error.code)
    };
    assert_eq!(show(&mut world, "@last"), Err(ErrorCode::NotFound));
    let own = run_in(&mut world, "/pr", &["a"]);
    let newest = run_in(&mut world, "/elsewhere", &["a"]);
    assert_eq!(show(&mut world, "@last"), Ok(newest.clone()));
    in_project("/pr");
    assert_eq!(show(&mut world, "@last"), Ok(own.clone()));
    in_directory("/elsewhere");
    for place in ["/elsewhere", "/", "/elsewhere/below"] {
        in_directory(place);
        assert_eq!(show(&mut world, "@last"), Ok(newest.clone()), "{place}");
    }
    in_directory("/else");
    assert_eq!(show(&mut world, "@last"), Err(ErrorCode::NotFound));
    in_project("/empty");
    assert_eq!(show(&mut world, "@last"), Err(ErrorCode::NotFound));
    for name in [own.as_str(), &own.as_str()[..20], &own.as_str()["run_".len()..20], &own.uuid().unwrap()] {
        assert_eq!(show(&mut world, name), Ok(own.clone()), "{name}");
    }
    assert_eq!(show(&mut world, "run_"), Err(ErrorCode::Ambiguous));
    assert_eq!(show(&mut world, ""), Err(ErrorCode::NotFound));
}

fn cancel_again(world: &mut World, request: &str, name: &str) -> ops::Reply<ops::run::cancel::Answer> {
    let cancel = ops::run::cancel::Request { id: name.to_owned(), reason: None };
    ops::run::cancel::cancel(&mut world.cx, &key("ann", request), &cancel).unwrap()
}

#[test]
fn a_repeated_cancel_or_retry_gets_its_answer_although_the_newest_run_is_another_one() {
    let mut world = World::new();
    let first = run_in(&mut world, "/pr", &["a"]);
    let by_name = retry::Request { task_id: Some("a".to_owned()), run: None };
    let by_run = retry::Request { task_id: None, run: Some("@last".to_owned()) };
    let canceled = cancel_again(&mut world, "c", "@last");
    assert_eq!(canceled.answer.id, first.to_string());
    let named = retry::retry(&mut world.cx, &key("ann", "by name"), &by_name).unwrap();
    cancel_again(&mut world, "c2", "a");
    let last = retry::retry(&mut world.cx, &key("ann", "by run"), &by_run).unwrap();
    assert_eq!((named.answer.run_id.clone(), last.answer.run_id.clone()), (first.clone(), first));
    run_in(&mut world, "/pr", &["b"]);
    run_in(&mut world, "/pr", &["a"]);

    let again = cancel_again(&mut world, "c", "@last");
    assert_eq!((again.answer, again.replayed), (canceled.answer, true));
    assert!(cancel_again(&mut world, "c2", "a").replayed);
    let again = retry::retry(&mut world.cx, &key("ann", "by name"), &by_name).unwrap();
    assert_eq!((again.answer, again.replayed), (named.answer, true));
    let again = retry::retry(&mut world.cx, &key("ann", "by run"), &by_run).unwrap();
    assert_eq!((&again.answer, again.replayed), (&last.answer, true));
    let again = last::call::<retry::Retry>(&mut world.cx, &key("ann", "by run"), &by_run).unwrap();
    assert_eq!((again.answer, again.replayed), (last.answer, true));
    let other = retry::Request { task_id: Some("b".to_owned()), run: None };
    let error = retry::retry(&mut world.cx, &key("ann", "by name"), &other).unwrap_err();
    assert_eq!(error.code, ErrorCode::IdempotencyKeyReused);
}

#[test]
fn a_crews_verb_that_is_repeated_with_the_last_run_gets_its_answer() {
    let mut world = World::new();
    run_in(&mut world, "/pr", &["a"]);
    let set = ops::budget::set::Request {
        run: "@last".to_owned(),
        cost: Some(contract::domain::money::MicroUsd(5)),
        tokens: None,
    };
    let call = |world: &mut World| {
        last::call::<ops::budget::set::Set>(&mut world.cx, &key("ann", "set"), &set).unwrap()
    };
    let first = call(&mut world);
    run_in(&mut world, "/pr", &["a"]);
    let again = call(&mut world);
    assert_eq!((again.answer, again.replayed), (first.answer, true));
}

#[test]
fn nothing_changes_a_run_of_another_project_that_is_not_named() {
    for enter in [in_project, in_directory] {
        nothing_changes_in_another_place(enter);
    }
}

fn nothing_changes_in_another_place(enter: fn(&str)) {
    let mut world = World::new();
    let elsewhere = run_in(&mut world, "/elsewhere", &["a"]);
    enter("/empty");
    let cancel = ops::run::cancel::Request { id: "@last".to_owned(), reason: None };
    let retry = retry::Request { task_id: None, run: Some("@last".to_owned()) };
    let go_on = ops::run::continue_run::Request { run: "@last".to_owned(), ..Default::default() };
    let by_name = retry::Request { task_id: Some("a".to_owned()), run: None };
    let cancel_name = ops::run::cancel::Request { id: "a".to_owned(), reason: None };
    let errors = [
        retry::retry(&mut world.cx, &key("ann", "n"), &by_name).unwrap_err(),
        ops::run::cancel::cancel(&mut world.cx, &key("ann", "m"), &cancel_name).unwrap_err(),
        ops::run::cancel::cancel(&mut world.cx, &key("ann", "c"), &cancel).unwrap_err(),
        retry::retry(&mut world.cx, &key("ann", "r"), &retry).unwrap_err(),
        ops::run::continue_run::continue_run(&mut world.cx, &key("ann", "x"), &go_on).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code, ErrorCode::NotFound);
        assert!(error.message.contains("/empty"), "{}", error.message);
        assert!(error.hint.unwrap().contains(elsewhere.as_str()));
    }
}

#[test]
fn a_prefix_of_several_runs_is_refused_with_the_candidates() {
    let mut world = World::new();
    let runs = [run_in(&mut world, "/pr", &["a"]), run_in(&mut world, "/pr", &["a"])];
    let error = ops::run::show::show(&mut world.cx, &crate::world::reader(), "run_").err().unwrap();
    assert_eq!(error.message, "`run_` matches more than one run");
    let listed = error.details["candidates"].as_array().unwrap();
    assert!(runs.iter().all(|run| listed.contains(&run.as_str().into())), "{listed:?}");
}
