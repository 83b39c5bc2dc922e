//! Transcripts: the logs of attempts outside runs, of loops and workers. A name has the attempt, the task and the number.

use std::fs;
use std::path::Path;

use contract::domain::attempt::AttemptId;
use contract::domain::task::TaskId;
use contract::secrets::Hidden;
use ops::host::Transcript;

use crate::supervisor::logs::LogWriter;

/// The transcripts of a task, oldest first.
pub fn of_task(directory: &Path, task: &TaskId) -> Vec<Transcript> {
    // Without the directory there are none.
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<Transcript> = names.filter_map(|name| parsed(&name, task)).collect();
    found.sort_by_key(|transcript| transcript.number);
    found
}

/// A new transcript, numbered after those that are kept. If the log cannot be written, the attempt goes on without one.
pub(crate) fn create(
    directory: &Path,
    task: &TaskId,
    attempt: &AttemptId,
    hidden: &Hidden,
) -> Option<LogWriter> {
    let number = of_task(directory, task).last().map_or(0, |last| last.number) + 1;
    LogWriter::create(&directory.join(format!("{attempt}.{task}.{number}.log")), hidden).ok()
}

fn parsed(name: &str, task: &TaskId) -> Option<Transcript> {
    let (attempt, rest) = name.strip_suffix(".log")?.split_once('.')?;
    let (of_task, number) = rest.split_once('.')?;
    let attempt = AttemptId::parse(attempt).ok().filter(|_| of_task == task.as_str())?;
    Some(Transcript { attempt, number: number.parse().ok()?, file: name.to_owned() })
}

#[cfg(test)]
mod tests;
