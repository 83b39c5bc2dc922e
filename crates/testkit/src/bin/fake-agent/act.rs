//! Runs the steps of a script.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;

use crate::aop::{Messages, Written};
use crate::offspring::{self, Kind};
use crate::script::{self, Line, Step};

#[derive(Default)]
pub(crate) struct Agent {
    /// The pipe an orphan reports through.
    pub(crate) ready: Option<String>,
    task: Option<Value>,
    messages: Messages,
}

type StepResult = Result<(), String>;

impl Agent {
    /// The exit code the script asks for.
    pub(crate) fn run(&mut self, lines: &[Line]) -> Result<u8, String> {
        for (index, line) in lines.iter().enumerate() {
            match &line.step {
                Step::Exit(code) => return Ok(*code),
                Step::Setsid => {
                    offspring::hand_over(&script::unparse(&lines[index + 1..]), self.task.as_ref())?;
                    return Ok(0);
                }
                other => self.act(other)?,
            }
        }
        Ok(0)
    }

    /// The script in the objective of the TASK on standard input.
    pub(crate) fn script_of_task(&mut self) -> Result<String, String> {
        self.read_task()?;
        let objective =
            self.task.as_ref().and_then(|task| task["task"]["objective"].as_str()).unwrap_or_default();
        let script = objective.split_once("fake:").map(|(_, script)| script.to_owned());
        script.ok_or_else(|| format!("the objective contains no `fake:` script: {objective}"))
    }

    fn act(&mut self, step: &Step) -> StepResult {
        match step {
            Step::Print(text) => print(&format!("{text}\n")),
            Step::Err(text) => writeln!(io::stderr(), "{text}").map_err(|error| error.to_string()),
            Step::Sleep(length) => sleep(*length),
            Step::Write(path, text) => self.write(path, text, false),
            Step::Append(path, text) => self.write(path, text, true),
            Step::Pid(path) => put(path, &std::process::id().to_string(), false),
            Step::IgnoreTerm => ignore_term(),
            Step::Grandchild { sleeps, pid_file } => {
                offspring::orphan(Kind::SameGroup, *sleeps, pid_file.as_deref())
            }
            Step::Daemon { sleeps, pid_file } => {
                offspring::orphan(Kind::OwnSession, *sleeps, pid_file.as_deref())
            }
            Step::Flood(bytes) => flood(*bytes, true),
            Step::FloodLine(bytes) => flood(*bytes, false),
            Step::StdinEcho => echo(),
            Step::Crash => std::process::abort(),
            Step::Env(name) => print_env(name),
            Step::Hang => loop {
                sleep(Duration::from_secs(3600))?;
            },
            Step::Ready => offspring::report(self.ready.as_deref()),
            Step::AopRead => self.read_task(),
            Step::AopCost(usd) => {
                self.messages.cost_usd = Some(*usd);
                Ok(())
            }
            Step::Exit(_) | Step::Setsid => unreachable!("BUG: run() handles these"),
            aop => self.say(aop),
        }
    }

    /// The steps that print protocol messages, valid or broken.
    fn say(&mut self, step: &Step) -> StepResult {
        if *step == Step::AopGarbage {
            return print_bytes(crate::aop::GARBAGE);
        }
        if self.task.is_none() {
            self.read_task()?;
        }
        let task = self.task.as_ref().expect("BUG: read two lines up");
        print(&self.messages.text(step, task))
    }

    fn read_task(&mut self) -> StepResult {
        if self.task.is_some() {
            return Ok(());
        }
        if let Some(identity) = offspring::inherited_task() {
            self.task = Some(identity);
            return Ok(());
        }
        // One document, not the whole stream: the writer may keep the pipe open.
        let mut documents = serde_json::Deserializer::from_reader(io::stdin()).into_iter::<Value>();
        match documents.next() {
            Some(Ok(task)) if task["message_type"] == "TASK" => {
                self.task = Some(task);
                Ok(())
            }
            Some(Ok(_)) => Err("standard input contains no TASK".to_owned()),
            Some(Err(error)) => Err(format!("standard input contains no JSON: {error}")),
            None => Err("standard input is empty, and a TASK was expected".to_owned()),
        }
    }

    fn write(&mut self, path: &Path, text: &str, append: bool) -> StepResult {
        let existed = path.exists();
        put(path, text, append)?;
        let bytes = path.metadata().map_or(0, |about| about.len());
        let path = path.display().to_string();
        match self.messages.written.iter_mut().find(|written| written.path == path) {
            Some(written) => written.bytes = bytes,
            None => self.messages.written.push(Written { path, is_new: !existed, bytes }),
        }
        Ok(())
    }
}

fn put(path: &Path, text: &str, append: bool) -> StepResult {
    let fault = |error: io::Error| format!("could not write {}: {error}", path.display());
    let mut options = OpenOptions::new();
    options.create(true).write(true).append(append).truncate(!append);
    let mut file = options.open(path).map_err(fault)?;
    file.write_all(format!("{text}\n").as_bytes()).map_err(fault)
}

fn print(text: &str) -> StepResult {
    print_bytes(text.as_bytes())
}

fn print_bytes(bytes: &[u8]) -> StepResult {
    let mut stdout = io::stdout().lock();
    let done = stdout.write_all(bytes).and_then(|()| stdout.flush());
    done.map_err(|error| format!("could not print: {error}"))
}

fn flood(bytes: u64, in_lines: bool) -> StepResult {
    let mut chunk = [b'x'; 1024];
    if in_lines {
        chunk[1023] = b'\n';
    }
    let mut left = bytes;
    while left > 0 {
        let now = usize::try_from(left.min(1024)).expect("BUG: at most a chunk");
        print_bytes(&chunk[1024 - now..])?;
        left -= now as u64;
    }
    Ok(())
}

fn echo() -> StepResult {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    print_bytes(&bytes)
}

#[expect(clippy::disallowed_methods, reason = "the script prints its environment")]
fn print_env(name: &str) -> StepResult {
    match std::env::var_os(name) {
        Some(value) => print(&format!("{name}={}\n", value.to_string_lossy())),
        None => print(&format!("{name} is not set\n")),
    }
}

fn ignore_term() -> StepResult {
    // A handler that only sets a flag. The flag is never read.
    let flag = Arc::new(AtomicBool::new(false));
    let registered = signal_hook::flag::register(signal_hook::consts::SIGTERM, flag);
    registered.map(|_| ()).map_err(|error| format!("could not ignore SIGTERM: {error}"))
}

#[expect(clippy::disallowed_methods, reason = "the script asks for it")]
#[expect(clippy::unnecessary_wraps, reason = "it is one of the steps")]
fn sleep(length: Duration) -> StepResult {
    std::thread::sleep(length);
    Ok(())
}
