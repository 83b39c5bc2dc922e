//! Everything that can grow has a limit with a name and a reason here.

use std::time::Duration;

/// The largest document taken from a file or from standard input: a plan, a TASK, an envelope.
pub const DOCUMENT_BYTES_MAX: usize = 1024 * 1024;
/// How deep JSON may nest. Deeper input is an attack or a mistake, and would need too much stack.
pub const JSON_DEPTH_MAX: usize = 100;
/// Findings reported for one document; the rest is counted, not listed.
pub const FINDINGS_MAX: usize = 100;

/// The longest request id and agent name, in bytes.
pub const REQUEST_ID_BYTES_MAX: usize = 256;
pub const AGENT_BYTES_MAX: usize = 128;
/// A project's id, which is part of a stream's name.
pub const PROJECT_ID_BYTES_MAX: usize = 1024;
/// A task title, one line.
pub const TITLE_CHARS_MAX: usize = 500;
pub const DESCRIPTION_BYTES_MAX: usize = 64 * 1024;
/// The continuity contract's bound on an event's message.
pub const EVENT_MESSAGE_BYTES_MAX: usize = 4096;
/// Dependencies of a task, and tasks that depend on it: all of them are read when it is done.
pub const DEPENDENCIES_MAX: usize = 1000;
/// The continuity contract's bounds on an event's kind and metadata.
pub const EVENT_KIND_BYTES_MAX: usize = 128;
pub const EVENT_METADATA_BYTES_MAX: usize = 16 * 1024;
/// Memories, and artifacts, that one push may carry.
pub const PUSH_ITEMS_MAX: usize = 50;

/// A memory's key, and the id of the project, task or agent it is for.
pub const MEMORY_KEY_BYTES_MAX: usize = 512;
pub const MEMORY_SCOPE_ID_BYTES_MAX: usize = PROJECT_ID_BYTES_MAX;
/// A memory's value. It becomes part of prompts, which are short; longer text belongs in a file.
pub const MEMORY_VALUE_BYTES_MAX: usize = 64 * 1024;
/// The longest lifetime and half-life of a memory: a hundred years, which every calendar can print.
pub const MEMORY_LIFE_MAX: Duration = Duration::from_hours(100 * 365 * 24);
pub const MEMORY_HALF_LIFE_DAYS_MAX: f64 = 36_500.0;
/// Expired memories that one call removes, by default and at most.
pub const MEMORY_GC_DEFAULT: usize = 500;
pub const MEMORY_GC_MAX: usize = 10_000;
/// Words of one search, and their length: each costs a look-up.
pub const SEARCH_WORDS_MAX: usize = 16;
pub const SEARCH_WORD_BYTES_MAX: usize = 128;
/// An artifact's path; Linux allows no longer one.
pub const ARTIFACT_PATH_BYTES_MAX: usize = 4096;
pub const CONTENT_TYPE_BYTES_MAX: usize = 255;

/// Rows one list call may return.
pub const LIST_ROWS_MAX: usize = 1000;
pub const LIST_ROWS_DEFAULT: usize = 50;
/// Access tokens of a store, revoked ones included.
pub const ACCESS_TOKENS_MAX: usize = 1000;
pub const TOKEN_NAME_BYTES_MAX: usize = 64;
/// Things that an error lists for a name that fits several or none.
pub const CANDIDATES_MAX: usize = 10;
/// Runs that are searched for a name, newest first: each costs a look-up.
pub const NAMED_RUNS_MAX: usize = 1000;
/// A stored answer; longer ones are refused before they are stored.
pub const ANSWER_BYTES_MAX: usize = 1024 * 1024;
/// How long an answer is kept before only its tombstone remains.
pub const ANSWER_KEPT: Duration = Duration::from_hours(30 * 24);

/// Tasks in one plan: an engine keeps all of them in memory.
pub const PLAN_TASKS_MAX: usize = 20_000;
/// What is stored of an author's environment: longer variables, and those that no longer fit, are left out and named.
pub const AUTHOR_VARIABLE_BYTES_MAX: usize = 8 * 1024;
pub const AUTHOR_ENVIRONMENT_BYTES_MAX: usize = 32 * 1024;
/// A document that can hold a plan. It is read as a whole; the largest plan has some 800 bytes for each task.
pub const PLAN_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Tasks that the stored answer of a run lists, and that `runs show` lists at once.
pub const RUN_TASKS_LISTED_MAX: usize = 500;
/// Tasks whose order the context of a run names; of more it has the digest.
pub const ORDER_NAMED_MAX: usize = 100;
/// Tasks that have ended and are still in the context of their run, which is digested after each layer.
pub const CONTEXT_TASKS_MAX: usize = 32;
/// Lessons that the context of a run keeps for the next walk.
pub const LESSONS_MAX: usize = 32;
/// Delegations that the summary of a run lists.
pub const DELEGATIONS_LISTED_MAX: usize = 100;
/// Executors of one run at the same time; each holds pipes and two processes.
pub const PARALLEL_MAX: usize = 64;
pub const PARALLEL_DEFAULT: usize = 4;
pub const CHECKS_PER_TASK_MAX: usize = 50;
/// Checkpoints of a task that comes from another store: more than a TASK has within its own limits.
pub const CHECKPOINTS_PER_TASK_MAX: usize = 1_000;
pub const SCOPES_PER_TASK_MAX: usize = 100;
/// The longest path a lock or a write scope may name, in bytes; Linux allows no longer one.
pub const SCOPE_BYTES_MAX: usize = 4096;
/// Files of one workspace whose changes are watched. A larger one is not compared, and the answer says so.
pub const INDEX_FILES_MAX: usize = 500_000;
/// Files of a workspace that is digested as a whole around each check, where a task does not say what it writes. The record
/// of a check in a larger one has no digest.
pub const TREE_FILES_MAX: usize = 20_000;
/// How long one look at a workspace may take: locks must be renewed in between.
pub const LOOK_TIME_MAX: Duration = Duration::from_secs(8);
/// Bytes that one look reads. Larger trees are read over several looks; until then, a file's stat data stands for it.
pub const LOOK_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// The ignore rules of a workspace together. Rules beyond it ignore nothing.
pub const IGNORE_BYTES_MAX: usize = 1024 * 1024;
/// What is kept beside a store to compare workspaces with. The oldest goes first.
pub const INDEXES_MAX: usize = 320;
pub const INDEXES_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Paths that a finding about changes outside a scope lists; the rest is counted.
pub const OUTSIDE_PATHS_MAX: usize = 20;
/// One file of a snapshot. A larger one is listed as not taken.
pub const SNAPSHOT_FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Bytes that one snapshot adds to the content store. Files beyond it are listed as not taken.
pub const SNAPSHOT_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// Paths of one snapshot. A larger scope has none, and the answer says so.
pub const SNAPSHOT_PATHS_MAX: usize = INDEX_FILES_MAX;
/// How long one snapshot may copy. What is left then is listed as not taken.
pub const SNAPSHOT_TIME_MAX: Duration = Duration::from_secs(60);
/// Paths that could not be taken in and that an attempt lists; the rest is counted.
pub const NOT_TAKEN_LISTED_MAX: usize = 20;
/// What is kept of finished tasks beside a store: the oldest snapshots go first.
pub const SNAPSHOTS_BYTES_MAX: u64 = 16 * 1024 * 1024 * 1024;
pub const SNAPSHOTS_KEPT: Duration = Duration::from_hours(14 * 24);
/// Space beside the snapshots that is given back on a full disk, so that the store can be opened and old ones removed.
pub const SNAPSHOTS_RESERVE_BYTES: usize = 256 * 1024;
/// How often a run that has ended removes old snapshots.
pub const SNAPSHOTS_COLLECTED: Duration = Duration::from_hours(24);
/// How long a collection waits for those who take snapshots or roll back, and how long those wait for it.
pub const SNAPSHOTS_WAIT_MAX: Duration = Duration::from_secs(30);
/// Paths that the answer and the event of a rollback list, those that were left first; the rest is counted.
pub const ROLLBACK_PATHS_LISTED_MAX: usize = 1000;
/// Bytes of that list, so that the answer and the event can be kept whatever the names are.
pub const ROLLBACK_LISTED_BYTES_MAX: usize = 256 * 1024;
/// Paths that were left as they are and that an attempt keeps.
pub const ROLLBACK_LEFT_LISTED_MAX: usize = 20;
/// Clones that are kept beside a store. At the limit those that are merged go; if that is not enough, no task gets another.
pub const WORKTREES_MAX: usize = 100;
/// Bundles of discarded clones that are kept beside them, and commits and files that one such clone lists.
pub const DISCARDED_MAX: usize = 100;
pub const DISCARDED_LISTED_MAX: usize = 50;
/// How long one call of git for a clone may take.
pub const WORKTREE_GIT_TIMEOUT: Duration = Duration::from_secs(120);
/// How long one setup command of a clone may take.
pub const SETUP_TIMEOUT: Duration = Duration::from_mins(10);
pub const SETUP_COMMANDS_MAX: usize = 20;
/// Ports that are reserved for clones: below those that systems hand out by themselves.
pub const WORKTREE_PORT_FIRST: u16 = 20_000;
pub const WORKTREE_PORT_LAST: u16 = 29_999;
pub const WORKTREE_PORTS_MAX: u16 = 100;
/// How long the merge of a task waits for other merges into the same workspace.
pub const MERGE_WAIT_MAX: Duration = Duration::from_secs(60);
/// How often the checks of a task run again because the workspace moved on meanwhile.
pub const MERGE_ROUNDS_MAX: u32 = 3;
/// Paths, and commits of the other side, that a conflict lists; the rest is counted.
pub const CONFLICT_PATHS_MAX: usize = 50;
pub const CONFLICT_COMMITS_MAX: usize = 10;
/// Submodules that are looked at for changes. A workspace with more is not compared by git.
pub const SUBMODULES_MAX: usize = 1000;
/// Tasks about conflicts of one clone that end with its merge. Others are left to a person.
pub const CONFLICT_TASKS_MAX: usize = 100;
/// Branches of one clone that are looked at before it is deleted. A clone with more is kept.
pub const WORKTREE_REFS_MAX: usize = 1000;
/// A task's whole worklog. It is read as a whole to verify it.
pub const WORKLOG_BYTES_MAX: usize = 16 * 1024 * 1024;
/// A handoff bundle, which contains the worklogs of all tasks. It is read as a whole, too.
pub const HANDOFF_BYTES_MAX: usize = WORKLOG_BYTES_MAX;
pub const RETRIES_MAX: u32 = 20;
/// AOP TASKs in one document, and runs of a session that are looked at.
pub const SESSION_TASKS_MAX: usize = 1000;
pub const SESSION_RUNS_MAX: usize = 1000;
/// Earlier runs of a session whose audit files an engine compares when it starts.
pub const AUDIT_RUNS_MAX: usize = 50;
/// Audit records in one answer. Their number, and files, have no limit of their own.
pub const AUDIT_RECORDS_MAX: usize = 10_000;
/// Alternatives of one task: each may be tried as often as the task itself.
pub const ALTERNATIVES_MAX: usize = 10;
/// Attempts of a task that a rate limit may end before one uses up a retry.
pub const LIMITED_ATTEMPTS_MAX: u32 = 20;
/// How long a task waits for a provider's reset time by default: a weekly window and a day.
pub const LIMIT_WAIT_DEFAULT: Duration = Duration::from_hours(8 * 24);
/// The latest reset time of a limit that is believed. A later one counts as none, and the wait is estimated.
pub const LIMIT_RESET_MAX: Duration = Duration::from_hours(10 * 366 * 24);
/// The first wait for a resource whose provider names no reset time. It doubles with each further refusal.
pub const LIMIT_ESTIMATE_MIN: Duration = Duration::from_secs(30);
pub const LIMIT_ESTIMATE_MAX: Duration = Duration::from_mins(30);
/// The first attempt after a reset time has shown that the resource is free when it ran for so long.
pub const LIMIT_PROBE_QUIET: Duration = Duration::from_mins(1);
/// The distance between attempts after a reset time, and what is added to it by position.
pub const LIMIT_SPACING: Duration = Duration::from_secs(1);
pub const LIMIT_SPREAD_MAX: Duration = Duration::from_millis(500);
/// Attempts that begin at a distance. If none of them was refused, the window is over.
pub const LIMIT_RESUMING_MAX: u32 = 10;
/// Limit windows of one store. At the limit the one that ends first is forgotten.
pub const LIMIT_WINDOWS_MAX: usize = 100;
/// How long a window is remembered after its reset time.
pub const LIMIT_WINDOW_KEPT: Duration = Duration::from_hours(1);
/// How often an engine looks whether a window that its tasks wait for was cleared.
pub const LIMIT_POLL: Duration = Duration::from_secs(1);
/// More micro-dollars or tokens than any run has: the largest number that canonical JSON carries exactly.
pub const AMOUNT_MAX: i64 = (1 << 53) - 1;
/// How deep runs may start other runs. The first run has depth 1.
pub const DELEGATION_DEPTH_MAX: u32 = 3;

/// The default timeout of a task.
pub const TASK_TIMEOUT_DEFAULT: Duration = Duration::from_mins(30);
pub const TASK_TIMEOUT_MAX: Duration = Duration::from_hours(7 * 24);
/// The timeout of one check.
pub const CHECK_TIMEOUT: Duration = Duration::from_mins(5);
/// The time between SIGTERM and SIGKILL.
pub const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long a supervisor has to kill every descendant when it is asked to.
pub const KILL_DEADLINE: Duration = Duration::from_secs(10);

/// Processes and threads of a sandboxed task: more than any build needs, fewer than a machine has room for.
pub const SANDBOX_PROCESSES_MAX: u32 = 8_192;
/// Resident memory of all processes of a sandboxed task together, where the configuration does not say it.
pub const SANDBOX_MEMORY_BYTES_MAX: u64 = 16 * 1024 * 1024 * 1024;
/// What a sandboxed task can keep in each directory that is only in memory.
pub const SANDBOX_TMPFS_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Open files of all processes of a sandboxed task, which are looked at each second.
pub const SANDBOX_DESCRIPTORS_MAX: usize = 200_000;
/// Sockets of other programs that are hidden from a sandboxed task, one mount each.
pub const SANDBOX_SOCKETS_MAX: usize = 1_000;
/// Files and directories beside a file that a sandboxed task may write, one read-only mount each.
pub const SANDBOX_HELD_MAX: usize = 1_000;
/// Files in each directory of a sandboxed task that is only in memory: the kernel keeps their names there.
pub const SANDBOX_TMPFS_FILES_MAX: u64 = 100_000;

/// Hosts in the allow-list of a plan, of a task or of an executor.
pub const NETWORK_ALLOW_MAX: usize = 100;
/// Destinations that are told apart in what an attempt reached; the rest is counted together.
pub const NETWORK_VISITS_MAX: usize = 100;
/// Connections of a task through its proxy at one time. More are answered with 503.
pub const PROXY_CONNECTIONS_MAX: usize = 128;
/// The head of a request to the proxy.
pub const PROXY_HEAD_BYTES_MAX: usize = 32 * 1024;
/// The lines in it.
pub const PROXY_HEADERS_MAX: usize = 100;
/// How long the head of a request to the proxy may take.
pub const PROXY_HEAD_DEADLINE: Duration = Duration::from_secs(30);
/// How long the proxy looks for the address of a name.
pub const PROXY_RESOLVE_DEADLINE: Duration = Duration::from_secs(20);
/// How long the proxy tries to connect to one destination, over all of its addresses.
pub const PROXY_CONNECT_DEADLINE: Duration = Duration::from_secs(30);
/// A connection through the proxy on which nothing moves for so long is closed: a model may think for minutes.
pub const PROXY_IDLE_DEADLINE: Duration = Duration::from_mins(15);

/// Attempts whose output is kept beside the store; the oldest go first.
pub const LOG_FILES_MAX: usize = 2_000;
/// Output kept of one attempt: the beginning and the end, each this much.
pub const LOG_HEAD_BYTES_MAX: usize = 512 * 1024;
pub const LOG_TAIL_BYTES_MAX: usize = 512 * 1024;
/// The longest line a child may print before it is split.
pub const LINE_BYTES_MAX: usize = 600 * 1024;
/// What is kept of a RESPONSE: bytes of all its texts, bytes of one text, entries of one list, and findings. The rest is
/// counted.
pub const REPORT_BYTES_MAX: usize = 128 * 1024;
pub const REPORT_TEXT_BYTES_MAX: usize = 2 * 1024;
pub const REPORT_ENTRIES_MAX: usize = 200;
pub const REPORT_FINDINGS_MAX: usize = 100;
/// A claimed artifact, or an input, that is digested. A larger one is named as not looked at.
pub const CLAIMED_FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Findings, warnings and checkpoints with a line of their own in the record of a layer.
pub const FINDINGS_TRACED_MAX: usize = 20;
/// An agent program whose stream says nothing for so long is ended. Its longest commands take ten minutes.
pub const AGENT_SILENCE_MAX: Duration = Duration::from_mins(15);
/// So often in a row an agent may call a tool with the same arguments and the same result while nothing changes.
pub const TOOL_REPEATS_MAX: u32 = 12;
/// An agent program's name for its conversation. It becomes an argument.
pub const AGENT_SESSION_BYTES_MAX: usize = 128;
/// The brief that a child gets about its task.
pub const BRIEF_BYTES_MAX: usize = 8 * 1024;

/// The brief of an agent that resumes, in tokens: a smaller one says nothing, a larger one crowds out the rest.
pub const BRIEF_TOKENS_MIN: usize = 600;
pub const BRIEF_TOKENS_DEFAULT: usize = 1500;
pub const BRIEF_TOKENS_MAX: usize = 32_000;

/// Events that an agent gets when it resumes, in bytes; the rest comes with its next call.
pub const DELTA_BYTES_MAX: usize = 64 * 1024;

/// The lease of a claim on a task; any call by the holder renews it.
pub const CLAIM_LEASE: Duration = Duration::from_mins(15);
/// How far another machine's clock may be ahead before its times are refused.
pub const CLOCK_SKEW_MAX: Duration = Duration::from_secs(30);
/// An engine's lease on its run; renewed while the engine runs.
pub const OWNER_LEASE: Duration = Duration::from_secs(30);
pub const OWNER_RENEWAL: Duration = Duration::from_secs(5);
/// A living engine renews its lease at least this often. What changes later in the files of its tasks is not their work.
pub const ENGINE_SILENCE_MAX: Duration = Duration::from_secs(10);
/// The lease of an engine's locks; renewed together with its lease on the run.
pub const ENGINE_LOCK_LEASE: Duration = Duration::from_secs(20);
/// How long a task waits for other tasks' locks by default.
pub const LOCK_WAIT_DEFAULT: Duration = Duration::from_hours(24);
/// The longest wait before a retry that an executor can request.
pub const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);
/// How often an engine retries to start a task that could not get its locks, budget or approval.
pub const HINDRANCE_POLL: Duration = Duration::from_millis(250);
/// Runs with expired locks that an engine sweeps at one heartbeat; the others are swept at the next ones.
pub const SWEPT_RUNS_MAX: usize = 8;
/// Workspaces that one sweep of the watchdog looks at, to find workers without progress: each look walks a tree.
pub const WATCHED_WORKSPACES_MAX: usize = 64;
/// How often a working engine looks for a request to cancel, and an attached caller for the end of its run.
pub const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Rows of a vybe database that one import takes: it is one transaction, and others must get the write lock before
/// `BUSY_WAIT_MAX` ends.
pub const VYBE_ROWS_MAX: u64 = 50_000;
/// Runs that a halt names, and that are listed when it is lifted. Every process is ended, however many runs it worked.
pub const HALTED_RUNS_MAX: usize = 1000;
/// Programs that are registered at a time: loops and workers on one store.
pub const PROGRAMS_MAX: usize = 10_000;
/// How long a write waits for other writers before it fails with BUSY.
pub const BUSY_WAIT_MAX: Duration = Duration::from_secs(30);
/// How long an engine with running children waits for other writers: longer than any of its leases, because ending
/// the children would lose their work.
pub const ENGINE_BUSY_WAIT_MAX: Duration = Duration::from_hours(1);
/// The first wait of a process that could not be started for want of descriptors, processes or memory. It doubles.
pub const SHORTAGE_WAIT_MIN: Duration = Duration::from_millis(50);
pub const SHORTAGE_WAIT_MAX: Duration = Duration::from_secs(2);
/// How long a run tries to start a process while nothing of it runs: descriptors of its own process that nobody uses do
/// not come back.
pub const SHORTAGE_OWN_MAX: Duration = Duration::from_secs(10);
/// The same for what others on the machine may give back.
pub const SHORTAGE_OF_OTHERS_MAX: Duration = Duration::from_mins(10);

const _: () = assert!(PARALLEL_DEFAULT <= PARALLEL_MAX, "the default must be allowed");
const _: () = assert!(OWNER_RENEWAL.as_millis() * 3 <= OWNER_LEASE.as_millis(), "two renewals may be late");
const _: () =
    assert!(ENGINE_SILENCE_MAX.as_millis() >= OWNER_RENEWAL.as_millis() * 2, "a renewal may be late");
const _: () = assert!(
    ENGINE_LOCK_LEASE.as_millis() > OWNER_RENEWAL.as_millis() + KILL_DEADLINE.as_millis(),
    "the children of a dead engine must be gone before its locks are free"
);
/// The most dollars that one attempt is believed to have spent. A sum of many attempts still is an exact number in JSON.
pub const REPORTED_DOLLARS_MAX: f64 = 1_000_000.0;
/// The most tokens of one kind that one attempt is believed to have used, for the same reason.
pub const REPORTED_TOKENS_MAX: u64 = 1_000_000_000_000;
