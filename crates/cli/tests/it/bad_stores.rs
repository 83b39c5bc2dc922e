//! A store that cannot be used is refused with a reason, and stays as it is.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::{Cli, Output};

use crate::documents::{plan, scripted, shell, with, writ};

/// Makes or changes a database with the `sqlite3` program.
#[track_caller]
pub(crate) fn sqlite(database: &Path, statements: &str) -> String {
    let cli = Cli::new("sqlite3");
    cli.run([database.to_str().unwrap(), statements]).success().stdout.clone()
}

/// One call of each kind: a mutation, a read, a run.
fn calls(cli: &Cli) -> [Output; 3] {
    cli.scratch().write("project/plan.json", plan([scripted("a", "write mark.txt ran")]).to_string());
    [
        cli.run(["task", "create", "--title", "t", "--agent", "ann", "--request-id", "r1"]),
        cli.run(["runs", "list", "--output", "json"]),
        cli.run(["run", "plan.json", "--output", "json"]),
    ]
}

#[track_caller]
fn all_refused(cli: &Cli, code: &str, words: &str) {
    for output in calls(cli) {
        let said = output.fails_with(1).json();
        assert_eq!(said["error_code"], code, "{output}");
        assert!(said["error"].as_str().unwrap().contains(words), "{output}");
        assert!(said["suggested_action"].is_string(), "{output}");
    }
    assert!(!cli.scratch().has("project/mark.txt"));
}

#[test]
fn another_programs_database_is_refused_and_not_changed_by_a_byte() {
    let cli = writ();
    sqlite(&cli.db(), "PRAGMA journal_mode=WAL; CREATE TABLE notes(text); INSERT INTO notes VALUES('mine');");
    let before = fs::read(cli.db()).unwrap();
    all_refused(&cli, "FOREIGN_STORE", "belongs to another program");
    assert_eq!(fs::read(cli.db()).unwrap(), before);
    assert_eq!(sqlite(&cli.db(), "SELECT * FROM notes"), "mine\n");
}

#[test]
fn a_file_that_is_no_database_is_refused_and_not_changed() {
    let cli = writ();
    let text = "Dear diary, this is not a database at all.\n".repeat(100);
    fs::write(cli.db(), &text).unwrap();
    all_refused(&cli, "FOREIGN_STORE", "writ.db");
    assert_eq!(fs::read_to_string(cli.db()).unwrap(), text);
}

#[test]
fn a_store_of_a_newer_writ_is_not_written_to() {
    let cli = writ();
    calls(&cli)[0].success();
    fs::remove_file(cli.project().join("mark.txt")).unwrap();
    sqlite(&cli.db(), "PRAGMA user_version = 999999;");
    let before = fs::read(cli.db()).unwrap();
    all_refused(&cli, "NEWER_STORE", "newer version of writ");
    assert_eq!(fs::read(cli.db()).unwrap(), before);
}

/// Runs a script of shell in `disk`, a file system of its own, as root in a namespace. `$WRIT` is the program.
#[track_caller]
fn on_a_disk(options: &str, script: &str) -> Output {
    let cli = Cli::new("sh");
    let disk = cli.scratch().dir("disk");
    let agent = "--agent ann --output json";
    let script = format!("set -u; mount -t tmpfs -o {options} tmpfs {} || exit 99\n{script}", disk.display());
    let words = [
        "-c",
        "unshare -Urm true 2> /dev/null && exec unshare -Urm sh -c \"$0\"; exec unshare -m sh -c \"$0\"",
    ];
    let db = disk.join("writ.db");
    let call = cli.call(words.into_iter().chain([script.as_str()]));
    let call =
        call.env("WRIT", env!("CARGO_BIN_EXE_writ")).env("WRIT_DB", db).env("DISK", disk).env("WHO", agent);
    call.run()
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let output = on_a_disk(
        "ro",
        "$WRIT task create $WHO --title t --request-id r1; echo \"exit $?\"
         $WRIT task list $WHO; echo \"exit $?\"",
    );
    let lines: Vec<&str> = output.success().stdout.lines().collect();
    assert_eq!((lines[1], lines[3], lines.len()), ("exit 1", "exit 1", 4), "{output}");
    for line in [lines[0], lines[2]] {
        let said: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(said["error_code"], "STORE_UNAVAILABLE", "{output}");
        let message = said["error"].as_str().unwrap();
        assert!(message.contains("/disk/writ.db") && message.contains("Read-only"), "{output}");
    }
}

#[test]
fn on_a_full_disk_nothing_is_half_written_and_nothing_acknowledged_is_lost() {
    let output = on_a_disk(
        "size=2m",
        "head -c 1300000 /dev/zero > $DISK/ballast
         made=0
         while $WRIT task create $WHO --title \"task $made\" --request-id r$made > last.json && [ $made -lt 500 ]; do made=$((made + 1)); done
         cat last.json
         rm $DISK/ballast
         $WRIT task create $WHO --title \"task $made\" --request-id r$made > again.json || exit 1
         $WRIT task list $WHO --limit 1000 > list.json || exit 1
         $WRIT audit verify --replay > verify.txt || exit 1
         echo $made; grep -o '\"count\":[0-9]*' list.json; cat verify.txt",
    );
    let lines: Vec<&str> = output.success().stdout.lines().collect();
    let refused: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(
        (&refused["error_code"], &refused["retry"]),
        (&json!("STORE_UNAVAILABLE"), &json!("later")),
        "{output}"
    );
    assert!(refused["error"].as_str().unwrap().contains("the disk that holds the store is full"), "{output}");
    // What was acknowledged before, and the refused one after it was sent again.
    let made: usize = lines[1].parse().unwrap();
    assert!(made > 0, "{output}");
    assert_eq!(lines[2], format!("\"count\":{}", made + 1), "{output}");
    assert!(lines.contains(&"integrity: ok, no event was changed"), "{output}");
    assert!(lines.contains(&"completeness: ok, no event is missing"), "{output}");
}

#[test]
fn a_store_on_a_disk_that_became_read_only_is_refused_and_whole_again_afterwards() {
    let output = on_a_disk(
        "size=2m",
        "$WRIT task create $WHO --title t --request-id r1 > made.json || exit 1
         mount -o remount,ro $DISK || exit 99
         $WRIT task create $WHO --title u --request-id r2; echo \"exit $?\"
         mount -o remount,rw $DISK || exit 99
         $WRIT task create $WHO --title u --request-id r2 > made.json || exit 1
         $WRIT audit verify --replay > verify.txt || exit 1",
    );
    let lines: Vec<&str> = output.success().stdout.lines().collect();
    assert_eq!(lines[1], "exit 1", "{output}");
    let said: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(said["error_code"], "STORE_UNAVAILABLE", "{output}");
}

#[test]
fn what_is_still_in_the_log_of_a_store_is_read_from_a_read_only_disk() {
    let output = on_a_disk(
        "size=8m",
        "$WRIT task create $WHO --title first --request-id r1 > made.json || exit 1
         mkfifo hold
         sqlite3 $DISK/writ.db < hold & holder=$!
         exec 3> hold; echo 'SELECT count(*) FROM tasks;' >&3
         echo '.shell touch ready' >&3
         until [ -e ready ]; do sleep 0.01; done
         $WRIT task create $WHO --title second --request-id r2 > made.json || exit 1
         kill -9 $holder; wait $holder 2> /dev/null; exec 3>&-
         test -s $DISK/writ.db-wal || exit 3
         mount -o remount,ro $DISK || exit 99
         $WRIT task list $WHO || exit 4
         mount -o remount,rw $DISK || exit 99
         rm $DISK/writ.db-shm || exit 5
         mount -o remount,ro $DISK || exit 99
         $WRIT task list $WHO || exit 6
         $WRIT task create $WHO --title third --request-id r3; echo \"exit $?\"
         ls /tmp | grep writ-read- && exit 7; exit 0",
    );
    let lines: Vec<&str> =
        output.success().stdout.lines().filter(|line| line.starts_with(['{', 'e'])).collect();
    for line in [lines[0], lines[1]] {
        assert!(line.contains("first") && line.contains("second"), "{output}");
    }
    let refused: serde_json::Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!((&refused["error_code"], lines[3]), (&json!("STORE_UNAVAILABLE"), "exit 1"), "{output}");
    assert!(refused["error"].as_str().unwrap().contains("not writable"), "{output}");
}

#[test]
fn a_run_whose_disk_fills_up_stops_with_a_reason_and_is_finished_when_there_is_space() {
    // The first child takes the last byte, so that nothing of what it did can be written down.
    let fills = "head -c 9m /dev/zero > $DISK/ballast; touch filled; exit 0";
    let first = with(
        shell("first", fills),
        json!({"sandbox": "off", "checks": [{"command": "filled", "expects": "FILE_EXISTS"}]}),
    );
    let second = with(scripted("second", "append order.txt x"), json!({"depends_on": ["first"]}));
    let script = format!(
        "printf '%s' '{}' > plan.json
         $WRIT run plan.json --output json; echo \"exit $?\"
         rm $DISK/ballast
         run=$($WRIT runs list --output json | grep -o 'run_[a-z0-9]*' | head -n 1)
         $WRIT run --continue $run --output json || exit 1
         $WRIT audit verify --replay || exit 1
         cat order.txt",
        plan([first, second])
    );
    let output = on_a_disk("size=2m", &script);
    let lines: Vec<&str> = output.success().stdout.lines().collect();
    let refused: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!((&refused["error_code"], lines[1]), (&json!("STORE_UNAVAILABLE"), "exit 1"), "{output}");
    let done: serde_json::Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!(done["data"]["reason"], "2 of 2 tasks done, 1 only claimed", "{output}");
    // The first was verified by what it left, and not run again.
    assert_eq!((&done["data"]["tasks"][0]["attempts"], lines.last()), (&json!(1), Some(&"x")), "{output}");
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_with_an_answer() {
    let cli = writ();
    cli.run(["task", "create", "--agent", "ann", "--request-id", "r1", "--title", "one"]).success();
    let shell = Cli::new("sh").env("WRIT_DB", cli.db()).env("WRIT", env!("CARGO_BIN_EXE_writ"));
    let create = "$WRIT task create --agent ann --request-id r2 --title two --output json";
    let limited = shell.run(["-c", &format!("ulimit -f 1; {create}; echo exit $?")]);
    let lines: Vec<&str> = limited.success().stdout.lines().collect();
    let refused: serde_json::Value = serde_json::from_str(lines[0]).unwrap_or_default();
    assert_eq!(
        (&refused["error_code"], lines.last()),
        (&json!("STORE_UNAVAILABLE"), Some(&"exit 1")),
        "{limited}"
    );
    // Nothing was written, so the same request id does it.
    shell.run(["-c", create]).success();
    assert_eq!(cli.run(["task", "list"]).success().json()["data"]["count"], 2);
    cli.run(["audit", "verify", "--replay"]).success();
    // Its children get the system's default back: the limit ends them.
    let plan = json!({"objective": "o", "task": [{"id": "a", "command": "ulimit -f 1; exec head -c 9999 /dev/zero > f",
        "shell": true}]});
    let ran = cli.call(["run", "-", "--output", "json"]).stdin(plan.to_string()).run().fails_with(1).json();
    let shown = cli.run(["task", "list"]).success().stdout.clone();
    assert!(ran["data"].to_string().contains("signal 25") || shown.contains("signal 25"), "{ran} {shown}");
}

#[test]
fn the_doctor_sees_a_full_disk_and_is_not_troubled_by_an_open_ledger() {
    let output = on_a_disk("size=2m", "$WRIT doctor; echo \"exit $?\"");
    let text = &output.success().stdout;
    assert!(text.contains("BAD  disk") && text.contains("exit 1"), "{output}");
    let cli = writ();
    crate::documents::opened(&cli, "objective = \"o\"\n[[task]]\nid = \"a\"\ncommand = [\"true\"]\n");
    let doctor = cli.run(["doctor"]);
    assert!(doctor.success().stdout.contains("1 crew ledgers are open"), "{doctor}");
}

#[test]
fn snapshots_are_listed_and_removed_on_a_full_disk() {
    let output = on_a_disk(
        "size=8m",
        "mkdir w && cd w && mkdir s && echo one > s/a
         printf 'objective = \"x\"\n[[task]]\nid = \"t\"\ncommand = [\"true\"]\nwrites = [\"s\"]\n' > plan.toml
         $WRIT run plan.toml > /dev/null 2>&1 || exit 1
         cat /dev/zero > $DISK/ballast 2> /dev/null
         $WRIT snapshots list > list.txt || exit 1
         $WRIT snapshots gc > gc.txt || exit 1
         wc -l < list.txt",
    );
    assert!(!output.success().stdout.trim().is_empty(), "{output}");
}

#[test]
fn a_task_with_rollback_does_not_start_if_the_disk_has_no_room_for_its_snapshot() {
    let output = on_a_disk(
        "size=8m",
        "mkdir w && cd w && mkdir s && head -c 20000000 /dev/urandom > s/large && echo one > s/small
         printf 'objective = \"x\"\nrollback = true\n[[task]]\nid = \"t\"\ncommand = [\"touch\", \"s/ran\"]\nwrites = [\"s\"]\n' > plan.toml
         $WRIT run plan.toml > out.txt 2>&1 && exit 1
         ls s; cat out.txt",
    );
    let text = &output.success().stdout;
    assert!(text.contains("E_ROLLBACK_FAILED") && text.contains("No space left on device"), "{output}");
    assert!(!text.contains("ran\n"), "{output}");
}
