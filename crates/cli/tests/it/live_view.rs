//! What a person at a terminal sees while a run is worked: the screen of a real pseudo-terminal.

use regex::Regex;
use testkit::{Cli, OnTerminal, eventually, fake_agent};

use crate::run_view::write_plan;
use crate::windows;

/// A terminal: what the program printed, on a screen that remembers what scrolled out of it.
struct Viewer<'a> {
    program: OnTerminal<'a>,
    parser: vt100::Parser,
    read: usize,
}

impl<'a> Viewer<'a> {
    fn start(cli: &'a Cli, (columns, rows): (u16, u16)) -> Self {
        let call = cli.call(["run", "plan.toml"]).env("TERM", "xterm-256color");
        Self::of(call.on_terminal(columns, rows), (columns, rows))
    }

    fn of(program: OnTerminal<'a>, (columns, rows): (u16, u16)) -> Self {
        Self { program, parser: vt100::Parser::new(rows, columns, 5_000), read: 0 }
    }

    fn look(&mut self) {
        let printed = self.program.printed();
        self.parser.process(&printed[self.read..]);
        self.read = printed.len();
    }

    /// The screen without the ids and times of this run.
    fn screen(&mut self) -> String {
        self.look();
        let contents = self.parser.screen().contents();
        plain(&contents)
    }

    /// Everything that was ever printed and stays: the screen and what is above it.
    fn everything(&mut self) -> String {
        self.look();
        let (rows, _) = self.parser.screen().size();
        let mut text = String::new();
        self.parser.screen_mut().set_scrollback(usize::MAX);
        let mut above = self.parser.screen().scrollback();
        loop {
            self.parser.screen_mut().set_scrollback(above);
            let page = self.parser.screen().contents();
            if above == 0 {
                text.push_str(&page);
                break;
            }
            let taken = above.min(usize::from(rows));
            page.split('\n').take(taken).for_each(|line| text.push_str(&format!("{line}\n")));
            above -= taken;
        }
        plain(&text)
    }

    #[track_caller]
    fn shows(&mut self, what: &str) {
        let mut last = String::new();
        eventually(what, || {
            last = self.screen();
            last.contains(what)
        });
    }

    #[track_caller]
    fn resize(&mut self, (columns, rows): (u16, u16)) {
        self.look();
        self.parser.screen_mut().set_size(rows, columns);
        self.program.resize(columns, rows);
    }
}

/// Without what differs between two runs.
fn plain(text: &str) -> String {
    let ids = Regex::new(r"(run|req|task)_[0-9a-z-]+").unwrap();
    let text = ids.replace_all(text, "${1}_ID");
    let times = Regex::new(r"( +)(\d+ms|\d+(\.\d+)?s|\d+m\d+s)").unwrap();
    let lines = times.replace_all(&text, |found: &regex::Captures<'_>| {
        let width = found[0].len();
        format!("{:>width$}", "TIME")
    });
    lines.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Five tasks in all states: some wait for a file.
fn five() -> String {
    let agent = fake_agent();
    let agent = agent.to_str().unwrap();
    format!(
        r#"
objective = "Five tasks"
workspace = "."

[[task]]
id = "agent"
executor = "aop-stdio"
prompt = "spend"
command = ["{agent}", "aop-cost 0.125; aop-success"]

[[task]]
id = "build"
command = ["true"]
[[task.checks]]
command = ["true"]

[[task]]
id = "compile"
command = "printf '编译中 🦀 第三步\n'; until [ -e go ]; do sleep 0.02; done"
shell = true
depends_on = ["build", "agent"]

[[task]]
id = "hostile"
command = "printf '\\033[2J\\033[31mred\\033[0m\n'; until [ -e go ]; do sleep 0.02; done"
shell = true
depends_on = ["build", "agent"]

[[task]]
id = "last"
command = ["true"]
depends_on = ["compile"]
"#
    )
}

/// Many tasks: two run, and all others depend on one that will fail.
fn many(count: usize) -> String {
    let mut plan = "objective = \"Many tasks\"\nworkspace = \".\"\n".to_owned();
    for number in 0..count {
        let rest = match number {
            0 => "command = \"echo first; until [ -e go ]; do sleep 0.02; done; exit 1\"\nshell = true",
            1 => "command = \"echo second; until [ -e go ]; do sleep 0.02; done\"\nshell = true",
            _ => "command = [\"true\"]\ndepends_on = [\"t000\"]",
        };
        plan.push_str(&format!("\n[[task]]\nid = \"t{number:03}\"\n{rest}\n"));
    }
    plan
}

fn go(cli: &Cli) {
    std::fs::write(cli.project().join("go"), "").unwrap();
}

#[test]
fn the_screen_shows_state_elapsed_cost_and_the_last_line_of_each_task() {
    for size in [(80, 24), (80, 10), (200, 50)] {
        let cli = Cli::writ();
        write_plan(&cli, &five());
        let mut viewer = Viewer::start(&cli, size);
        viewer.shows("编译中 🦀 第三步");
        viewer.shows("red");
        insta::allow_duplicates! {
            insta::assert_snapshot!(viewer.screen(), @r"
            request req_ID
            run run_ID
            agent    done        TIME    $0.13  claimed
            build    done        TIME           verified
            compile  running     TIME           编译中 🦀 第三步
            hostile  running     TIME           \u001b[2J\u001b[31mred\u001b[0m
            last     waiting
            ");
        }
        go(&cli);
        assert!(viewer.program.wait().success());
        insta::allow_duplicates! {
            insta::assert_snapshot!(viewer.everything(), @r"
            request req_ID
            run run_ID
            agent    done, claimed      TIME    $0.125
            build    done, verified     TIME
            compile  done, claimed      TIME
            hostile  done, claimed      TIME
            last     done, claimed      TIME
            sandbox files not confined: the task does not say what it writes: agent, build, compile, hostile, last
            run done: 5 of 5 tasks done, 4 only claimed
            inspect it with `writ trace run_ID`
            ");
        }
    }
}

/// A test each: hundreds of tasks take a while.
macro_rules! five_hundred {
    ($($name:ident: $size:expr, $shown:literal;)*) => {
        $(#[test]
        fn $name() {
            counts_what_does_not_fit($size, $shown);
        })*
    };
}

five_hundred! {
    five_hundred_tasks_fit_in_80x24_and_the_final_table_has_all_of_them_once: (80, 24), 22;
    five_hundred_tasks_fit_in_80x10_and_the_final_table_has_all_of_them_once: (80, 10), 8;
    five_hundred_tasks_fit_in_200x50_and_the_final_table_has_all_of_them_once: (200, 50), 48;
}

#[track_caller]
fn counts_what_does_not_fit(size: (u16, u16), shown: usize) {
    let cli = Cli::writ();
    write_plan(&cli, &many(500));
    let mut viewer = Viewer::start(&cli, size);
    let rest = format!("… {} more: {} waiting", 500 - shown, 500 - shown);
    viewer.shows(&rest);
    viewer.shows("second");
    let screen = viewer.screen();
    let lines: Vec<&str> = screen.lines().collect();
    assert!(lines.len() <= usize::from(size.1), "{screen}");
    assert_eq!(lines.iter().filter(|line| line.starts_with('t')).count(), shown, "{screen}");
    assert_eq!(lines.last(), Some(&rest.as_str()), "{screen}");
    assert!(screen.contains("t000  running") && screen.contains("t001  running"), "{screen}");
    go(&cli);
    assert_eq!(viewer.program.wait().code(), Some(1));
    let all = viewer.everything();
    for number in 0..500 {
        let name = format!("t{number:03}  ");
        let rows = all.lines().filter(|line| line.starts_with(&name)).count();
        assert_eq!(rows, 1, "{name} in\n{all}");
    }
    assert!(!all.contains("more:"), "{all}");
}

#[test]
fn the_screen_follows_the_size_of_the_terminal_and_leaves_nothing_behind() {
    let cli = Cli::writ();
    write_plan(&cli, &many(30));
    let mut viewer = Viewer::start(&cli, (80, 24));
    viewer.shows("… 8 more: 8 waiting");
    viewer.shows("first");
    viewer.shows("second");
    let mut seen = vec![format!("80x24\n{}", viewer.screen())];
    for (size, more) in [
        ((80, 10), "… 22 more"),
        ((40, 10), "… 22 more"),
        ((120, 40), "t029"),
        ((24, 5), "… 27 more: 27 waiti"),
        ((80, 24), "… 8 more"),
    ] {
        viewer.resize(size);
        viewer.shows(more);
        let screen = viewer.screen();
        assert!(screen.lines().count() <= usize::from(size.1), "{screen}");
        let rows = |name: &str| screen.lines().filter(|line| line.starts_with(name)).count();
        assert!(rows("t000") == 1 && rows("t001") == 1 && rows("…") <= 1, "{size:?}\n{screen}");
        seen.push(format!("{}x{}\n{screen}", size.0, size.1));
    }
    insta::assert_snapshot!(seen.join("\n\n"));
    go(&cli);
    assert_eq!(viewer.program.wait().code(), Some(1));
    let all = viewer.everything();
    assert_eq!(all.lines().filter(|line| line.starts_with("t029")).count(), 1, "{all}");
}

#[test]
fn no_terminal_is_too_small() {
    for size in [(0, 0), (1, 1), (2, 2), (5, 1), (1, 30)] {
        let cli = Cli::writ();
        write_plan(&cli, &five());
        go(&cli);
        let call = cli.call(["run", "plan.toml"]).env("TERM", "xterm");
        let mut program = call.on_terminal(size.0, size.1);
        let status = program.wait();
        assert!(status.success(), "{size:?}: {}", String::from_utf8_lossy(&program.printed()));
    }
}

#[test]
fn ctrl_c_leaves_the_last_state_and_a_usable_terminal() {
    let cli = Cli::writ();
    write_plan(&cli, &five());
    let mut viewer = Viewer::start(&cli, (80, 24));
    viewer.shows("编译中 🦀 第三步");
    viewer.shows("red");
    viewer.program.press("\u{3}");
    assert_eq!(viewer.program.wait().code(), Some(130));
    let all = viewer.everything();
    insta::assert_snapshot!(all, @r"
    request req_ID
    run run_ID
    stopping; press Ctrl-C again to end everything at once
    agent    done        TIME    $0.13  claimed
    build    done        TIME           verified
    compile  blocked     TIME           interrupted by a signal
    hostile  blocked     TIME           interrupted by a signal
    last     waiting
    interrupted; continue with `writ run --continue run_ID`
    ");
    let screen = viewer.parser.screen();
    assert!(!screen.hide_cursor() && !screen.alternate_screen());
    let (row, column) = screen.cursor_position();
    assert_eq!(column, 0, "the prompt starts a line");
    let below: String = screen.rows(0, 80).skip(usize::from(row)).collect();
    assert_eq!(below.trim(), "");
}

#[test]
fn the_screen_counts_the_time_until_a_provider_takes_work_again() {
    let cli = Cli::writ();
    windows::limited(&cli);
    write_plan(&cli, "objective = \"o\"\n[[task]]\nid = \"a\"\nexecutor = \"claude\"\nprompt = \"p\"\n");
    let mut viewer = Viewer::start(&cli, (140, 24));
    viewer.shows("for claude until ");
    viewer.shows("TIME left");
    viewer.program.press("\u{3}");
    assert_eq!(viewer.program.wait().code(), Some(130));
    let all = viewer.everything();
    assert!(all.contains("; 1 task waits for claude until "), "{all}");
}

#[test]
fn colors_are_used_only_where_they_are_wanted() {
    let colored = |variables: &[(&str, &str)]| {
        let cli = Cli::writ();
        write_plan(&cli, &many(3));
        let mut call = cli.call(["run", "plan.toml"]).without_env("NO_COLOR").env("TERM", "xterm");
        for (name, value) in variables {
            call = call.env(*name, *value);
        }
        go(&cli);
        let mut program = call.on_terminal(80, 24);
        program.wait();
        let printed = String::from_utf8_lossy(&program.printed()).into_owned();
        (printed.contains("\u{1b}[0;3"), printed.contains("\u{1b}["))
    };
    assert_eq!(colored(&[]), (true, true));
    assert_eq!(colored(&[("NO_COLOR", "1")]), (false, true));
    assert_eq!(colored(&[("CLICOLOR", "0")]), (false, true));
    assert_eq!(colored(&[("TERM", "dumb")]), (false, false), "a dumb terminal gets plain lines");
}

#[test]
fn a_pipe_gets_plain_lines() {
    let cli = Cli::writ();
    write_plan(&cli, &many(3));
    go(&cli);
    let output = cli.call(["run", "plan.toml"]).env("TERM", "xterm").run();
    assert!(!output.stderr.contains('\u{1b}'), "{output}");
    assert!(output.stderr.contains("t000: started\n"), "{output}");
    assert!(output.stderr.contains("t000: failed after "), "{output}");
}
