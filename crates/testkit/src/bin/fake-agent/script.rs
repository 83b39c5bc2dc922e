//! The steps of a script, and how they are parsed.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Print(String),
    Err(String),
    Sleep(Duration),
    Exit(u8),
    Write(PathBuf, String),
    Append(PathBuf, String),
    Pid(PathBuf),
    IgnoreTerm,
    Setsid,
    Grandchild {
        sleeps: Duration,
        pid_file: Option<PathBuf>,
    },
    Daemon {
        sleeps: Duration,
        pid_file: Option<PathBuf>,
    },
    Flood(u64),
    FloodLine(u64),
    StdinEcho,
    Crash,
    Env(String),
    Hang,
    AopRead,
    AopHeartbeat,
    AopProgress(u8, String),
    AopSuccess,
    AopFailed(String),
    AopPartial,
    AopBadJson,
    AopWrongTask,
    AopNoFinalSignal,
    AopTwoResponses,
    AopCost(f64),
    AopGarbage,
    /// For orphans only: reports through the inherited pipe that all steps before this one are done.
    Ready,
}

/// Every step with its arguments, as `--help` shows it.
pub(crate) const FORMS: &str = "\
print TEXT                  a line on standard output
err TEXT                    a line on standard error
sleep MS                    sleep for MS milliseconds
exit N                      exit with code N
write PATH TEXT             write a line to the file
append PATH TEXT            add a line to the file
pid PATH                    write the process id to the file
ignore-term                 ignore SIGTERM from here on
setsid                      exit with 0; an orphan in its own session runs the rest of the script
grandchild MS [PIDFILE]     start an orphan in the same process group that sleeps and ignores SIGTERM
daemon MS [PIDFILE]         start such an orphan in its own session
flood BYTES                 print BYTES bytes to standard output, in lines
flood-line BYTES            print BYTES bytes to standard output, without a newline
stdin-echo                  copy standard input to standard output
crash                       abort
env NAME                    print NAME=value, or that it is not set
hang                        do nothing, forever
aop-read                    read a TASK from standard input
aop-heartbeat               a HEARTBEAT event
aop-progress PCT TEXT       a PROGRESS_UPDATE event
aop-success                 a RESPONSE: COMPLETED, SUCCESS
aop-failed CODE             a RESPONSE: FAILED, FAILURE with this error code
aop-partial                 a RESPONSE: COMPLETED, PARTIAL_SUCCESS
aop-bad-json                half of a RESPONSE
aop-wrong-task              a RESPONSE for another task
aop-no-final-signal         a RESPONSE without its final signal
aop-two-responses           a RESPONSE that says SUCCESS, then one that says FAILURE
aop-cost USD                the cost that the next RESPONSE reports
aop-garbage                 lines that are not messages
";

/// One step and its source text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) step: Step,
}

pub(crate) fn parse(script: &str) -> Result<Vec<Line>, String> {
    let texts = split(script).into_iter().map(|text| text.trim().to_owned());
    let texts = texts.filter(|text| !text.is_empty() && !text.starts_with('#'));
    texts.map(|text| step(&text).map(|step| Line { text, step })).collect()
}

/// Turns lines back into a script, for another process to run.
pub(crate) fn unparse(lines: &[Line]) -> String {
    let escape = |line: &Line| line.text.replace('\\', r"\\").replace(';', r"\;").replace('\n', r"\n");
    lines.iter().map(escape).collect::<Vec<_>>().join(";")
}

/// Splits at `;` and at line ends, unless escaped.
fn split(script: &str) -> Vec<String> {
    let mut steps = vec![String::new()];
    let mut letters = script.chars();
    while let Some(letter) = letters.next() {
        let step = steps.last_mut().expect("BUG: it starts with one");
        match letter {
            ';' | '\n' => steps.push(String::new()),
            '\\' => match letters.next() {
                Some('n') => step.push('\n'),
                Some(escaped) => step.push(escaped),
                None => step.push('\\'),
            },
            other => step.push(other),
        }
    }
    steps
}

fn step(text: &str) -> Result<Step, String> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim_start();
    let step = match word {
        "print" => Step::Print(rest.to_owned()),
        "err" => Step::Err(rest.to_owned()),
        "sleep" => Step::Sleep(millis(text, rest)?),
        "exit" => Step::Exit(number(text, rest)?),
        "write" | "append" => {
            let (path, line) = rest.split_once(' ').unwrap_or((rest, ""));
            let path = path_of(text, path)?;
            if word == "write" {
                Step::Write(path, line.to_owned())
            } else {
                Step::Append(path, line.to_owned())
            }
        }
        "pid" => Step::Pid(path_of(text, rest)?),
        "grandchild" | "daemon" => {
            let (sleeps, pid_file) = rest.split_once(' ').unwrap_or((rest, ""));
            let sleeps = millis(text, sleeps)?;
            let pid_file = (!pid_file.is_empty()).then(|| PathBuf::from(pid_file));
            if word == "daemon" {
                Step::Daemon { sleeps, pid_file }
            } else {
                Step::Grandchild { sleeps, pid_file }
            }
        }
        "flood" => Step::Flood(number(text, rest)?),
        "flood-line" => Step::FloodLine(number(text, rest)?),
        "env" => Step::Env(word_of(text, rest)?),
        "aop-progress" => {
            let (percent, message) = rest.split_once(' ').unwrap_or((rest, ""));
            Step::AopProgress(number(text, percent)?, message.to_owned())
        }
        "aop-failed" => Step::AopFailed(word_of(text, rest)?),
        "aop-cost" => Step::AopCost(number(text, rest)?),
        _ => return plain(text),
    };
    Ok(step)
}

/// The steps that are a single word.
fn plain(text: &str) -> Result<Step, String> {
    let step = match text {
        "ignore-term" => Step::IgnoreTerm,
        "setsid" => Step::Setsid,
        "stdin-echo" => Step::StdinEcho,
        "crash" => Step::Crash,
        "hang" => Step::Hang,
        "aop-read" => Step::AopRead,
        "aop-heartbeat" => Step::AopHeartbeat,
        "aop-success" => Step::AopSuccess,
        "aop-partial" => Step::AopPartial,
        "aop-bad-json" => Step::AopBadJson,
        "aop-wrong-task" => Step::AopWrongTask,
        "aop-no-final-signal" => Step::AopNoFinalSignal,
        "aop-two-responses" => Step::AopTwoResponses,
        "aop-garbage" => Step::AopGarbage,
        "ready" => Step::Ready,
        _ => return Err(format!("unknown step `{text}`; the steps are\n{FORMS}")),
    };
    Ok(step)
}

fn number<N: std::str::FromStr>(step: &str, text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("`{step}` needs a number in its range, not `{text}`"))
}

fn millis(step: &str, text: &str) -> Result<Duration, String> {
    number(step, text).map(Duration::from_millis)
}

fn word_of(step: &str, text: &str) -> Result<String, String> {
    let one = !text.is_empty() && !text.contains(' ');
    if one { Ok(text.to_owned()) } else { Err(format!("`{step}` needs exactly one word")) }
}

fn path_of(step: &str, text: &str) -> Result<PathBuf, String> {
    word_of(step, text).map(PathBuf::from)
}

#[cfg(test)]
mod tests;
