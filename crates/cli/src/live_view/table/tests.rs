use super::*;

fn row(name: &str, phase: TaskActivity, last: &str) -> TaskRow {
    TaskRow { name: name.to_owned(), phase, elapsed: None, cost: None, last: last.to_owned() }
}

/// The lines of the table in an area of this size, without spaces at their ends.
fn drawn(rows: &[TaskRow], width: u16, height: u16) -> Vec<String> {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    Table(rows).render(area, &mut buffer);
    let mut lines = Vec::new();
    for y in 0..height {
        let mut line = String::new();
        let mut covered = 0;
        for x in 0..width {
            let symbol = buffer[(x, y)].symbol();
            if x >= covered {
                line.push_str(symbol);
                covered = x + u16::try_from(columns(symbol)).unwrap();
            }
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

#[test]
fn a_row_shows_state_elapsed_cost_and_the_last_line() {
    let rows = [
        TaskRow {
            elapsed: Some(Duration::from_millis(1200)),
            cost: Some(MicroUsd(125_001)),
            ..row("build", TaskActivity::Done, "verified")
        },
        TaskRow {
            elapsed: Some(Duration::from_secs(75)),
            ..row("tests", TaskActivity::Running, "40% compiling")
        },
        row("docs", TaskActivity::Waiting, ""),
    ];
    insta::assert_snapshot!(drawn(&rows, 60, 4).join("\n"), @r"
    build  done        1.2s    $0.13  verified
    tests  running    1m15s           40% compiling
    docs   waiting
    ");
}

#[test]
fn rows_that_do_not_fit_are_counted() {
    let phases = [TaskActivity::Done, TaskActivity::Waiting, TaskActivity::Running, TaskActivity::Failed];
    let rows: Vec<TaskRow> = (0..500).map(|n| row(&format!("t{n}"), phases[n % 4], "")).collect();
    let lines = drawn(&rows, 80, 6);
    insta::assert_snapshot!(lines.join("\n"), @r"
    t2   running
    t6   running
    t10  running
    t14  running
    t18  running
    … 495 more: 120 running, 125 failed, 125 waiting, 125 done
    ");
    assert_eq!(drawn(&rows, 80, 1), ["… 500 more: 125 running, 125 failed, 125 waiting, 125 done"]);
    assert_eq!(drawn(&rows[..6], 80, 6).len(), 6);
}

#[test]
#[expect(clippy::unicode_not_nfc, reason = "accents that take no column are what is tested")]
fn columns_are_counted_and_not_characters() {
    let rows = [
        row("构建和测试", TaskActivity::Running, "编译中 🦀 e\u{301}e\u{301}"),
        row("plain", TaskActivity::Done, "verified"),
        row("👩‍👩‍👧", TaskActivity::Waiting, "x"),
    ];
    insta::assert_snapshot!(drawn(&rows, 44, 3).join("\n"), @r"
    构建和测试  running           编译中 🦀 éé
    plain       done              verified
    👩‍👩‍👧          waiting           x
    ");
    for width in 0..44 {
        for line in drawn(&rows, width, 3) {
            assert!(columns(&line) < usize::from(width.max(1)), "{width}: {line}");
        }
    }
}

#[test]
fn no_size_is_too_small() {
    let rows = [row("a", TaskActivity::Running, "b"), row("c", TaskActivity::Done, "d")];
    for (width, height) in [(0, 0), (1, 1), (1, 5), (2, 1), (5, 0), (0, 5), (3, 2)] {
        drawn(&rows, width, height);
    }
    assert_eq!(drawn(&[], 10, 2), ["", ""]);
}

#[test]
fn small_amounts_do_not_look_free() {
    assert_eq!(cents(MicroUsd(0)), "$0.00");
    assert_eq!(cents(MicroUsd(1)), "$0.01");
    assert_eq!(cents(MicroUsd(1_230_000)), "$1.23");
}
