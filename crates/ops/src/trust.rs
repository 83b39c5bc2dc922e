//! Trust in a project: whether writ may run the commands in its `.writ/`.

pub mod grant;
pub mod list;
pub mod revoke;
pub mod show;

use contract::domain::trust::{ProjectCommands, Trust, TrustState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::record::{About, stream_of};

/// The commands of one project, and whether they may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct View {
    /// The directory that contains `.writ/`, or the one that was asked about.
    pub directory: String,
    pub state: TrustState,
    /// Each command in one line.
    pub commands: Vec<String>,
    /// The digest of the commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What a person allowed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
}

impl View {
    fn of(directory: &str, commands: Option<&ProjectCommands>, trust: Option<Trust>) -> Self {
        let commands = commands.filter(|commands| !commands.is_empty());
        View {
            directory: directory.to_owned(),
            state: TrustState::of(commands, trust.as_ref()),
            commands: commands.map(ProjectCommands::lines).unwrap_or_default(),
            digest: commands.map(ProjectCommands::digest),
            trust,
        }
    }
}

/// The project at or above the directory, and its commands.
fn look(cx: &mut Context, directory: &str) -> Result<(String, Option<ProjectCommands>)> {
    if directory.is_empty() {
        return Err(Error::required("directory"));
    }
    let host = cx.host();
    let commands = host.project_commands(directory)?;
    let directory =
        commands.as_ref().map_or_else(|| host.real_directory(directory), |found| found.directory.clone());
    Ok((directory, commands))
}

/// Decisions about a project belong to the project's stream.
fn about(directory: &str) -> About {
    About {
        stream: stream_of(Some(directory)),
        corr: directory.to_owned(),
        reply_to: None,
        priority: contract::domain::priority::Priority::Normal,
        project_id: Some(directory.to_owned()),
        task_id: None,
        run_id: None,
    }
}
