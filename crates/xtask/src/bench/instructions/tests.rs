use super::*;

fn baseline(counts: &[(&str, u64)]) -> Baseline {
    let toolchain = Toolchain {
        rustc: "rustc 1.0.0 on x86_64".to_owned(),
        valgrind: "valgrind-3.0".to_owned(),
        sqlite3: "3.40.1".to_owned(),
    };
    Baseline { toolchain, counts: counted(counts) }
}

fn counted(counts: &[(&str, u64)]) -> Counts {
    counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn growth_over_five_percent_is_reported() {
    let stored = baseline(&[("sqlite3 insert", 1000), ("resume", 1000)]);
    let grown = |counts: &[(&str, u64)]| stored.grown(&counted(counts));
    assert_eq!(grown(&[("sqlite3 insert", 1000), ("resume", 1050)]), Vec::<String>::new());
    assert_eq!(grown(&[("sqlite3 insert", 1000), ("resume", 500)]), Vec::<String>::new());
    assert_eq!(
        grown(&[("sqlite3 insert", 1000), ("resume", 1060)]),
        ["`resume` takes 1060 instructions, 6.0 % more than the stored 1000; the limit is 5 %"]
    );
    // Both moved together: the machine's libraries changed, not our code.
    assert_eq!(grown(&[("sqlite3 insert", 1100), ("resume", 1100)]), Vec::<String>::new());
    // A lighter sqlite3 does not make ours heavier.
    assert_eq!(grown(&[("sqlite3 insert", 500), ("resume", 1000)]), Vec::<String>::new());
}

#[test]
fn a_command_without_a_stored_count_is_reported() {
    let stored = baseline(&[("sqlite3 insert", 1000), ("resume", 1000)]);
    let counts = counted(&[("sqlite3 insert", 1000), ("push", 10)]);
    assert_eq!(stored.grown(&counts), ["`push` has no stored count"]);
}

#[test]
fn counts_of_other_compilers_are_not_compared() {
    let stored = baseline(&[]).toolchain;
    assert_eq!(stored.difference(&stored), None);
    let other = Toolchain { rustc: "rustc 2.0.0 on x86_64".to_owned(), ..stored.clone() };
    assert_eq!(
        stored.difference(&other).unwrap(),
        "the stored counts are from `rustc 1.0.0 on x86_64`, this machine has `rustc 2.0.0 on x86_64`"
    );
}

#[test]
fn the_stored_file_is_read_back() {
    let stored = baseline(&[("sqlite3 insert", 1000), ("resume", 2000)]);
    assert_eq!(Baseline::parse(&stored.print()), Some(stored));
    assert_eq!(Baseline::parse("{}"), None);
}

#[test]
fn the_checked_in_counts_are_readable() {
    assert!(Baseline::read().unwrap().is_some());
}

#[test]
fn the_total_is_the_sum_of_all_parts() {
    assert_eq!(commands::total("events: Ir\n\ntotals: 12\npart: 2\ntotals: 30\n"), Some(42));
    assert_eq!(commands::total("events: Ir\n"), None);
}
