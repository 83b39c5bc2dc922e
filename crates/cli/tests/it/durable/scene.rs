//! A store before a mutation, the call of it, and what may be there afterwards.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ops::Context;
use tempfile::TempDir;
use testkit::{Cli, ManualClock, Output, SeededIds};

use super::mutations::{Author, Mutation, template};
use crate::local::host;

/// Files by their paths below the scene's directory; directories have no bytes.
pub(crate) type Image = BTreeMap<String, Option<Vec<u8>>>;

/// Who else has the store open while the mutation is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    None,
    /// It has written something of its own, which is still in the log beside the file.
    AnotherWriter,
}

pub(crate) struct Scene {
    mutation: &'static Mutation,
    directory: TempDir,
    writ: Cli,
    strace: Cli,
    sqlite: Cli,
    before: Image,
    /// What the tables hold before, and what may be there after.
    tables_before: String,
    tables_after: String,
    answer: String,
    company: RefCell<Option<Author>>,
}

impl Scene {
    pub(crate) fn new(mutation: &'static Mutation, company: Company) -> Self {
        let writ = Cli::new(env!("CARGO_BIN_EXE_writ"));
        let mut scene = Scene {
            mutation,
            directory: directory(),
            writ,
            strace: Cli::new("strace"),
            sqlite: Cli::new("sqlite3"),
            before: Image::new(),
            tables_before: String::new(),
            tables_after: String::new(),
            answer: String::new(),
            company: RefCell::new(None),
        };
        if !mutation.on_nothing {
            scene.before = Image::from([
                ("data".to_owned(), None),
                ("data/writ.db".to_owned(), Some(template().store.clone())),
                ("data/writ.db.key".to_owned(), Some(template().key.clone())),
            ]);
        }
        scene.again();
        if company == Company::AnotherWriter {
            let mut other = Author::new(&scene.db(), 2);
            other.task("of another");
            // The log is read and not the file: closing that would drop the other's locks, which are this process's.
            let log = fs::read(scene.place("data/writ.db-wal")).unwrap();
            scene.before.insert("data/writ.db-wal".to_owned(), Some(log));
            drop(other);
        }
        scene.learn();
        scene.again();
        if company == Company::AnotherWriter {
            // Opened once more, to be there while the mutation is made. It leaves the log as it is.
            let other = Author::new(&scene.db(), 3);
            scene.company = RefCell::new(Some(other));
        }
        scene
    }

    /// Does the mutation once without disturbance, to know what it leads to.
    fn learn(&mut self) {
        self.again();
        // Where there was nothing, an empty store is as good.
        self.is_sound("before");
        self.tables_before = self.tables();
        let output = self.call();
        self.answer = self.shape(&output.success().stdout);
        self.tables_after = self.shape(&self.tables());
        assert_ne!(self.tables_before, self.tables_after, "{} does nothing here", self.mutation.operation);
    }

    fn place(&self, inside: &str) -> PathBuf {
        self.directory.path().join("scene").join(inside)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.place("")
    }

    fn db(&self) -> PathBuf {
        self.place("data/writ.db")
    }

    pub(crate) fn files(&self) -> &Image {
        &self.before
    }

    /// Puts everything back to where it was before the mutation.
    pub(crate) fn again(&self) {
        self.restore(&self.before);
    }

    /// Makes the directory hold these files and no others. No process has the store open any more.
    pub(crate) fn restore(&self, image: &Image) {
        drop(self.company.take());
        let root = self.root();
        if root.exists() {
            fs::remove_dir_all(&root).unwrap();
        }
        fs::create_dir_all(&root).unwrap();
        for (path, bytes) in image {
            match bytes {
                None => fs::create_dir_all(root.join(path)).unwrap(),
                Some(bytes) => {
                    let place = root.join(path);
                    fs::write(&place, bytes).unwrap();
                    // As the program makes its files; it refuses a key that others can read.
                    fs::set_permissions(&place, fs::Permissions::from_mode(0o600)).unwrap();
                }
            }
        }
    }

    fn words(&self) -> Vec<String> {
        let mut words = template().words(self.mutation);
        words.extend(["--agent", "bob", "--request-id", "once", "--output", "json"].map(str::to_owned));
        words
    }

    pub(crate) fn call(&self) -> Output {
        let call = self.writ.call(self.words()).env("WRIT_DB", self.db());
        call.stdin(template().input(self.mutation)).run()
    }

    /// The same under `strace` with these options.
    pub(crate) fn traced(&self, options: &[&str]) -> Output {
        let words = options.iter().map(|word| (*word).to_owned());
        let words = words.chain([env!("CARGO_BIN_EXE_writ").to_owned()]).chain(self.words());
        let call = self.strace.call(words).in_dir(self.writ.project()).env("WRIT_DB", self.db());
        call.stdin(template().input(self.mutation)).run()
    }

    /// The store opens and is whole; the mutation is in it or is not; asked again, it is done once.
    #[track_caller]
    pub(crate) fn judge(&self, acknowledged: bool, what: &str) {
        self.is_sound(what);
        let found = self.tables();
        let done = found != self.tables_before;
        if done {
            same_lines(&self.shape(&found), &self.tables_after, &format!("{what}: neither done nor undone"));
        }
        assert!(done || !acknowledged, "{what}: acknowledged and lost");
        let again = self.call();
        same_lines(&self.shape(&again.success().stdout), &self.answer, &format!("{what}: asked again"));
        let settled = self.tables();
        if done {
            same_lines(&settled, &found, &format!("{what}: done twice"));
        } else {
            let what = format!("{what}: not done by asking again");
            same_lines(&self.shape(&settled), &self.tables_after, &what);
            self.is_sound(&what);
        }
    }

    /// Opens the store as writ does, and checks the log for itself and against the tables.
    #[track_caller]
    fn is_sound(&self, what: &str) {
        let opened =
            Context::open(&self.db(), Arc::new(ManualClock::new()), Box::new(SeededIds::new(7)), host());
        let mut cx = opened.unwrap_or_else(|error| panic!("{what}: does not open: {error:?}"));
        let found = ops::audit::verify(&mut cx, None).unwrap();
        assert!(found.is_clean(), "{what}: {found:?}");
        let differences = ops::audit::replay_differences(&mut cx).unwrap();
        assert_eq!(differences, Vec::<String>::new(), "{what}");
    }

    /// Every row of every table, in the order of the rows. The index of words follows from the memories.
    fn tables(&self) -> String {
        static NAMES: OnceLock<Vec<String>> = OnceLock::new();
        let db = self.db();
        let ask = |what: &str| self.sqlite.run([db.to_str().unwrap(), what]).success().stdout.clone();
        let names = NAMES.get_or_init(|| {
            // Seals are other bytes under each key, and the check of the store reads them. The id of a store is random.
            let list = "SELECT format('SELECT ''%s:''; SELECT %s FROM %s;', t.name,
                               group_concat(c.name), t.name)
                        FROM sqlite_master t JOIN pragma_table_info(t.name) c
                        WHERE t.type = 'table' AND t.name NOT IN ('seal', 'store') AND t.name NOT LIKE 'memory_words%'
                              AND c.name NOT IN ('seal', 'lease_seal')
                        GROUP BY t.name ORDER BY t.name";
            ask(list).lines().map(str::to_owned).collect()
        });
        ask(&names.concat())
    }

    /// A text in which what another run would have otherwise is left out: new ids, times and hashes.
    fn shape(&self, text: &str) -> String {
        let known: BTreeSet<&str> = self.tables_before.split(is_between).collect();
        let mut shaped = String::new();
        let mut word = String::new();
        for character in text.chars().chain(['\n']) {
            if !is_between(character) {
                word.push(character);
                continue;
            }
            let value = word.trim_matches(':');
            let stays = known.contains(word.as_str()) || !is_volatile(value);
            shaped.push_str(if stays { value } else { "?" });
            shaped.push(character);
            word.clear();
        }
        shaped
    }
}

/// In memory where there is such a place: what a sync is worth is decided by our own disk, so nobody has to wait for it.
fn directory() -> TempDir {
    let named = || tempfile::Builder::new().prefix("writ-test-").to_owned();
    named().tempdir_in("/dev/shm").or_else(|_| named().tempdir()).unwrap()
}

/// Shows only what differs: a store is long.
#[track_caller]
fn same_lines(found: &str, wanted: &str, what: &str) {
    let only = |a: &str, b: &str| -> Vec<String> {
        let others: BTreeSet<&str> = b.lines().collect();
        a.lines().filter(|line| !others.contains(line)).map(str::to_owned).collect()
    };
    assert_eq!(only(found, wanted), only(wanted, found), "{what}");
    assert_eq!(found.len(), wanted.len(), "{what}");
}

fn is_between(character: char) -> bool {
    !(character.is_alphanumeric() || "_:.-".contains(character))
}

fn is_volatile(word: &str) -> bool {
    let is_number = word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_id = ["task_", "evt_", "artifact_", "req_", "corr_", "approval_"]
        .iter()
        .any(|prefix| word.starts_with(prefix));
    let is_time = word.len() == 24 && word.starts_with("20") && word.ends_with('Z');
    // What fades with time, and the mark around text that is not to be obeyed.
    let is_share = word.len() > 8 && word.parse::<f64>().is_ok();
    let is_mark = word.len() == 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    // The home of the caller, which is part of the environment that checks run in.
    let is_home = word.starts_with("writ-test-");
    is_number || is_id || is_time || is_share || is_mark || is_home || word.starts_with("sha256:")
}
