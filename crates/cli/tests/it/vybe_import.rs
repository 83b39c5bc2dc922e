//! A vybe database is carried over, and left as it was.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::Cli;

use crate::bad_stores::sqlite;
use crate::documents::writ;
use crate::run_view::audit_is_clean;

/// A database as vybe keeps one, with its three ways to write a time.
pub(crate) const VYBE: &str = r#"
CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY, version_id INTEGER);
CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT, description TEXT, status TEXT, priority INTEGER, project_id TEXT,
    blocked_reason TEXT, version INTEGER, created_at TIMESTAMP, updated_at TIMESTAMP);
CREATE TABLE task_dependencies (task_id TEXT, depends_on_task_id TEXT);
CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT, agent_name TEXT, project_id TEXT, task_id TEXT, message TEXT,
    metadata TEXT, created_at TIMESTAMP, archived_at TIMESTAMP);
CREATE TABLE memory (id INTEGER PRIMARY KEY, key TEXT, value TEXT, value_type TEXT, scope TEXT, scope_id TEXT,
    expires_at TIMESTAMP, updated_at TIMESTAMP, created_at TIMESTAMP);
CREATE TABLE artifacts (id TEXT PRIMARY KEY, task_id TEXT, event_id INTEGER, file_path TEXT, content_type TEXT,
    created_at TIMESTAMP);
CREATE TABLE projects (id TEXT PRIMARY KEY, name TEXT, metadata TEXT, created_at TIMESTAMP);
CREATE TABLE agent_state (agent_name TEXT PRIMARY KEY, last_seen_event_id INTEGER, focus_task_id TEXT,
    focus_project_id TEXT, version INTEGER, last_active_at TIMESTAMP);
CREATE TABLE idempotency (agent_name TEXT, request_id TEXT, command TEXT, result_json TEXT);
INSERT INTO projects VALUES ('/w/p', 'p', '', '2026-02-21 10:00:00');
INSERT INTO tasks VALUES
    ('task_1771664400123456789_0123456789ab', 'Open', 'do it', 'pending', 5, '/w/p', NULL, 1,
     '2026-02-21 10:00:00.123456789 +0100 CET m=+0.01', '2026-02-21T09:00:00Z'),
    ('task_1771664400123456790_0123456789ab', 'Closed', '', 'completed', 0, NULL, NULL, 2, 1771664400, 1771664460),
    ('task_1771664400123456791_0123456789ab', 'Stuck', '', 'blocked', 0, NULL, 'failure:no key', 2,
     '2026-02-21T09:00:00Z', '2026-02-21T09:00:00Z');
INSERT INTO task_dependencies VALUES
    ('task_1771664400123456789_0123456789ab', 'task_1771664400123456790_0123456789ab'), ('task_gone', 'task_gone');
INSERT INTO events VALUES
    (7, 'progress', 'claude-p', '/w/p', 'task_1771664400123456789_0123456789ab', 'half way', '{"n": 1}',
     '2026-02-21T09:00:00Z', NULL),
    (9, 'note', 'Claude-P', NULL, '', 'big', '{"n": 12345678901234567890}', '2026-02-21T09:00:01Z', NULL);
INSERT INTO memory VALUES
    (1, 'style', 'tabs', 'string', 'global', '', NULL, '2026-02-21T09:00:00Z', '2026-02-21T09:00:00Z'),
    (2, 'count', 'many', 'number', 'global', '', NULL, '2026-02-21T09:00:00Z', '2026-02-21T09:00:00Z');
INSERT INTO artifacts VALUES ('artifact_1771664400123456789_0123456789ab', 'task_1771664400123456790_0123456789ab', 7,
    'out.txt', 'text/plain', '2026-02-21T09:00:00Z');
INSERT INTO agent_state VALUES
    ('claude-p', 8, 'task_1771664400123456789_0123456789ab', '/w/p', 3, '2026-02-21T09:00:00Z');
INSERT INTO idempotency VALUES ('claude-p', 'r1', 'task.create', '{}');
"#;

const OPEN: &str = "task_1771664400123456789_0123456789ab";

fn database(cli: &Cli) -> PathBuf {
    let path = cli.scratch().join("vybe.db");
    sqlite(&path, VYBE);
    path
}

fn data(cli: &Cli, words: &[&str]) -> Value {
    cli.run(words.iter().chain(&["--output", "json"])).success().json()["data"].clone()
}

#[test]
fn what_vybe_knew_is_known_here_and_its_file_is_left_as_it_was() {
    let cli = writ();
    let path = database(&cli);
    let path = path.to_str().unwrap();
    let before = fs::read(path).unwrap();
    let call = ["import", "--from", "vybe", path, "--output", "json", "--request-id", "once"];
    let first = cli.run(call);
    let things = first.success().json()["data"]["report"]["things"].clone();
    let counted = |found: u64, carried: u64| json!({"found": found, "carried": carried});
    assert_eq!(
        things,
        json!({
            "agents": counted(1, 1), "artifacts": counted(1, 1), "dependencies": counted(2, 1),
            "events": counted(2, 2), "memories": counted(2, 1), "projects": counted(1, 1),
            "request ids": counted(1, 0), "tasks": counted(3, 3),
        }),
        "{first}"
    );
    assert_eq!(cli.run(call).success().stdout, first.stdout, "asked again, it is not done again");
    assert_eq!(fs::read(path).unwrap(), before);

    let open = data(&cli, &["task", "get", "--id", OPEN]);
    assert_eq!((&open["status"], &open["priority"]), (&json!("pending"), &json!(5)));
    assert_eq!(open["created_at"], "2026-02-21T09:00:00.123Z");
    assert_eq!(open["depends_on"], json!(["task_1771664400123456790_0123456789ab"]));
    let stuck = data(&cli, &["task", "get", "--id", "task_1771664400123456791_0123456789ab"]);
    assert_eq!((&stuck["status"], &stuck["blocked_reason"]), (&json!("blocked"), &json!("failure:no key")));
    assert_eq!(data(&cli, &["memory", "get", "--key", "style"])["value"], "tabs");
    let artifacts = data(&cli, &["artifacts", "list", "--task-id", "task_1771664400123456790_0123456789ab"]);
    assert_eq!(artifacts["artifacts"][0]["file_path"], "out.txt");
    let events = data(&cli, &["events", "list", "--agent", "claude-p", "--asc"]);
    let event = &events["events"][0];
    assert_eq!((&event["kind"], &event["message"]), (&json!("progress"), &json!("half way")));
    assert_eq!(event["metadata"]["created_at"], "2026-02-21T09:00:00.000Z");
    assert_eq!(event["metadata"]["metadata"], json!({"n": 1}));
    assert_eq!(events["events"][1]["metadata"]["metadata"], "{\"n\": 12345678901234567890}");
    audit_is_clean(&cli);
    let resumed = cli.run(["resume", "--agent", "claude-p", "--request-id", "r", "--output", "json"]);
    assert_eq!(resumed.success().json()["data"]["focus_task_id"], OPEN, "{resumed}");
}

#[test]
fn what_is_here_already_is_kept() {
    let cli = writ();
    let path = database(&cli);
    let path = path.to_str().unwrap();
    cli.run(["memory", "set", "--key", "style", "--value", "mine", "--agent", "a", "--request-id", "r"])
        .success();
    cli.run(["import", "--from", "vybe", path]).success();
    let again = cli.run(["import", "--from", "vybe", path]);
    assert!(again.success().stdout.contains("tasks: 0 of 3 carried"), "{again}");
    assert!(again.stdout.contains(&format!("task {OPEN} is here already")), "{again}");
    assert_eq!(data(&cli, &["memory", "get", "--key", "style"])["value"], "mine");
    audit_is_clean(&cli);
}

#[test]
fn a_file_that_is_no_vybe_database_is_refused_and_nothing_is_written() {
    let cli = writ();
    let other = cli.scratch().join("other.db");
    sqlite(&other, "CREATE TABLE notes (text);");
    let refused = cli.run(["import", "--from", "vybe", other.to_str().unwrap(), "--output", "json"]);
    let said = refused.fails_with(1).json();
    assert!(said["error"].as_str().unwrap().contains("is not a vybe database"), "{refused}");
    let missing = cli.run(["import", "--from", "vybe", "nowhere.db", "--output", "json"]);
    assert_eq!(missing.fails_with(1).json()["success"], false, "{missing}");
}

#[test]
fn opening_a_vybe_database_as_a_store_says_how_to_carry_it_over() {
    let cli = writ();
    let path = database(&cli);
    let refused = cli.run(["task", "list", "--db-path", path.to_str().unwrap()]);
    let said = refused.fails_with(1).json();
    assert_eq!(said["error_code"], "FOREIGN_STORE", "{refused}");
    assert!(said["suggested_action"].as_str().unwrap().contains("writ import --from vybe"), "{refused}");
}

/// A database of the original, where it keeps it.
fn installed(cli: &Cli) -> PathBuf {
    let path = cli.scratch().dir("home/.config/vybe").join("vybe.db");
    sqlite(&path, VYBE);
    path
}

/// A call without anything that names a store.
fn plainly(cli: &Cli, name: &str, words: &[&str]) -> testkit::Output {
    cli.call(words).named(name).without_env("WRIT_DB").run()
}

#[test]
fn an_installation_of_the_original_is_found_and_mentioned_until_it_is_imported() {
    for (name, import) in
        [("vybe", &["import"][..]), ("writ", &["import", "--from", "vybe", "--output", "json"])]
    {
        let cli = writ();
        let path = installed(&cli);
        let shown = path.to_str().unwrap();
        let command = if name == "vybe" { "`vybe import " } else { "`writ import --from vybe " };
        let first = plainly(&cli, name, &["task", "list"]);
        assert_eq!(first.success().stderr.lines().count(), 1, "{first}");
        assert!(first.stderr.contains(shown) && first.stderr.contains(command), "{first}");
        assert_eq!(plainly(&cli, name, &["task", "list"]).success().stderr, "", "it is said once");
        let codes = || {
            let status = plainly(&cli, name, &["status"]).success().json()["data"].clone();
            let found = status["diagnostics"].as_array().into_iter().flatten();
            found.map(|one| (one["code"].clone(), one["suggested_action"].clone())).collect::<Vec<_>>()
        };
        let action = format!("import it with {command}{shown}`");
        assert_eq!(codes(), [(json!("VYBE_FOUND"), json!(action))]);
        let imported = plainly(&cli, name, import);
        let report = imported.success().json()["data"]["report"]["things"]["tasks"].clone();
        assert_eq!(report, json!({"found": 3, "carried": 3}), "{imported}");
        assert!(!imported.stderr.contains(command), "it was imported: {imported}");
        assert_eq!(codes(), []);
        let task = plainly(&cli, name, &["task", "get", "--id", OPEN]).success().json();
        assert_eq!(task["data"]["priority"], 5);
    }
}

#[test]
fn the_originals_configuration_and_variable_say_where_its_database_is() {
    let cli = writ();
    let path = database(&cli);
    let config = cli.scratch().dir("home/.config/vybe").join("config.yaml");
    fs::write(config, format!("# vybe configuration\ndb_path: \"{}\"\n", path.display())).unwrap();
    let first = plainly(&cli, "vybe", &["task", "list"]);
    assert!(first.success().stderr.contains(path.to_str().unwrap()), "{first}");
    // The variable names the original's own database: nothing is written to it, and the refusal says what to do.
    let call = |words: &[&str]| {
        cli.call(words).named("vybe").without_env("WRIT_DB").env("VYBE_DB_PATH", &path).run()
    };
    let before = fs::read(&path).unwrap();
    let refused = call(&["task", "list"]).fails_with(1).json();
    assert_eq!(refused["error_code"], "FOREIGN_STORE");
    assert!(refused["suggested_action"].as_str().unwrap().contains("`vybe import"), "{refused}");
    let imported = call(&["import"]);
    assert_eq!(imported.success().json()["data"]["report"]["things"]["tasks"]["carried"], 3, "{imported}");
    assert!(imported.stderr.contains("VYBE_DB_PATH"), "{imported}");
    assert_eq!(fs::read(&path).unwrap(), before);
    let task = plainly(&cli, "vybe", &["task", "get", "--id", OPEN]).success().json();
    assert_eq!(task["data"]["id"], OPEN);
}

#[test]
fn without_an_installation_an_import_says_what_it_needs() {
    let cli = writ();
    let none = plainly(&cli, "vybe", &["import"]);
    assert_eq!(none.fails_with(1).json()["error"], "no vybe database was found");
    assert!(!cli.scratch().has("home/.local/share/writ/writ.db"));
    let usage = cli.run(["import", "--output", "json"]).fails_with(2).json();
    assert_eq!((&usage["error_code"], &usage["error"]), (&json!("USAGE"), &json!("FILE is required")));
    // A file that is not the original's is not mentioned.
    cli.scratch()
        .write("home/.config/vybe/vybe.db", "no database, but notes that are long enough for a header");
    assert_eq!(plainly(&cli, "vybe", &["task", "list"]).success().stderr, "");
}

#[test]
fn a_database_that_would_keep_others_waiting_is_refused_before_anything_is_locked() {
    let cli = writ();
    let path = database(&cli);
    cli.run(["memory", "set", "--key", "k", "--value", "v", "--agent", "a", "--request-id", "r"]).success();
    sqlite(
        &path,
        "WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 50100)
         INSERT INTO events SELECT i, 'note', 'claude-p', NULL, '', 'm', '', '2026-02-21T09:00:00Z', NULL FROM n",
    );
    let refused = cli.run(["import", "--from", "vybe", path.to_str().unwrap(), "--output", "json"]);
    let answer = refused.fails_with(1).json();
    assert_eq!(answer["error_code"], "TOO_LARGE", "{refused}");
    assert!(refused.stdout.contains("VYBE_ROWS_MAX"), "{refused}");
    assert_eq!(data(&cli, &["task", "list"])["count"], 0);
}
