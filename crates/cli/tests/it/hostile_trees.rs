//! What a hostile task leaves in its scope, and what a rollback makes of it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::Value;
use testkit::Cli;

use crate::run_view::write_plan;
use crate::sandbox::has;

/// Runs a task that may write to `src`, which has one file, and rolls it back. Returns what became of each path.
fn rolled(cli: &Cli, script: &str) -> Vec<Value> {
    let source = cli.project().join("src");
    fs::create_dir_all(&source).unwrap();
    fs::write(source.join("file"), "one\n").unwrap();
    write_plan(
        cli,
        &format!(
            "objective = \"o\"\nworkspace = \".\"\nsandbox = \"off\"\n[[task]]\nid = \"a\"\nshell = true\n\
             writes = [\"src\"]\ncommand = '''\necho two > src/file\n{script}\n'''\n"
        ),
    );
    cli.call(["run", "plan.toml"]).run().success();
    let answer = cli.call(["rollback", "a", "--output", "json"]).run().json();
    answer["data"]["files"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
}

fn became<'f>(files: &'f [Value], path: &str) -> &'f str {
    let file = files.iter().find(|file| file["path"] == path);
    file.unwrap_or_else(|| panic!("{path} in {files:?}"))["status"].as_str().unwrap()
}

fn restored(cli: &Cli) -> bool {
    fs::read_to_string(cli.project().join("src/file")).is_ok_and(|text| text == "one\n")
}

#[test]
fn names_with_line_ends_or_without_text_or_that_differ_in_case_are_taken_back() {
    let cli = Cli::writ();
    let files = rolled(
        &cli,
        "cd src; echo x > 'a\nb'; echo x > \"$(printf '\\377x')\"; echo x > File; ln -s /etc/passwd 'l\nm'; mkdir 'd\n'",
    );
    assert!(restored(&cli) && files.len() == 6, "{files:?}");
    assert_eq!(fs::read_dir(cli.project().join("src")).unwrap().count(), 1);
}

#[test]
fn a_tree_too_deep_for_a_path_is_listed_and_the_rest_is_taken_back() {
    let cli = Cli::writ();
    if !has("python3") {
        return;
    }
    let name = "d".repeat(200);
    let deep = format!(
        "cd src; python3 -c 'import os\nfor _ in range(25):\n    os.mkdir(\"{name}\"); os.chdir(\"{name}\")\n'"
    );
    let files = rolled(&cli, &deep);
    assert!(restored(&cli), "{:?}", files.first());
    assert_eq!(became(&files, "src/file"), "done");
    assert_eq!(became(&files, &format!("src/{name}")), "conflict");
}

#[test]
fn a_scope_that_became_a_link_and_a_parent_that_was_renamed_lead_nowhere() {
    let cli = Cli::writ();
    let outside = cli.scratch().dir("outside");
    fs::write(outside.join("file"), "outside\n").unwrap();
    let script = format!("mv src away; ln -s {} src", outside.display());
    rolled(&cli, &script);
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "outside\n");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_hard_link_to_a_file_outside_is_cut_and_not_written_through() {
    let cli = Cli::writ();
    let source = cli.project().join("src");
    fs::create_dir_all(&source).unwrap();
    let outside = cli.scratch().write("outside/file", "outside\n");
    let script = format!("ln -f {} src/file", outside.display());
    rolled(&cli, &script);
    assert!(restored(&cli));
    assert_eq!(fs::read_to_string(&outside).unwrap(), "outside\n");
    assert_eq!(fs::metadata(&outside).unwrap().nlink(), 1);
}

#[test]
fn pipes_huge_files_closed_directories_and_special_modes_stop_nothing() {
    let cli = Cli::writ();
    let source = cli.project().join("src");
    fs::create_dir_all(source.join("dir")).unwrap();
    fs::write(source.join("dir/inner"), "x").unwrap();
    let files = rolled(
        &cli,
        "cd src; mkfifo pipe; truncate -s 1T huge; cp /bin/true su; chmod 6755 su; echo y > dir/inner; chmod 000 dir; \
         touch -d 2001-01-01 dir; mkdir closed; echo z > closed/z; chmod 555 closed",
    );
    assert!(restored(&cli), "{files:?}");
    let mode = fs::metadata(source.join("dir")).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o755, "{files:?}");
    assert_eq!(fs::read_to_string(source.join("dir/inner")).unwrap(), "x");
    assert_eq!((became(&files, "src/pipe"), became(&files, "src/huge")), ("failed", "conflict"));
    assert!(!source.join("su").exists() && !source.join("closed").exists(), "{files:?}");
}

#[test]
fn links_with_the_names_of_temporary_files_are_not_followed() {
    let cli = Cli::writ();
    let target = cli.scratch().write("outside/file", "outside\n");
    // Whatever name a new file gets first, nothing that was there is opened.
    rolled(
        &cli,
        &format!(
            "cd src; for n in .file.tmp file.tmp .writ-file .file.writ-new; do ln -s {} $n; done",
            target.display()
        ),
    );
    assert!(restored(&cli));
    assert_eq!(fs::read_to_string(&target).unwrap(), "outside\n");
    assert_eq!(fs::read_dir(cli.project().join("src")).unwrap().count(), 1);
    symlink(&target, cli.project().join("src/later")).unwrap();
    cli.run(["rollback", "a", "--redo"]).success();
    assert_eq!(fs::read_to_string(&target).unwrap(), "outside\n");
}
