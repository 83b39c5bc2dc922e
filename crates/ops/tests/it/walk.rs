//! Walks through the registry: what holds for every verb is checked for every verb.

mod canaries;
mod continuity;
mod crew;
mod mutation;
mod runs;
mod time;

use jsonschema::Validator;
use ops::Reply;
use ops::Session;
use ops::registry;
use ops::verb::{Effect, VerbEntry};
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;

use crate::crew_world::Crew;

/// A request that a verb accepts, and the state it needs. Verbs that only read get no key.
struct Sample {
    verb: &'static str,
    prepare: fn(&mut Crew) -> (Option<Session>, Value),
}

impl Sample {
    fn entry(&self) -> &'static VerbEntry {
        registry::find(self.verb).unwrap_or_else(|| panic!("there is no verb `{}`", self.verb))
    }

    fn call(&self, crew: &mut Crew, key: Option<&Session>, request: Value) -> Reply<Value> {
        let session = key.cloned().unwrap_or_else(crate::world::reader);
        let answer = (self.entry().call)(&mut crew.world.cx, &session, request);
        answer.unwrap_or_else(|error| panic!("{}: {error}: {}", self.verb, error.details))
    }
}

fn samples() -> impl Iterator<Item = &'static Sample> {
    [continuity::SAMPLES, crew::SAMPLES, runs::SAMPLES].into_iter().flatten()
}

fn validator(schema: &Value) -> Validator {
    jsonschema::options().build(schema).unwrap()
}

#[test]
fn every_verb_has_one_sample() {
    for verb in registry::VERBS {
        let count = samples().filter(|sample| sample.verb == verb.name).count();
        assert_eq!(count, 1, "{}", verb.name);
    }
    for sample in samples() {
        sample.entry();
    }
}

/// The host of these tests panics when it is asked inside a transaction.
#[test]
fn every_verb_answers_by_its_schema_and_never_asks_the_host_inside_a_transaction() {
    for sample in samples() {
        let entry = sample.entry();
        let mut crew = Crew::new();
        let (key, request) = (sample.prepare)(&mut crew);
        assert_eq!(
            key.is_some(),
            entry.effect.mutates(),
            "{}: only verbs that change need a key",
            sample.verb
        );
        let before = crew.world.state();
        let given = sample.call(&mut crew, key.as_ref(), request.clone());
        let schema = (entry.answer_schema)();
        if let Err(error) = validator(&schema).validate(&given.answer) {
            panic!("{}: {error} at {}: {}", sample.verb, error.instance_path(), given.answer);
        }
        match entry.effect {
            Effect::Reads => assert_eq!(crew.world.state(), before, "{} must not write", sample.verb),
            Effect::Once => {
                let again = sample.call(&mut crew, key.as_ref(), request);
                assert!(again.replayed, "{}", sample.verb);
                assert_eq!(shown_again(again.answer), shown_again(given.answer), "{}", sample.verb);
            }
            Effect::Repeatable => {}
        }
    }
}

/// The schema accepts a request exactly if the verb's type does.
#[track_caller]
fn agree(sample: &Sample, schema: &Validator, request: &Value) {
    let by_type = (sample.entry().check)(request.clone());
    let by_schema = schema.validate(request).map_err(|error| error.to_string());
    let said = format!("type: {by_type:?}; schema: {by_schema:?}");
    assert_eq!(by_type.is_ok(), by_schema.is_ok(), "{}: {request}: {said}", sample.verb);
}

#[test]
fn every_request_schema_accepts_what_the_type_accepts_and_rejects_what_it_rejects() {
    for sample in samples() {
        let schema = validator(&(sample.entry().request_schema)());
        let (_, request) = (sample.prepare)(&mut Crew::new());
        agree(sample, &schema, &request);
        assert!(schema.is_valid(&request), "{}", sample.verb);
        for changed in mutation::all(&request) {
            agree(sample, &schema, &changed);
        }
    }
}

#[test]
fn schema_and_type_agree_on_requests_that_are_wrong_in_several_ways() {
    for sample in samples() {
        let schema = validator(&(sample.entry().request_schema)());
        let (_, request) = (sample.prepare)(&mut Crew::new());
        let mut runner =
            TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
        let several = proptest::collection::vec(proptest::num::u32::ANY, 2..5);
        runner
            .run(&several, |picks| {
                let mut changed = request.clone();
                for pick in picks {
                    let mut all = mutation::all(&changed);
                    changed = all.swap_remove(pick as usize % all.len());
                }
                agree(sample, &schema, &changed);
                Ok(())
            })
            .unwrap();
    }
}

/// What a repeated call answers too: all but the secret of a new token, which is shown once.
fn shown_again(mut answer: Value) -> Value {
    if let Some(fields) = answer.as_object_mut() {
        fields.remove("secret");
    }
    answer
}
