//! Every verb that writes, cut off everywhere: by `kill -9` at each of its calls to the system, and by a power cut
//! that takes what was not synced. What was acknowledged stays; the rest is wholly there or wholly absent; and the
//! same request id finishes it.

mod disk;
pub(crate) mod mutations;
mod scene;
mod tape;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::process::ExitStatusExt;

use testkit::{SeededIds, Signal, rounds};

use disk::{Disk, Loss};
use mutations::{MUTATIONS, Mutation, NOT_CUT_OFF};
use scene::{Company, Scene};
use tape::{Step, Tape};

#[test]
fn every_writing_operation_is_cut_off_somewhere() {
    let covered: BTreeSet<&str> = MUTATIONS.iter().map(|mutation| mutation.operation).collect();
    let writing = ops::registry::VERBS.iter().filter(|verb| verb.effect == ops::verb::Effect::Once);
    let known = |name: &&str| covered.contains(name) || NOT_CUT_OFF.contains(name);
    let missing: Vec<&str> = writing.map(|verb| verb.name).filter(|name| !known(name)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "add them to the table in durable/mutations.rs");
}

/// Calls that change what is on the disk or what others see, and how far apart those are that are tried each time.
const PLACES: [(&str, u64); 2] =
    [("write,fsync,fdatasync,ftruncate,rename,unlink,mkdir", 12), ("pwrite64", 128)];

#[test]
fn soak_kill_nine_at_any_call_of_a_mutation_leaves_all_of_it_or_nothing() {
    let mut random = SeededIds::surprising();
    let mut kills = 0;
    for mutation in MUTATIONS {
        let scene = Scene::new(mutation, Company::None);
        for (place, stride) in PLACES {
            let stride = stride.div_ceil(u64::from(rounds(1)));
            let mut number = 1 + random.below(stride);
            while let Some(stdout) = killed_at(&scene, place, number) {
                scene
                    .judge(!stdout.is_empty(), &format!("{} killed at {place} {number}", mutation.operation));
                scene.again();
                number += stride;
                kills += 1;
            }
            scene.again();
        }
    }
    testkit::Storm { rounds: rounds(1).into(), operations: kills, kills, seed: None }.report();
}

/// Calls writ so that it dies right before its `number`th call of this kind. What it printed, if it came that far.
fn killed_at(scene: &Scene, place: &str, number: u64) -> Option<String> {
    let (trace, inject) = (format!("trace={place}"), format!("inject={place}:signal=KILL:when={number}"));
    let output = scene.traced(&["-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
    match output.status.signal() {
        Some(signal) if signal == Signal::KILL.as_raw() => Some(output.stdout),
        Some(_) | None => {
            output.success();
            None
        }
    }
}

#[test]
fn soak_a_power_cut_in_a_mutation_takes_nothing_that_was_acknowledged() {
    let mut random = SeededIds::surprising();
    let cuts = MUTATIONS.iter().map(|mutation| cut_everywhere(mutation, Company::None, &mut random)).sum();
    report_cuts(cuts);
}

fn report_cuts(cuts: u64) {
    testkit::Storm { rounds: rounds(TORN).into(), operations: cuts, kills: cuts, seed: None }.report();
}

#[test]
fn soak_a_power_cut_while_others_have_the_store_open_takes_nothing_that_was_acknowledged() {
    let mut random = SeededIds::surprising();
    let mutations = MUTATIONS.iter().filter(|mutation| !mutation.on_nothing);
    let cuts = mutations.map(|mutation| cut_everywhere(mutation, Company::AnotherWriter, &mut random)).sum();
    report_cuts(cuts);
}

/// States of the disk in which some but not all of what was not synced is there; these are tried each time.
const TORN: u32 = 2;

/// Records what the mutation does to the disk, and judges what a power cut after each step could leave of it.
/// Returns the number of cuts.
fn cut_everywhere(mutation: &'static Mutation, company: Company, random: &mut SeededIds) -> u64 {
    let scene = Scene::new(mutation, company);
    let tape = Tape::record(&scene);
    // With others there, nobody moves the log into the file: the answer rests on the log alone.
    let moved =
        tape.steps.iter().any(|step| matches!(step, Step::Write { path, .. } if path == "data/writ.db"));
    assert_eq!(moved, company == Company::None, "{}", mutation.operation);
    let mut seen = BTreeSet::new();
    let mut judged = |disk: &Disk, loss: Loss<'_>, what: &str| {
        let image = disk.after_power_cut(loss);
        let mut key = DefaultHasher::new();
        (disk.acknowledged(), &image).hash(&mut key);
        if seen.insert(key.finish()) {
            scene.restore(&image);
            scene.judge(disk.acknowledged(), &format!("{}: {what}", mutation.operation));
        }
    };
    // Where everything was kept there is nothing to lose; a sample shows that the recording is right.
    let kept = usize::try_from(random.below(tape.steps.len() as u64)).unwrap();
    let mut torn: Vec<usize> = Vec::new();
    for _ in 0..rounds(TORN) {
        torn.push(usize::try_from(random.below(tape.steps.len() as u64)).unwrap());
    }
    let mut disk = Disk::new(scene.files());
    for (number, step) in tape.steps.iter().enumerate() {
        disk.take(step);
        let place = format!("power cut after step {number}, {step:?}");
        // The soak tries every step.
        let is_last = number + 1 == tape.steps.len();
        if random.below(4) == 0 || is_last || rounds(1) > 1 {
            judged(&disk, Loss::Everything, &place);
        }
        if random.below(8) == 0 || rounds(1) > 1 {
            judged(&disk, Loss::Data, &format!("{place}, names kept"));
        }
        if number == kept || is_last {
            judged(&disk, Loss::Nothing, &format!("{place}, all kept"));
        }
        for _ in torn.iter().filter(|place| **place == number) {
            judged(&disk, Loss::Parts(random), &format!("{place}, torn"));
        }
    }
    assert!(disk.acknowledged(), "{}: the recording has no answer in it", mutation.operation);
    seen.len() as u64
}
