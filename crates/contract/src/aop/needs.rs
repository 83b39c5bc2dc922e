//! What a TASK needs of the machine it runs on, and whether it is there. The caller looks; this decides.

use super::task::{Environment, Input, Task};
use crate::domain::failure_code::FailureCode;

/// What was found on the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// As [`std::env::consts::OS`] names it.
    pub os: String,
    /// Whether the program of the TASK's shell is installed. Asked only if it names one.
    pub has_shell: bool,
    /// The branch that is checked out, or why there is none. Asked only if the TASK names one.
    pub branch: Option<Result<String, String>>,
    /// The files among the TASK's inputs, by their paths there.
    pub inputs: Vec<(String, InputFound)>,
    /// The paths of the TASK are of another machine and were mapped to this one.
    pub is_mapped: bool,
}

/// What was found of one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputFound {
    Readable,
    Missing,
    Unreadable(String),
}

/// Something that a TASK needs and that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    pub code: FailureCode,
    pub rule: &'static str,
    pub reason: String,
}

/// Whether everything is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NeedsJudgment {
    pub unmet: Option<Unmet>,
    pub warnings: Vec<String>,
}

/// Decides whether a TASK can start.
pub fn judge(task: &Task, found: &MachineFacts) -> NeedsJudgment {
    let mut judged = NeedsJudgment::default();
    let environment = &task.task.environment;
    let headless = task.target.capabilities.as_ref().and_then(|can| can.headless_mode).unwrap_or(true);
    if !headless {
        let reason =
            "the target needs a person (capabilities.headless_mode is false), and writ runs it alone";
        judged.lacks(FailureCode::AgentNotFound, "headless_mode", reason.to_owned());
    }
    judged.os(environment, found);
    judged.shell(environment, found);
    judged.branch(environment, found);
    for (path, input) in &found.inputs {
        match input {
            InputFound::Readable => {}
            InputFound::Missing => {
                let reason = format!("the input `{path}` does not exist");
                judged.lacks(FailureCode::FileNotFound, "input_missing", reason);
            }
            InputFound::Unreadable(why) => {
                let reason = format!("the input `{path}` cannot be read: {why}");
                judged.lacks(FailureCode::PermissionDenied, "input_unreadable", reason);
            }
        }
    }
    judged
}

impl NeedsJudgment {
    /// The first of several counts.
    fn lacks(&mut self, code: FailureCode, rule: &'static str, reason: String) {
        self.unmet.get_or_insert(Unmet { code, rule, reason });
    }

    fn os(&mut self, environment: &Environment, found: &MachineFacts) {
        let Some(asked) = environment.os.as_deref().filter(|asked| !is_os(asked, &found.os)) else { return };
        let told = format!("task.environment.os is `{asked}`, and this machine is `{}`", found.os);
        if found.is_mapped {
            self.warnings.push(format!("{told}; its paths are mapped, so it runs here"));
        } else {
            self.lacks(FailureCode::AgentNotFound, "os", told);
        }
    }

    fn shell(&mut self, environment: &Environment, found: &MachineFacts) {
        let Some(asked) = environment.shell.as_deref() else { return };
        if found.is_mapped && is_windows_shell(asked) {
            self.warnings
                .push(format!("the shell `{asked}` of the TASK is of another machine; `sh` is used"));
        } else if !found.has_shell {
            let reason = format!("the shell `{asked}` of task.environment.shell is not installed");
            self.lacks(FailureCode::AgentNotFound, "shell", reason);
        }
    }

    fn branch(&mut self, environment: &Environment, found: &MachineFacts) {
        let Some(asked) = environment.git_branch.as_deref() else { return };
        let is = match &found.branch {
            Some(Ok(branch)) if branch == asked => return,
            Some(Ok(branch)) => format!("`{branch}` is checked out"),
            Some(Err(why)) => why.clone(),
            None => "it is not known which one is checked out".to_owned(),
        };
        let reason = format!("task.environment.git_branch is `{asked}`, and {is}");
        self.lacks(FailureCode::DependencyFailed, "git_branch", reason);
    }
}

/// Whether a name of a system means this one.
fn is_os(asked: &str, here: &str) -> bool {
    let name = asked.trim().to_ascii_lowercase();
    let known = match name.as_str() {
        "darwin" | "macos" | "mac" | "osx" => "macos",
        "win32" | "win64" | "windows" => "windows",
        "linux" | "gnu/linux" => "linux",
        other => other,
    };
    known == here
}

fn is_windows_shell(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.trim_end_matches(".exe"), "powershell" | "pwsh" | "cmd")
}

/// The command line of a script for the shell that a TASK names. `None` for the plain `sh`.
pub fn shell_command(shell: &str, is_mapped: bool, script: &str) -> Option<Vec<String>> {
    if is_mapped && is_windows_shell(shell) {
        return None;
    }
    let program = shell_program(shell);
    let options: &[&str] = match program.as_str() {
        "sh" => return None,
        "pwsh" => &["-NoProfile", "-NonInteractive", "-Command"],
        "cmd" => &["/C"],
        _ => &["-c"],
    };
    let words = std::iter::once(program.as_str()).chain(options.iter().copied()).chain([script]);
    Some(words.map(str::to_owned).collect())
}

/// The program of a shell.
pub fn shell_program(shell: &str) -> String {
    match shell.to_ascii_lowercase().trim_end_matches(".exe") {
        "powershell" | "pwsh" => "pwsh".to_owned(),
        "cmd" => "cmd".to_owned(),
        _ => shell.to_owned(),
    }
}

/// The files among the inputs of a TASK.
pub fn files(task: &Task) -> impl Iterator<Item = (&str, &Input)> {
    let is_file = |input: &&Input| input.kind.eq_ignore_ascii_case("FILE");
    task.task.inputs.iter().filter(is_file).filter_map(|input| Some((input.path.as_deref()?, input)))
}

/// The inputs that the executor must leave as they are. A file that is also an output may change.
pub fn kept_inputs(task: &Task) -> Vec<&str> {
    let outputs = task.task.expected_outputs.iter().filter_map(|output| output.path.as_deref());
    let points = task.phases.iter().flat_map(|phase| &phase.checkpoints);
    let artifacts =
        points.flat_map(|point| &point.expected_artifacts).filter_map(|made| made.path.as_deref());
    let root = &task.task.environment.workspace_root;
    let place = |path: &str| super::effective::path::normal(root, path);
    let made: Vec<_> = outputs.chain(artifacts).map(place).collect();
    let is_kept = |path: &str| !made.contains(&place(path));
    files(task)
        .filter(|(path, input)| input.read_only.unwrap_or(true) && is_kept(path))
        .map(|(path, _)| path)
        .collect()
}

#[cfg(test)]
mod tests;
