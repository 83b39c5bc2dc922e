//! Fills a store with tasks and events for benchmarks: `fill-store FILE TASKS EVENTS`.

use std::process::ExitCode;

use contract::domain::change::Change;
use contract::domain::id::mint;
use contract::domain::status::{Evidence, Status};
use contract::domain::task::TaskId;
use contract::domain::time::{Clock, Now};
use store::{NewEvent, Store, Stream, Tx};
use testkit::{ManualClock, SeededIds, event};

const BATCH: usize = 5_000;
const PROJECTS: usize = 10;

#[expect(clippy::print_stderr, reason = "a program for benchmarks reports its errors")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, tasks, events] = words.as_slice() else {
        return Err("usage: fill-store FILE TASKS EVENTS".to_owned());
    };
    let number = |word: &String| word.parse::<usize>().map_err(|error| format!("{word}: {error}"));
    let (tasks, events) = (number(tasks)?, number(events)?);
    let clock = ManualClock::new();
    let mut store = Store::open(path.as_ref(), clock.now().at).map_err(|error| error.to_string())?;
    let mut filler = Filler { ids: SeededIds::new(1), clock, made: Vec::with_capacity(tasks), said: 0 };
    while filler.made.len() < tasks || filler.said < events {
        let tx = store.begin().map_err(|error| error.to_string())?;
        for _ in 0..BATCH {
            if filler.made.len() < tasks {
                filler.task(&tx)
            } else if filler.said < events {
                filler.note(&tx)
            } else {
                Ok(())
            }
            .map_err(|error| error.to_string())?;
        }
        tx.commit().map_err(|error| error.to_string())?;
    }
    Ok(())
}

struct Filler {
    ids: SeededIds,
    clock: ManualClock,
    made: Vec<TaskId>,
    /// Events so far; the tasks' own are among them.
    said: usize,
}

fn project(number: usize) -> String {
    format!("/w/p{}", number % PROJECTS)
}

impl Filler {
    fn event(&mut self, now: &Now, number: usize, task: &TaskId, message: &str) -> (Stream, NewEvent) {
        self.said += 1;
        let mut said = event(&mut self.ids, now, message);
        said.project_id = Some(project(number));
        said.task_id = Some(task.clone());
        (Stream::Project(project(number)), said)
    }

    /// Of ten tasks, six are done, three are todo, and one is in progress without a claim.
    fn task(&mut self, tx: &Tx<'_>) -> store::Result<()> {
        self.clock.advance(std::time::Duration::from_millis(1));
        let (number, now) = (self.made.len(), self.clock.now());
        let task_id: TaskId = mint(&mut self.ids, now.at);
        let created = Change::TaskCreated {
            task_id: task_id.clone(),
            title: format!("task {number}"),
            description: String::new(),
            priority: i64::try_from(number % 3).unwrap_or(0),
            project_id: Some(project(number)),
            part: None,
            depends_on: Vec::new(),
            checks: None,
        };
        let (stream, said) = self.event(&now, number, &task_id, "Task created");
        tx.change(&stream, said, &created)?;
        let to = match number / PROJECTS % 10 {
            0..6 => Status::Done,
            6..9 => Status::Todo,
            _ => Status::InProgress,
        };
        if to != Status::Todo {
            let evidence = Some(Evidence::Claimed).filter(|_| to == Status::Done);
            let moved = Change::TaskMoved {
                task_id: task_id.clone(),
                from: Status::Todo,
                to,
                evidence,
                reason: None,
            };
            let (stream, said) = self.event(&now, number, &task_id, "Status changed");
            tx.change(&stream, said, &moved)?;
        }
        self.made.push(task_id);
        Ok(())
    }

    fn note(&mut self, tx: &Tx<'_>) -> store::Result<()> {
        let (number, now) = (self.said % self.made.len().max(1), self.clock.now());
        let Some(task) = self.made.get(number).cloned() else {
            self.said += 1;
            return Ok(());
        };
        let (stream, mut said) = self.event(&now, number, &task, "one more step");
        said.kind = "progress".to_owned();
        said.agent = format!("agent-{}", number % 50);
        tx.append(&stream, said).map(drop)
    }
}
