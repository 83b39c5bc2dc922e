//! Without namespaces: what is left when writ and its shims die together is found by its mark, and only then touched.

use contract::domain::confinement::Namespace;
use contract::domain::id::Id;
use contract::domain::process::StoreFile;
use engine::supervisor::{self, MarkedProcess, Marker, OwnerIdentity, ProcessRole, Reaped};
use testkit::process::signal;
use testkit::{Signal, eventually};

use crate::world::{Owner, PROGRAM, alive, fresh_token};

fn is_of(owner: &Owner) -> impl Fn(&Marker) -> bool {
    let attempt = Id::from_bits(owner.token.parse().unwrap());
    move |marker| marker.attempt == attempt
}

/// Ends an owner and its shims so that the shims can do nothing about it.
fn die_together(owner: &mut Owner) {
    let shims = owner.wait_for_shims();
    for &shim in &shims {
        signal(shim, Signal::STOP);
    }
    owner.kill();
    for &shim in &shims {
        signal(shim, Signal::KILL);
    }
    eventually("the shims are dead", || {
        alive(&owner.token).iter().all(|process| !shims.contains(&process.pid))
    });
}

/// Any other writ on this machine reaps the leftovers of dead owners too, and may be faster. Each of these tests
/// is repeated until it was the one that ended all `expected`.
fn until_ended(expected: usize, mut reap: impl FnMut() -> Reaped) {
    const TRIES_MAX: usize = 20;
    let ended_all = (0..TRIES_MAX).any(|_| reap() == Reaped { ended: expected, survivors: 0 });
    assert!(ended_all, "not once in {TRIES_MAX} tries");
}

#[test]
fn leftovers_of_a_dead_owner_are_ended() {
    until_ended(4, || {
        let mut owner =
            Owner::start_with(Namespace::Off, &["setsid sleep $0 & echo; wait", "trap '' TERM; sleep $0; :"]);
        let identity = identity_of(&mut owner, 4);
        die_together(&mut owner);
        assert!(!supervisor::is_alive(&identity));
        assert_eq!(supervisor::reap_leftovers(|_| false), Reaped::default());
        let reaped = supervisor::reap_leftovers(is_of(&owner));
        assert_eq!(alive(&owner.token), []);
        assert_eq!(executors_of(&owner), []);
        reaped
    });
}

#[test]
fn one_dead_owner_can_be_reaped_by_its_identity() {
    until_ended(2, || {
        let mut owner = Owner::start_with(Namespace::Off, &["sleep $0; :"]);
        let identity = identity_of(&mut owner, 2);
        let error = supervisor::end_all_of(&identity).unwrap_err();
        assert_eq!(error.owner, identity);
        die_together(&mut owner);
        let reaped = supervisor::end_all_of(&identity).unwrap();
        assert_eq!(alive(&owner.token), []);
        reaped
    });
}

#[test]
fn leftovers_of_a_store_are_not_those_of_its_copy() {
    for (own, copy) in [(44, 45), (45, 44)] {
        until_ended(2, || {
            let mut owner = Owner::of_store(own, &["sleep $0; :"]);
            let identity = identity_of(&mut owner, 2);
            die_together(&mut owner);
            let left = alive(&owner.token).len();
            let copied = StoreFile { inode: copy, ..identity.store.clone().unwrap() };
            let of_copy = |marker: &Marker| marker.owner.may_work_for(Some(&copied));
            assert_eq!(
                supervisor::reap_leftovers(|marker| is_of(&owner)(marker) && of_copy(marker)),
                Reaped::default()
            );
            assert_eq!(alive(&owner.token).len(), left);
            let of_store = |marker: &Marker| marker.owner.may_work_for(identity.store.as_ref());
            supervisor::reap_leftovers(|marker| is_of(&owner)(marker) && of_store(marker))
        });
    }
}

#[test]
fn what_lost_its_mark_is_ended_with_what_started_it() {
    until_ended(2, || {
        let mut owner = Owner::start_with(Namespace::Off, &["env -i sleep $0 & wait"]);
        identity_of(&mut owner, 1);
        eventually("the child runs", || alive(&owner.token).len() == 4);
        die_together(&mut owner);
        let reaped = supervisor::reap_leftovers(is_of(&owner));
        assert_eq!(alive(&owner.token), []);
        reaped
    });
}

#[test]
fn a_living_owners_children_are_never_touched() {
    let mut dead = Owner::start_with(Namespace::Off, &["sleep $0; :"]);
    let mut living = Owner::start_with(Namespace::Off, &["sleep $0; :"]);
    identity_of(&mut dead, 2);
    identity_of(&mut living, 2);
    die_together(&mut dead);
    let before = alive(&living.token);
    let tokens = [is_of(&dead), is_of(&living)];
    supervisor::reap_leftovers(|marker| tokens.iter().any(|is_of| is_of(marker)));
    assert_eq!(alive(&dead.token), []);
    assert_eq!(alive(&living.token).len(), before.len());
}

#[test]
fn a_shim_that_was_stopped_is_woken_up_to_do_its_work() {
    let mut owner = Owner::start_with(Namespace::Off, &["setsid env -i sleep $0 & wait"]);
    identity_of(&mut owner, 1);
    let shims = owner.wait_for_shims();
    eventually("the child runs", || alive(&owner.token).len() == 4);
    signal(shims[0], Signal::STOP);
    owner.kill();
    // Nothing was left to do by the marks: the shim knew its own.
    assert_eq!(supervisor::reap_leftovers(is_of(&owner)), Reaped::default());
    assert_eq!(alive(&owner.token), []);
}

#[test]
fn a_writ_below_a_dead_one_is_ended_and_ends_its_own() {
    let inner = fresh_token();
    // The inner owner works until its input ends, and that input never does.
    let mut outer = Owner::start_with(
        Namespace::Off,
        &[&format!("tail -f /dev/null | {PROGRAM} owner off {inner} 'setsid env -i sleep $0 & wait' & wait")],
    );
    identity_of(&mut outer, 3);
    eventually("the inner executor runs", || alive(&inner).len() == 4);
    die_together(&mut outer);
    supervisor::reap_leftovers(is_of(&outer));
    assert_eq!(alive(&outer.token), []);
    eventually("the inner shim has done its work", || alive(&inner).is_empty());
}

#[test]
fn kill_nine_of_an_owner_and_some_shims_is_over_when_the_reaping_returns() {
    for round in 0..testkit::rounds(4) {
        let hidden = "setsid env -i sleep $0 & wait";
        let visible = "while :; do (setsid sleep $0 &); sleep 0.01; done";
        let mut owner = Owner::start_with(Namespace::Off, &[hidden, visible, visible]);
        let shims = owner.wait_for_shims();
        // Before the owner, or after it, so that the survivors are at different points of their work.
        if round % 2 == 0 {
            signal(shims[1], Signal::KILL);
        }
        owner.kill();
        signal(shims[2], Signal::KILL);
        assert_eq!(supervisor::reap_leftovers(is_of(&owner)).survivors, 0);
        assert_eq!(alive(&owner.token), []);
    }
    let rounds = testkit::rounds(4).into();
    testkit::Storm { rounds, operations: rounds, kills: 2 * rounds, seed: None }.report();
}

fn executors_of(owner: &Owner) -> Vec<MarkedProcess> {
    let mut marked = supervisor::find_marked(is_of(owner));
    marked.retain(|marked| marked.role == ProcessRole::Executor);
    marked
}

/// Waits until the owner's executors run so many processes, and reads from them whose they are.
fn identity_of(owner: &mut Owner, processes: usize) -> OwnerIdentity {
    eventually("all executors run", || executors_of(owner).len() == processes);
    let identity = executors_of(owner).remove(0).marker.owner;
    assert_eq!(identity.pid, owner.process.id());
    assert!(supervisor::is_alive(&identity));
    identity
}
