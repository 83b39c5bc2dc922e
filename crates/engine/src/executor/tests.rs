use super::*;

fn ended(exit_code: i32) -> Ended {
    Ended { exit_code: Some(exit_code), ..Ended::default() }
}

#[test]
fn every_executor_has_a_name_of_its_own_and_is_found_by_it() {
    let executors = Executors::built_in();
    let known = executors.known();
    for executor in &known {
        assert_eq!(known.iter().filter(|other| other.name == executor.name).count(), 1, "{}", executor.name);
        assert_eq!(executors.find(&executor.name).unwrap().name(), executor.name);
    }
    assert!(executors.find(&ExecutorName::parse("mystery").unwrap()).is_none());
}

#[test]
fn lines_are_found_in_any_pieces() {
    let whole = b"one\n\ntwo\r\nlast";
    for size in 1..=whole.len() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        let mut each = |line: Line<'_>| match line {
            Line::Whole(line) => seen.push(line.to_vec()),
            Line::TooLong => panic!("nothing here is long"),
        };
        whole.chunks(size).for_each(|piece| lines.push(piece, &mut each));
        lines.finish(&mut each);
        assert_eq!(seen, [&b"one"[..], b"", b"two\r", b"last"]);
    }
}

#[test]
fn a_line_beyond_the_limit_is_dropped_and_the_next_one_is_read() {
    let mut lines = Lines::default();
    let mut seen = Vec::new();
    let long = vec![b'x'; contract::domain::limits::LINE_BYTES_MAX];
    for piece in [&long[..], b"xx", b"x\nshort\n"] {
        lines.push(piece, |line| seen.push(matches!(line, Line::TooLong)));
    }
    assert_eq!(seen, [true, false]);
}

#[test]
fn no_executor_can_claim_success_for_a_child_that_was_ended() {
    let timeout = Duration::from_secs(90);
    assert_eq!(forced_failure(&ended(0), timeout), None);
    let stopped = Ended { stopped: Some(Stopped::Timeout), ..ended(0) };
    assert_eq!(forced_failure(&stopped, timeout), Some(failure("E_TIMEOUT", "took longer than 1m30s")));
    let survivors = Ended { survivors: 2, ..ended(0) };
    assert_eq!(
        forced_failure(&survivors, timeout),
        Some(failure("E_PROCESS_CRASH", "2 processes could not be ended"))
    );
}
