//! The trace of a run is a document of its own: valid, linked, and true.

use contract::aee::Envelope;
use contract::aocl::trace::Strategy;
use contract::aocl::{Bundle, Layer, trace};
use serde_json::{Value, json};
use testkit::Cli;

use crate::documents::{CORR, aee, aop, plan, scripted, shell, speaking, with, writ};
use crate::read_back::{Worked, work};

/// A plan in which much happens: a check that passes, one that does not, a repetition, a task that is skipped.
fn eventful() -> Value {
    let passes = json!({"checks": [{"command": "out.txt", "expects": "FILE_EXISTS"}]});
    let fails = json!({"retries": 1, "checks": [{"command": ["false"]}]});
    plan([
        with(scripted("writes", "write out.txt x"), passes),
        with(speaking("speaks", "aop-progress 10 on; aop-success"), fails),
        with(shell("waits", "true"), json!({"depends_on": ["speaks"]})),
    ])
}

/// Reads the printed trace as strictly as anyone may, and gives its envelopes.
#[track_caller]
fn sound(cli: &Cli, worked: &Worked<'_>) -> Vec<Envelope> {
    let printed = cli.run(["trace", worked.id(), "--output", "ndjson"]);
    let text = &printed.success().stdout;
    for line in text.lines() {
        let verdict = contract::aee::validate(line.as_bytes(), false);
        assert!(verdict.allow, "{}: {line}", verdict.reason);
    }
    let verdict = trace::validate(text.as_bytes());
    assert!(verdict.allow, "{}\n{:#?}", verdict.reason, verdict.details.findings);
    assert_eq!(verdict.details.warnings, []);
    let envelopes: Vec<Envelope> =
        text.lines().map(|line| contract::aee::parse(line.as_bytes()).unwrap()).collect();
    let report = trace::check(&envelopes);
    assert_eq!(
        (report.findings, report.strategy),
        (contract::finding::Findings::default(), Some(Strategy::RootLinked))
    );
    // Applied again from nothing, the deltas lead to the digests that are told.
    assert!(trace::replay(&mut Bundle::new(), &envelopes).is_empty());
    envelopes
}

/// Each layer's digests, and that each begins where the one before it ended.
#[track_caller]
fn chained(envelopes: &[Envelope]) {
    let mut last: Option<String> = None;
    for digests in envelopes.iter().filter_map(|envelope| envelope.payload.get("digests")) {
        let [before, after] =
            ["context_in", "context_out"].map(|name| digests[name].as_str().unwrap().to_owned());
        for digest in [&before, &after] {
            let hex = digest.strip_prefix("sha256:").unwrap_or_else(|| panic!("`{digest}` is no digest"));
            assert_eq!(hex.len(), 64);
        }
        assert!(
            last.is_none_or(|last| last == before),
            "a layer found another context than the last one left"
        );
        last = Some(after);
    }
    assert!(last.is_some());
}

fn layers(envelopes: &[Envelope]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for envelope in envelopes {
        let id = envelope.payload.get("layer").and_then(|layer| layer["id"].as_str());
        ids.extend(id.filter(|id| !ids.iter().any(|known| known == id)).map(str::to_owned));
    }
    ids
}

fn all_layers() -> Vec<String> {
    Layer::ALL.iter().map(|layer| layer.id().to_owned()).collect()
}

#[test]
fn a_plans_trace_is_sound_and_passes_every_layer() {
    let cli = writ();
    let worked = work(&cli, &eventful()).failed();
    let envelopes = sound(&cli, &worked);
    chained(&envelopes);
    assert_eq!(layers(&envelopes), all_layers());
    let corr = worked.result["corr"].as_str().unwrap();
    assert!(envelopes.iter().all(|envelope| envelope.corr == corr));
}

#[test]
fn an_aop_tasks_trace_is_sound_and_passes_every_layer() {
    let cli = writ();
    let worked = work(&cli, &aop(&cli, "aop-heartbeat; aop-success")).succeeded();
    let envelopes = sound(&cli, &worked);
    chained(&envelopes);
    assert_eq!(layers(&envelopes), all_layers());
    let corr = worked.result["corr"].as_str().unwrap();
    assert!(envelopes.iter().all(|envelope| envelope.corr == corr));
}

#[test]
fn an_aee_tasks_trace_keeps_its_correlation() {
    for document in [
        |_: &Cli| aee("writ.run.plan", json!({"plan": eventful()})),
        |cli: &Cli| aee("writ.run.task", json!({"task": aop(cli, "aop-success")})),
    ] {
        let cli = writ();
        let worked = work(&cli, &document(&cli));
        let envelopes = sound(&cli, &worked);
        chained(&envelopes);
        assert_eq!(layers(&envelopes), all_layers());
        assert!(envelopes.iter().all(|envelope| envelope.corr == CORR));
        let intent = &envelopes[0].intent;
        let answer = envelopes.iter().rev().find(|envelope| envelope.kind.is_answer()).unwrap();
        assert_eq!((&answer.intent, answer.to.as_str()), (intent, "human.ann"));
        assert_eq!(answer.reply_to.as_ref(), Some(&envelopes[0].id));
    }
}

#[test]
fn the_trace_of_a_refused_request_is_sound_too() {
    let cli = writ();
    let worked = work(&cli, &aee("shop.order.ship", json!({}))).failed();
    let envelopes = sound(&cli, &worked);
    chained(&envelopes);
    let branch = envelopes.iter().find(|envelope| envelope.intent == "aocl.control.branch").unwrap();
    assert_eq!(branch.payload["from"], "L2.route.smart");
}

#[test]
fn the_trace_stays_sound_over_a_retry() {
    let cli = writ();
    let worked = work(&cli, &plan([shell("a", "[ -f once ] || { touch once; exit 1; }")])).failed();
    let again = cli.run(["retry", &worked.task_id("a"), "--output", "json"]);
    let again = Worked::of(&cli, again).succeeded();
    assert_eq!(again.id(), worked.id());
    chained(&sound(&cli, &again));
}

#[test]
fn the_trace_stays_sound_when_a_refused_run_is_taken_up_again() {
    let cli = writ();
    let rules = cli.scratch().write("project/.writ/config.toml", "[policy]\ndeny_shell = true\n");
    let worked = work(&cli, &plan([shell("a", "true")])).failed();
    std::fs::remove_file(rules).unwrap();
    let again = Worked::of(&cli, cli.run(["retry", &worked.task_id("a"), "--output", "json"])).succeeded();
    let envelopes = sound(&cli, &again);
    chained(&envelopes);
    assert_eq!(again.decisions("L3").len(), 2);
}

#[test]
fn a_delegation_and_its_answer_are_envelopes_between_the_service_and_the_agent() {
    let cli = writ();
    let worked = work(&cli, &plan([scripted("a", "exit 7")])).failed();
    let envelopes = sound(&cli, &worked);
    let between = |from: &str, to: &str| {
        let found: Vec<&Envelope> = envelopes.iter().filter(|e| e.from == from && e.to == to).collect();
        let [only] = found.as_slice() else { panic!("one envelope, not {}", found.len()) };
        (*only).clone()
    };
    let delegated = between("service.writ", "agent.shell");
    assert_eq!((delegated.kind.as_str(), &delegated.payload["name"]), ("task", &json!("a")));
    let returned = between("agent.shell", "service.writ");
    assert_eq!((returned.kind.as_str(), &returned.payload["code"]), ("error", &json!("E_PROCESS_CRASH")));
}

#[test]
fn a_trace_is_one_json_document_or_text_for_people() {
    let cli = writ();
    let worked = work(&cli, &eventful()).failed();
    let whole = cli.run(["trace", worked.id(), "--output", "json"]).success().json();
    assert_eq!(
        (&whole["data"]["run_id"], &whole["data"]["corr"]),
        (&worked.result["run_id"], &worked.result["corr"])
    );
    assert_eq!(whole["data"]["envelopes"], json!(worked.trace()));
    let text = cli.run(["trace", worked.id()]);
    for layer in Layer::ALL {
        assert!(text.success().stdout.contains(layer.id()), "{} is missing\n{text}", layer.id());
    }
    for words in
        ["OVERTURNED: check_failed: check `false`", "VERIFIED: 1 of 1 checks passed", "aocl.run.summary"]
    {
        assert!(text.stdout.contains(words), "`{words}` is missing\n{text}");
    }
    let longer = cli.run(["trace", worked.id(), "--all"]);
    assert!(longer.success().stdout.lines().count() > text.stdout.lines().count());
}

#[test]
fn a_trace_is_found_by_run_by_the_beginning_of_its_id_and_by_correlation() {
    let cli = writ();
    let worked =
        work(&cli, &aee("writ.run.plan", json!({"plan": plan([scripted("a", "print")])}))).succeeded();
    let by = |which: &str| cli.run(["trace", which, "--output", "ndjson"]).success().stdout.clone();
    let whole = by(worked.id());
    assert_eq!(by(CORR), whole);
    assert_eq!(by(&worked.id()[..12]), whole);
    let refused = cli.run(["trace", "run_of_somebody_else"]);
    assert!(refused.fails_with(1).stderr.contains("trace not found: run_of_somebody_else"), "{refused}");
}

#[test]
fn runs_under_one_correlation_are_told_apart_by_run_and_shown_together_by_correlation() {
    let cli = writ();
    let document = |name: &str| aee("writ.run.plan", json!({"plan": plan([scripted(name, "print")])}));
    let [one, two] = ["one", "two"].map(|name| work(&cli, &document(name)).succeeded());
    let count =
        |which: &str| cli.run(["trace", which, "--output", "ndjson"]).success().stdout.lines().count();
    sound(&cli, &one);
    sound(&cli, &two);
    assert_eq!(count(CORR), count(one.id()) + count(two.id()));
}

/// Every text that stands under a name that promises a digest.
fn digests<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if name.ends_with("digest") || name.starts_with("context_") {
                    found.extend(field.as_str());
                }
                digests(field, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| digests(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn whatever_is_called_a_digest_is_one() {
    let cli = writ();
    let worked = work(&cli, &with(eventful(), json!({"max_parallel": 1}))).failed();
    let shown = cli.run(["runs", "show", worked.id(), "--output", "json"]).success().json();
    let (trace, mut found) = (worked.trace(), Vec::new());
    trace.iter().chain([&shown]).for_each(|value| digests(value, &mut found));
    assert!(found.len() > 30, "only {} digests", found.len());
    let is_one = |text: &str| text.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64);
    assert_eq!(found.into_iter().find(|text| !is_one(text)), None);
}

#[test]
fn every_layer_event_has_the_published_fields_and_never_the_whole_context() {
    let cli = writ();
    let worked = work(&cli, &eventful()).failed();
    let trace = worked.trace();
    let layers: Vec<&Value> = trace.iter().filter(|e| e["intent"] == "aocl.layer.decision").collect();
    assert!(layers.len() > Layer::ALL.len());
    let fields =
        ["control", "decisions", "delta", "digests", "layer", "refs", "run_id", "stack_id", "timing_ms"];
    let flags = ["branch_to", "bypass_layers", "halt_pipeline", "require_hitl", "severity"];
    for envelope in layers {
        let payload = &envelope["payload"];
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(payload), fields, "{payload}");
        assert_eq!(names(&payload["control"]), flags);
        assert_eq!(names(&payload["layer"]), ["id", "version"]);
        assert_eq!((&envelope["to"], &payload["run_id"]), (&json!("log.aocl"), &worked.result["run_id"]));
        assert!(payload["timing_ms"].is_u64() && payload["refs"].is_array(), "{payload}");
        let decisions = payload["decisions"].as_array().unwrap();
        assert!(!decisions.is_empty());
        for decision in decisions {
            assert!(decision["code"].is_string() && decision["reason"].is_string(), "{payload}");
        }
        // A delta names single paths of the context; the context itself has seven partitions.
        assert!(payload["delta"].as_object().unwrap().keys().all(|path| path.split('.').count() > 2));
    }
}

#[test]
fn a_trace_names_its_stack_its_delegations_their_results_and_its_verification() {
    let cli = writ();
    let worked = work(&cli, &eventful()).failed();
    let trace = worked.trace();
    let of = |intent: &str| trace.iter().filter(|e| e["intent"] == intent).collect::<Vec<_>>();
    let select = of("aocl.stack.select");
    assert_eq!((select.len(), &select[0]["payload"]["stack_id"]), (1, &json!("default")));
    assert!(select[0]["payload"]["reason"].is_string());
    let statuses: Vec<&Value> =
        of("aocl.verify.result").iter().map(|e| &e["payload"]["verification"]["status"]).collect();
    assert!(statuses.contains(&&json!("passed")) && statuses.contains(&&json!("failed")), "{statuses:?}");
    let delegated = of("writ.task.execute");
    let kinds = |kind: &str| delegated.iter().filter(|e| e["type"] == kind).count();
    // Two tasks, one of them twice; every executor claims success, and the third task never starts.
    assert_eq!((kinds("task"), kinds("result"), kinds("error")), (3, 3, 0));
    assert_eq!(of("aocl.run.summary").len(), 1);
    let request = &trace[0];
    let ours = trace.iter().filter(|e| e["type"] == "event");
    assert!(ours.into_iter().all(|e| e["reply_to"] == request["id"] && e["corr"] == request["corr"]));
}

#[test]
fn a_branch_says_from_where_to_where_and_why() {
    let cli = writ();
    let worked = work(&cli, &aee("shop.order.ship", json!({}))).failed();
    let trace = worked.trace();
    let branch = trace.iter().find(|envelope| envelope["intent"] == "aocl.control.branch").unwrap();
    let payload = &branch["payload"];
    assert_eq!(payload["from"], "L2.route.smart");
    for name in ["to", "reason"] {
        assert!(payload[name].as_str().is_some_and(|text| !text.is_empty()), "{payload}");
    }
}
