//! One call of each verb that writes, on a store that has something for it to do.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use contract::domain::request::{Agent, RequestId};
use ops::Session;
use ops::registry;
use ops::{Caller, Context};
use serde_json::{Value, json};
use testkit::{Cli, ManualClock, Scratch, SeededIds};

use crate::local::host;
use crate::windows::limited_by;

/// The run of a crew, and the name under which it comes from elsewhere.
const LEDGER: &str = "3f56dc4d-35cf-4f97-925c-0b04a6fe8bf4";
const CARRIED: &str = "0c8ee0a6-6a7c-4c7e-9d56-0d2f3f1d2b11";

pub(crate) struct Mutation {
    /// Its name in the registry.
    pub(crate) operation: &'static str,
    /// Words in braces stand for what [`template`] made under that name.
    pub(crate) words: &'static str,
    /// What it reads, with the same words in braces.
    pub(crate) input: &'static str,
    /// On a machine that has no store yet, not even its directory.
    pub(crate) on_nothing: bool,
}

const fn on_the_template(operation: &'static str, words: &'static str) -> Mutation {
    Mutation { operation, words, input: "", on_nothing: false }
}

pub(crate) const MUTATIONS: &[Mutation] = &[
    Mutation { operation: "task.create", words: "task create --title first", input: "", on_nothing: true },
    on_the_template("task.create", "task create --title another --project-id p"),
    on_the_template("task.begin", "task begin --id {todo}"),
    on_the_template(
        "task.set_status",
        "task set-status --id {todo} --status blocked --blocked-reason waiting",
    ),
    on_the_template("task.complete", "task complete --id {begun} --outcome done --summary finished"),
    on_the_template("task.set_priority", "task set-priority --id {todo} --priority 7"),
    on_the_template("task.add_dependency", "task add-dep --id {begun} --depends-on {todo}"),
    on_the_template("task.remove_dependency", "task remove-dep --id {waits} --depends-on {todo}"),
    on_the_template("task.delete", "task delete --id {waits}"),
    on_the_template("store.gc", "gc"),
    on_the_template("memory.set", "memory set --key style --value tabs --scope project --scope-id p"),
    on_the_template("memory.set", "memory set --key known --value other --expires-in 7d"),
    on_the_template("memory.pin", "memory pin --key known"),
    on_the_template("memory.delete", "memory delete --key known"),
    on_the_template("memory.gc", "memory gc"),
    on_the_template("resume", "resume --project-dir p"),
    on_the_template("lock.release", "lock release --run {ledger} --task T-1 --token {token}"),
    on_the_template("budget.set", "budget set --run {ledger} --cost 5 --tokens 100"),
    on_the_template("approval.request", "approval request --run {ledger} --task T-1"),
    on_the_template("limits.clear", "limits clear claude"),
    Mutation {
        operation: "handoff.import",
        words: "handoff import --workspace /usr",
        input: "{bundle}",
        on_nothing: false,
    },
    Mutation {
        operation: "agent.push",
        words: "push",
        input: r#"{"event": {"kind": "progress", "message": "half"}, "memories": [{"key": "a", "value": "b", "scope": "global"}]}"#,
        on_nothing: false,
    },
    on_the_template(
        "agent.push",
        r#"push --json {"task_id":"{begun}","artifacts":[{"file_path":"f"}],"task_status":{"status":"completed","summary":"s"}}"#,
    ),
];

/// Verbs that are not cut off here: only hooks call the first three, a person decides the next ten, and the others work in
/// several transactions, or with files and processes in between, which have tests of their own.
pub(crate) const NOT_CUT_OFF: [&str; 30] = [
    "agent.leave",
    "event.note",
    "session.checkpoint",
    "trust.grant",
    "trust.revoke",
    "token.create",
    "token.revoke",
    "approval.decide",
    "lock.force",
    "audit.reseal",
    "epoch.halt",
    "epoch.resume",
    "budget.settle",
    "assignment.issue",
    "ledger.apply",
    "ledger.close",
    "ledger.open",
    "ledger.repair",
    "lock.acquire",
    "orchestrate.step",
    "result.submit",
    "run.cancel",
    "run.submit",
    // `rollback.rs` kills it.
    "rollback.undo",
    "store.import_vybe",
    "task.cancel",
    "task.escalate",
    "task.retry",
    "worklog.append",
    "worktree.discard",
];

/// What every mutation but the first begins with: the bytes of a store, and the ids in it by name.
pub(crate) struct Template {
    pub(crate) store: Vec<u8>,
    /// The key of the store, which proves the token.
    pub(crate) key: Vec<u8>,
    pub(crate) names: Vec<(&'static str, String)>,
}

impl Template {
    pub(crate) fn words(&self, mutation: &Mutation) -> Vec<String> {
        mutation.words.split(' ').map(|word| self.fill(word)).collect()
    }

    pub(crate) fn input(&self, mutation: &Mutation) -> String {
        self.fill(mutation.input)
    }

    fn fill(&self, text: &str) -> String {
        let filled = |text: String, (name, id): &(&str, String)| text.replace(&format!("{{{name}}}"), id);
        self.names.iter().fold(text.to_owned(), filled)
    }
}

/// Made long ago, so that there is something to forget.
pub(crate) fn template() -> &'static Template {
    static TEMPLATE: OnceLock<Template> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let scratch = Scratch::new();
        let path = scratch.join("writ.db");
        let mut author = Author::new(&path, 1);
        // Something old and finished at the beginning, for `gc` to remove.
        let finished = author.task("finished");
        author.call("task.complete", json!({"id": finished, "outcome": "done", "summary": "well"}));
        let todo = author.task("to do");
        let begun = author.task("begun");
        author.call("task.begin", json!({"id": begun}));
        let waits = author.task("waits");
        author.call("task.add_dependency", json!({"id": waits, "depends_on": todo}));
        for (key, expires_at) in [("known", None), ("over", Some("2025-02-01T00:00:00Z"))] {
            author.call(
                "memory.set",
                json!({"key": key, "value": "v", "scope": "global", "expires_at": expires_at}),
            );
        }
        let mut names = vec![("todo", todo), ("begun", begun), ("waits", waits)];
        names.push(("token", author.ledger()));
        names.push(("ledger", LEDGER.to_owned()));
        names.push(("bundle", author.bundle()));
        drop(author);
        // A limit, which only an attempt finds. Its end is so far away that the seconds until then are not compared.
        let writ = Cli::new(env!("CARGO_BIN_EXE_writ")).env("WRIT_DB", &path);
        limited_by(&writ, "usage limit reached|1900000000");
        // A question that is still open when the test asks it.
        let mut late = Author::at(&path, 9, "2099-01-01T12:00:00Z");
        let asked = late.call("approval.request", json!({"run": LEDGER, "task": "T-1"}));
        names.push(("approval", asked["id"].as_str().unwrap().to_owned()));
        drop(late);
        let key = std::fs::read(path.with_extension("db.key")).unwrap();
        Template { store: std::fs::read(&path).unwrap(), key, names }
    })
}

/// Writes through the product's own verbs, in this process.
pub(crate) struct Author {
    cx: Context,
    calls: u64,
}

impl Author {
    pub(crate) fn new(store: &Path, seed: u64) -> Self {
        Self::at(store, seed, "2025-01-01T12:00:00Z")
    }

    fn at(store: &Path, seed: u64, time: &str) -> Self {
        let clock = Arc::new(ManualClock::at(time));
        let cx = Context::open(store, clock, Box::new(SeededIds::new(seed)), host()).unwrap();
        Self { cx, calls: seed * 1000 }
    }

    /// A ledger with one task that holds a lock; the token of it.
    fn ledger(&mut self) -> String {
        let delta =
            json!({"task_id": "T-1", "status": "todo", "owner": "", "reason": "new", "delta_id": "d"});
        let document = json!({"schema_version": "1.0.0", "run_id": LEDGER, "ledger_delta": [delta]});
        self.call("ledger.apply", json!({"document": document, "workspace": "/nowhere"}));
        let request = json!({"run": LEDGER, "task": "T-1", "resources": ["src"]});
        self.call("lock.acquire", request)["token"].as_str().unwrap().to_owned()
    }

    /// The ledger as another store would hand it on.
    fn bundle(&mut self) -> String {
        let request = ops::handoff::export::Request { run: LEDGER.to_owned(), ..Default::default() };
        let exported = ops::handoff::export::export(&mut self.cx, &request).unwrap();
        exported.text().replace(LEDGER, CARRIED)
    }

    fn key(&mut self) -> Session {
        self.calls += 1;
        let request_id = RequestId::parse(&format!("author-{}", self.calls)).unwrap();
        Session::new(Caller::agent(Agent::parse("ann").unwrap()), request_id)
    }

    pub(crate) fn task(&mut self, title: &str) -> String {
        let made = self.call("task.create", json!({"title": title, "project_id": "p"}));
        made["task"]["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn call(&mut self, operation: &str, request: Value) -> Value {
        let key = self.key();
        let verb = registry::find(operation).unwrap_or_else(|| panic!("there is no verb {operation}"));
        let reply = (verb.call)(&mut self.cx, &key, request);
        reply.unwrap_or_else(|error| panic!("{operation}: {error}")).answer
    }
}
