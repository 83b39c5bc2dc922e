use super::*;

fn own() -> ProcessIdentity {
    let own = reap::own_identity();
    ProcessIdentity {
        pid: own.pid,
        start_time: own.start_time,
        boot_id: whereabouts(&own),
        within: Vec::new(),
        machine: machine(),
        store: None,
    }
}

#[test]
fn only_what_can_be_seen_from_here_is_called_gone() {
    assert_eq!(settle(&own()), Remains::Running);
    let dead = ProcessIdentity { start_time: own().start_time + 1, ..own() };
    assert_eq!(settle(&dead), Remains::Gone);
    let elsewhere = ProcessIdentity { boot_id: format!("{} pid:[1]", reap::boot_id()), ..own() };
    assert_eq!(settle(&elsewhere), Remains::Unseen);
}

#[test]
fn a_restart_of_this_machine_ends_everything_and_another_machine_cannot_be_seen() {
    let before = ProcessIdentity { boot_id: "boot-before pid:[1]".to_owned(), ..own() };
    assert_eq!(settle(&before), if machine().is_empty() { Remains::Unseen } else { Remains::Gone });
    for machine in ["", "another"] {
        let other = ProcessIdentity { machine: machine.to_owned(), ..before.clone() };
        assert_eq!(settle(&other), Remains::Unseen, "{machine:?}");
    }
}

#[test]
fn an_engine_does_not_end_itself() {
    assert_eq!(end_engine(&own()), Remains::Running);
}
