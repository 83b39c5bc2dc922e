//! What an agent of a loop is told, and how it is called.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use contract::domain::code::ErrorCode;
use contract::domain::id::Minter;
use ops::{Error, Result};

use crate::minter::RandomIds;

/// Behind the context: nobody is there to ask.
const ALONE: &str = "\n\n== NOBODY WATCHES ==\n\
    You were started by a loop and work alone: nobody can answer questions.\n\
    - Work on the task above and on nothing else.\n\
    - When it is finished, close it with the DONE command above.\n\
    - When you cannot finish it, close it with the STUCK command above and say why.\n\
    - A task that is still open when you end is marked as failed.\n";

/// A file that only the user can read and that goes away with the value.
pub(super) struct Prompt {
    path: PathBuf,
}

impl Prompt {
    pub(super) fn write(context: &str) -> Result<Self> {
        let name = format!("writ-loop-{:016x}.md", RandomIds.random_bits() >> 64);
        let path = std::env::temp_dir().join(name);
        let failed = |error: std::io::Error| {
            Error::new(ErrorCode::Io, format!("could not write {}: {error}", path.display()))
        };
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let prompt = Self { path: path.clone() };
        file.write_all(format!("{context}{ALONE}").as_bytes()).map_err(failed)?;
        Ok(prompt)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        // The agent may have moved it away; either way it is not ours any more.
        std::fs::remove_file(&self.path).ok();
    }
}

/// The words an agent program is called with.
pub(super) fn words(
    program: &[String],
    project: Option<&str>,
    prompt: &Path,
    without_hooks: bool,
) -> Vec<String> {
    let mut words = program.to_vec();
    let is_claude =
        program.first().is_some_and(|name| Path::new(name).file_name() == Some("claude".as_ref()));
    // Claude Code works where it is started and refuses words it does not know.
    if let Some(project) = project.filter(|_| !is_claude) {
        words.extend(["--project".to_owned(), project.to_owned()]);
    }
    words.extend(["-p".to_owned(), format!("@{}", prompt.display())]);
    if is_claude && without_hooks {
        words.extend(["--settings".to_owned(), r#"{"hooks":{}}"#.to_owned()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_called_in_words_it_knows() {
        let called = |program: &[&str], project, without_hooks| {
            let program: Vec<String> = program.iter().map(|&word| word.to_owned()).collect();
            words(&program, project, Path::new("/p.md"), without_hooks).join(" ")
        };
        assert_eq!(called(&["agent", "-x"], None, false), "agent -x -p @/p.md");
        assert_eq!(called(&["agent"], Some("/w"), true), "agent --project /w -p @/p.md");
        assert_eq!(called(&["/bin/claude"], Some("/w"), false), "/bin/claude -p @/p.md");
        assert_eq!(called(&["claude"], None, true), r#"claude -p @/p.md --settings {"hooks":{}}"#);
    }
}
