//! The commands that are counted, each in the same environment on a copy of the same store.

use std::path::Path;

use crate::Result;
use crate::bench::changes;
use crate::job::Job;

pub(super) const INSERT: &str = "sqlite3 insert";

const WALK: &str = "ping walk";

/// Tasks in the store before anything is counted.
const TASKS: usize = 20;

const PING: &str = r#"{"v":"1","id":"bench-ping-1","ts":"2026-01-01T00:00:00Z","type":"task","from":"bench",
"to":"writ","corr":"bench-corr-1","priority":"normal","intent":"aee.status.ping","payload":{}}"#;

/// How often each command is counted. A wait that ends late adds a few percent to one of the counts.
const TIMES: usize = 3;

/// Addresses that change from run to run change the work of the allocator and of hash maps.
const FIXED_ADDRESSES: &[&str] = &["setarch", "-R"];

/// A run looks at every process of the machine. Here it sees only its own.
const OWN_PROCESSES: &[&str] = &["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];

/// The directory of one measurement.
struct Place<'a> {
    writ: &'a str,
    dir: &'a str,
    /// Programs that make the environment the same each time.
    around: Vec<&'static str>,
}

/// Name and counts of every command, the smallest count first.
pub(super) fn count_all(writ: &Path, dir: &Path) -> Result<Vec<(&'static str, Vec<u64>)>> {
    let (writ, dir) = (writ.display().to_string(), dir.display().to_string());
    let works = |words: &[&str]| Job::new(words[0], &words[1..]).args(&["true"]).succeeds();
    let is_alone = works(OWN_PROCESSES);
    let around = [OWN_PROCESSES, FIXED_ADDRESSES].into_iter().filter(|words| works(words));
    let place = Place { writ: &writ, dir: &dir, around: around.flatten().copied().collect() };
    place.prepare()?;
    let agent = ["--agent", "bench", "--request-id", "counted"];
    let ping = place.path("ping.json");
    let commands: [(&str, Vec<&str>); 4] = [
        ("task create", [changes::TASK, &agent].concat()),
        ("resume", [&["resume"], &agent[..]].concat()),
        ("task list", vec!["task", "list", "--limit", "20"]),
        (WALK, vec!["run", &ping]),
    ];
    let mut counted = vec![(INSERT, sorted(|| place.insert())?)];
    for (name, words) in &commands {
        if *name == WALK && !is_alone {
            println!("skipped {name}: `unshare` cannot make a PID namespace here");
            continue;
        }
        counted.push((name, sorted(|| place.writ(words))?));
    }
    Ok(counted)
}

fn sorted(count: impl Fn() -> Result<u64>) -> Result<Vec<u64>> {
    let mut counts = (0..TIMES).map(|_| count()).collect::<Result<Vec<u64>>>()?;
    counts.sort_unstable();
    Ok(counts)
}

impl Place<'_> {
    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.dir)
    }

    fn prepare(&self) -> Result {
        std::fs::write(self.path("ping.json"), PING).map_err(|error| error.to_string())?;
        for number in 0..TASKS {
            let request = format!("prepare-{number}");
            let words =
                [&[self.writ], changes::TASK, &["--agent", "bench", "--request-id", &request]].concat();
            self.quiet("writ.db", &words).output()?;
        }
        Job::new("sqlite3", &[&self.path("plain.db"), changes::SCHEMA]).output().map(drop)
    }

    fn insert(&self) -> Result<u64> {
        self.fresh("plain.db")?;
        self.count(&changes::insert(&self.path("counted-plain.db"), 1).words())
    }

    fn writ(&self, words: &[&str]) -> Result<u64> {
        self.fresh("writ.db")?;
        let words: Vec<String> =
            [&[self.writ], words].concat().iter().map(|word| (*word).to_owned()).collect();
        self.count(&words)
    }

    /// A new copy of a prepared database; a closed one is a single file.
    fn fresh(&self, name: &str) -> Result {
        for rest in ["-wal", "-shm"] {
            let path = self.path(&format!("counted-{name}{rest}"));
            if Path::new(&path).exists() {
                std::fs::remove_file(&path).map_err(|error| format!("could not remove {path}: {error}"))?;
            }
        }
        let logs = self.path(&format!("counted-{name}.logs"));
        if Path::new(&logs).exists() {
            std::fs::remove_dir_all(&logs).map_err(|error| format!("could not remove {logs}: {error}"))?;
        }
        let copy = |name: &str| {
            let copied = std::fs::copy(self.path(name), self.path(&format!("counted-{name}")));
            copied.map(drop).map_err(|error| format!("could not copy {name}: {error}"))
        };
        copy(name)?;
        let key = format!("{name}.key");
        if std::fs::exists(self.path(&key)).unwrap_or(false) { copy(&key) } else { Ok(()) }
    }

    /// A command with an environment that is the same on every machine.
    fn quiet(&self, database: &str, words: &[&str]) -> Job {
        let (home, store) = (format!("HOME={}", self.dir), format!("WRIT_DB={}", self.path(database)));
        Job::new("env", &["-i", "PATH=/usr/bin:/bin", "LANG=C", &home, &store]).args(words)
    }

    fn count(&self, words: &[String]) -> Result<u64> {
        let report = self.path("callgrind.out");
        let file = format!("--callgrind-out-file={report}");
        let valgrind = ["valgrind", "--tool=callgrind", &file];
        self.quiet("counted-writ.db", &[self.around.as_slice(), &valgrind].concat()).args(words).output()?;
        let text =
            std::fs::read_to_string(&report).map_err(|error| format!("could not read {report}: {error}"))?;
        total(&text).ok_or_else(|| format!("callgrind wrote no total into {report}"))
    }
}

/// The count of a whole run: the sum over all parts of the report.
pub(super) fn total(report: &str) -> Option<u64> {
    let totals = report.lines().filter_map(|line| line.strip_prefix("totals: ")?.trim().parse::<u64>().ok());
    Some(totals.sum()).filter(|total| *total > 0)
}
