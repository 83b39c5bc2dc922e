//! A new user's path: install, write a plan of five tasks, find the check that fails, fix it, retry. Every command comes from
//! README or from what the program printed before.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::{Cli, Output};

/// What the user wants done. `tests` fails at first: the parser has a bug.
const PLAN: &str = r#"
objective = "Ship the parser"

[[task]]
id = "fetch"
command = ["cp", "upstream.txt", "grammar.txt"]
writes = ["grammar.txt"]

[[task.checks]]
command = "grammar.txt"
expects = "FILE_EXISTS"

[[task]]
id = "parser"
command = ["sh", "build.sh"]
depends_on = ["fetch"]
writes = ["parser.txt"]

[[task.checks]]
command = "parser.txt"
expects = "FILE_EXISTS"

[[task]]
id = "tests"
command = ["cp", "parser.txt", "tested.txt"]
depends_on = ["parser"]
writes = ["tested.txt"]

[[task.checks]]
command = ["sh", "test.sh"]

[[task]]
id = "docs"
command = ["cp", "grammar.txt", "docs.txt"]
depends_on = ["fetch"]
writes = ["docs.txt"]

[[task.checks]]
command = ["grep", "-q", "expr", "docs.txt"]

[[task]]
id = "release"
command = ["sh", "-c", "cat tested.txt docs.txt > release.txt"]
depends_on = ["tests", "docs"]
writes = ["release.txt"]

[[task.checks]]
command = ["grep", "-q", "parses expr", "release.txt"]
"#;

/// A user who knows README and what the program says, and nothing else.
struct NewUser {
    cli: Cli,
    readme: String,
}

impl NewUser {
    /// Installs the program where `cargo install` would: in a directory on the path, and nothing else.
    fn new() -> NewUser {
        let readme =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
        assert!(
            readme.contains("cargo install --profile dist --path crates/cli"),
            "README says how to install"
        );
        // The home of the runner has no data directory and no configuration yet.
        let cli = Cli::new("writ");
        let bin = cli.scratch().dir("home/.cargo/bin");
        fs::copy(env!("CARGO_BIN_EXE_writ"), bin.join("writ")).unwrap();
        #[expect(clippy::disallowed_methods, reason = "sh and git are where this machine has them")]
        let machine = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&machine))).unwrap();
        let cli = cli.env("PATH", path).env("WRIT_DB", "").env("USER", "newcomer");
        NewUser { cli, readme }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.cli.project().join(name), text).unwrap();
    }

    /// Types a line into a shell.
    fn types(&self, line: &str) -> Output {
        assert!(line.starts_with("writ "), "`{line}` is not a call of writ");
        self.cli.call(["-c", line]).program("sh").run()
    }

    /// The command in README that begins with these words.
    #[track_caller]
    fn command_in_readme(&self, words: &str) -> String {
        let mut blocks = self.readme.split("```").skip(1).step_by(2).filter(|block| block.starts_with("sh"));
        let found = blocks.find_map(|block| block.lines().find(|line| line.starts_with(words)));
        command(found.unwrap_or_else(|| panic!("README has no `{words} …`")))
    }

    /// The keys of the plan in README.
    fn keys_in_readme(&self) -> Vec<&str> {
        let mut blocks = self.readme.split("```").skip(1).step_by(2);
        let plan = blocks.find_map(|block| block.strip_prefix("toml\n")).unwrap();
        keys(plan)
    }
}

/// The line without its comment.
fn command(line: &str) -> String {
    line.split(" # ").next().unwrap_or_default().trim().to_owned()
}

/// The commands that the program suggests: the indented lines below `next:`, and those in backticks at its end.
fn suggested(output: &Output) -> Vec<String> {
    let printed = format!("{}\n{}", output.stdout, output.stderr);
    let below = printed.lines().skip_while(|line| line.trim() != "next:").skip(1);
    let listed = below.take_while(|line| line.starts_with("  ")).map(command);
    let quoted =
        printed.split('`').skip(1).step_by(2).filter(|code| code.starts_with("writ ")).map(str::to_owned);
    listed.chain(quoted).collect()
}

/// The suggested command that begins with these words.
#[track_caller]
fn next(output: &Output, words: &str) -> String {
    let suggested = suggested(output);
    let found = suggested.iter().find(|command| command.starts_with(words));
    found.unwrap_or_else(|| panic!("`{words} …` is not suggested: {suggested:?}\n{output}")).clone()
}

fn keys(plan: &str) -> Vec<&str> {
    let keys = plan.lines().filter_map(|line| {
        let key = line.split_once(" = ").map_or(line, |(key, _)| key).split('#').next().unwrap_or_default();
        Some(key.trim()).filter(|key| !key.is_empty())
    });
    keys.collect()
}

#[test]
fn a_new_user_gets_from_the_installation_to_a_plan_of_five_tasks_that_are_done() {
    let user = NewUser::new();
    for key in keys(PLAN) {
        assert!(user.keys_in_readme().contains(&key), "the plan uses `{key}`, which README does not show");
    }
    user.write("upstream.txt", "expr = term\n");
    user.write("build.sh", "echo 'parses term' > parser.txt\n");
    user.write(
        "test.sh",
        "cat parser.txt\ngrep -q 'parses expr' parser.txt || { echo 'expr is not parsed'; exit 3; }\n",
    );

    // The first version has two typing errors, and both are reported at once.
    let check = user.command_in_readme("writ plan check");
    user.write(
        "plan.toml",
        &PLAN.replacen("depends_on", "depend_on", 1).replacen("FILE_EXISTS", "EXISTS", 1),
    );
    let faults = user.types(&check);
    let reported = format!("{}{}", faults.fails_with(1).stdout, faults.stderr);
    assert!(reported.contains("depend_on") && reported.contains("EXISTS"), "{faults}");
    user.write("plan.toml", PLAN);
    let accepted = user.types(&check);
    assert!(accepted.success().stdout.contains("5 tasks"), "{accepted}");

    let failed = user.types(&next(&accepted, "writ run"));
    let summary = &failed.fails_with(1).stdout;
    for shown in ["sh test.sh", "exit 3", "expr is not parsed"] {
        assert!(summary.contains(shown), "`{shown}` is not in the summary\n{failed}");
    }
    let logs = user.types(&next(&failed, "writ logs"));
    assert!(logs.success().stdout.contains("expr is not parsed"), "{logs}");

    // The cause is in the parser. The user repairs it and takes the suggested command.
    user.write("build.sh", "echo 'parses expr' > parser.txt\n");
    user.write("parser.txt", "parses expr\n");
    let retried = user.types(&next(&failed, "writ retry"));
    assert!(retried.success().stdout.contains("5 of 5 tasks done"), "{retried}");
    let shown = user.types(&user.command_in_readme("writ runs show"));
    assert_eq!(shown.success().stdout.matches("verified").count(), 5, "{shown}");
    user.types(&next(&retried, "writ trace")).success();
    assert!(user.cli.leftovers().is_empty());
}

#[test]
fn a_new_user_finds_every_command_of_the_path_in_the_help() {
    let user = NewUser::new();
    let help = user.types("writ --help").success().stdout.clone();
    for words in ["plan", "run", "runs", "logs", "retry", "trace"] {
        assert!(
            help.lines().any(|line| line.starts_with(&format!("  {words} "))),
            "{words} is not in the help"
        );
        let own = user.types(&format!("writ {words} --help"));
        assert!(own.success().stdout.contains("Usage: writ"), "{own}");
    }
    let bin: PathBuf = user.cli.scratch().join("home");
    let made: Vec<_> = fs::read_dir(bin).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(!made.iter().any(|name| name == ".claude"), "reading help installs nothing: {made:?}");
}
