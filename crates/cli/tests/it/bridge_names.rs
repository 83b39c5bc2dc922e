//! Called as `ol` or `ao`, the program has that side's commands, versions and exit codes.

use serde_json::json;
use testkit::{Cli, Output};

use crate::documents::writ;

fn call(cli: &Cli, name: &str, words: &[&str]) -> Output {
    cli.call(words).named(name).run()
}

#[test]
fn versions_are_one_line_and_make_no_store() {
    let cli = writ();
    for name in ["ol", "ao"] {
        for words in [["--version"], ["version"]] {
            let output = call(&cli, name, &words);
            let line = format!("{name} version {}", env!("CARGO_PKG_VERSION"));
            assert_eq!(output.success().stdout.lines().next(), Some(line.as_str()));
        }
    }
    assert!(!cli.db().exists());
}

#[test]
fn usage_errors_exit_with_1_and_help_with_0() {
    let cli = writ();
    for (name, words) in [
        ("ol", &["bogus"][..]),
        ("ol", &["init", "--bogus"]),
        ("ol", &["init", "-o", "yaml"]),
        ("ao", &["bogus"]),
        ("ao", &["version", "extra"]),
    ] {
        let output = call(&cli, name, words);
        assert_eq!((output.fails_with(1).stdout.as_str(), output.stderr.is_empty()), ("", false), "{output}");
    }
    for name in ["ol", "ao"] {
        for words in [&[][..], &["--help"]] {
            let help = call(&cli, name, words);
            assert!(help.success().stdout.contains(&format!("Usage: {name}")), "{help}");
        }
    }
    assert!(!cli.db().exists());
}

#[test]
fn init_makes_the_directory_once_and_prints_a_bare_document() {
    let cli = writ();
    let made = call(&cli, "ol", &["init", "-o", "json"]).success().json();
    let directory = cli.project().join(".ol");
    assert_eq!(made, json!({"schema_version": 1, "directory": directory.to_str().unwrap(), "created": true}));
    assert!(directory.join("quests").is_dir());
    let again = call(&cli, "ol", &["--output", "json", "init"]).success().json();
    assert_eq!(again["created"], false);
}
