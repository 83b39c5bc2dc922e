use super::*;

fn process(pid: u32, parent: u32) -> Process {
    Process { pid, parent, group: pid, session: pid, is_zombie: false, is_stopped: false, start_time: 1 }
}

#[test]
fn only_the_very_same_process_is_alive() {
    let own = own_identity();
    assert!(is_alive(&own));
    assert!(!is_alive(&OwnerIdentity { start_time: own.start_time + 1, ..own.clone() }));
    assert!(!is_alive(&OwnerIdentity { boot_id: "another".to_owned(), ..own.clone() }));
    assert!(!is_alive(&OwnerIdentity { pid: 0, ..own }));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a zombie has to be a child of this very process")]
fn a_zombie_is_not_alive() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    let zombie = loop {
        let process = process_table::read(child.id()).unwrap();
        if process.is_zombie {
            break process;
        }
        assert!(Instant::now() < deadline, "the child ends");
    };
    let owner = OwnerIdentity::process(zombie.pid, zombie.start_time, boot_id());
    assert!(!is_alive(&owner));
    child.wait().unwrap();
}

#[test]
fn a_line_of_ancestors_ends_at_the_top_and_in_a_circle() {
    let table = [process(1, 0), process(2, 1), process(3, 2), process(8, 9), process(9, 8)];
    assert_eq!(line_of_ancestors(&table, 3), BTreeSet::from([0, 1, 2, 3]));
    assert_eq!(line_of_ancestors(&table, 8), BTreeSet::from([8, 9]));
}

#[test]
fn the_reaper_spares_itself_and_what_is_above_it() {
    let own = std::process::id();
    let table = [process(1, 0), process(own, 1), process(own + 1, own), process(own + 2, 1)];
    assert_eq!(with_subtrees(&table, vec![table[0], table[1], table[3]]), [table[3]]);
    assert_eq!(with_subtrees(&table, vec![table[2]]), [table[2]]);
}
