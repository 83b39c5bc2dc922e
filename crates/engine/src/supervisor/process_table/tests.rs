use proptest::prelude::*;

use super::*;

const LINE: &str = "8432 (cat) R 8427 8426 6552 0 -1 4194304 99 0 0 0 0 0 0 0 20 0 1 0 111182 3133440 359";

fn process(pid: u32, parent: u32) -> Process {
    Process { pid, parent, group: pid, session: pid, is_zombie: false, is_stopped: false, start_time: 1 }
}

#[test]
fn a_line_of_the_kernel_is_read() {
    let expected = Process {
        pid: 8432,
        parent: 8427,
        group: 8426,
        session: 6552,
        is_zombie: false,
        is_stopped: false,
        start_time: 111_182,
    };
    assert_eq!(parse_stat(LINE.as_bytes()), Some(expected));
    let odd_name = LINE.replace("(cat)", "(a) R 1 (b \n) )");
    assert_eq!(parse_stat(odd_name.as_bytes()), Some(expected));
    let elsewhere = LINE.replace("8426 6552", "-1 0");
    assert_eq!(parse_stat(elsewhere.as_bytes()), Some(Process { group: 0, session: 0, ..expected }));
    assert_eq!(parse_stat(b"8432 (cat) R 8427"), None);
    assert_eq!(parse_stat(b""), None);
}

#[test]
fn a_process_is_dead_when_all_its_threads_are() {
    let zombie = LINE.replace(") R", ") Z");
    assert!(parse_stat(zombie.as_bytes()).unwrap().is_zombie);
    let first_thread_ended = zombie.replace(" 20 0 1 ", " 20 0 2 ");
    assert!(!parse_stat(first_thread_ended.as_bytes()).unwrap().is_zombie);
}

#[test]
fn this_process_is_in_the_table() {
    let own = read(std::process::id()).unwrap();
    assert_eq!(own.pid, std::process::id());
    assert!(snapshot().iter().any(|process| process.key() == own.key()));
}

#[test]
fn descendants_are_all_below_and_nobody_else() {
    let table = [process(1, 0), process(2, 1), process(3, 2), process(4, 3), process(5, 1), process(6, 5)];
    let below = |root, closed: &[u32]| -> Vec<u32> {
        let found = descendants(&table, root, &closed.iter().copied().collect());
        let mut pids: Vec<u32> = found.iter().map(|process| process.pid).collect();
        pids.sort_unstable();
        pids
    };
    assert_eq!(below(1, &[]), [2, 3, 4, 5, 6]);
    assert_eq!(below(2, &[]), [3, 4]);
    assert_eq!(below(2, &[3]), [3]);
    assert_eq!(below(6, &[]), [0; 0]);
}

#[test]
fn a_table_that_contradicts_itself_has_an_end() {
    let circle = [process(2, 3), process(3, 2)];
    assert_eq!(descendants(&circle, 2, &BTreeSet::new()).len(), 1);
}

#[test]
fn a_signal_finds_only_the_process_it_is_meant_for() {
    let own = read(std::process::id()).unwrap();
    // Were the start time not compared, this would end the test.
    assert_eq!(signal(&Process { start_time: own.start_time + 1, ..own }, Signal::KILL), Delivery::Gone);
    assert_eq!(signal(&own, Signal::CONT), Delivery::Sent);
    assert_eq!(signal_group(0, Signal::KILL), Delivery::Gone);
    assert_eq!(signal_group(1, Signal::KILL), Delivery::Gone);
}

proptest! {
    #[test]
    fn any_line_is_read_without_a_panic(line: Vec<u8>, cut in 0..LINE.len()) {
        parse_stat(&line);
        parse_stat(&LINE.as_bytes()[..cut]);
    }
}
