//! `writ config show`

use std::process::ExitCode;

use ops::Result;
use ops::verb::Surface;
use serde_json::{Value, json};

use crate::app::Globals;
use crate::local::LocalCommand;
use crate::output::Output;
use crate::{config, env, host};

pub(crate) const LOCAL: &[LocalCommand] = &[LocalCommand::reads("config show", Surface::Writ)];

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Show every value and its source
    #[command(after_help = "Examples:\n  writ config show\n  writ config show --output json")]
    Show,
}

pub(crate) fn run(Command::Show: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    let here = host::absolute(".".into());
    let loaded = config::load(&here)?;
    let store = host::store_path(globals)?;
    let source = host::store_source(globals).to_owned();
    let mut rows = vec![("store".to_owned(), store.display().to_string(), source)];
    let agent = host::agent_name(globals);
    let agent_source = if globals.agent.is_some() { "--agent" } else { "environment" };
    rows.push((
        "agent".to_owned(),
        agent.clone().unwrap_or_default(),
        if agent.is_some() { agent_source } else { "not set" }.to_owned(),
    ));
    let user = env::config_home().unwrap_or_default().join("config.toml");
    let exists = |path: &std::path::Path| if path.is_file() { "read" } else { "not there" }.to_owned();
    rows.push(("user configuration".to_owned(), user.display().to_string(), exists(&user)));
    if let Some(project) = config::project_file(&here) {
        rows.push(("project configuration".to_owned(), project.display().to_string(), "read".to_owned()));
    }
    for (name, value, from) in loaded.sources {
        rows.push((name, value, from.display().to_string()));
    }
    let set: Vec<Value> = env::VARIABLES
        .iter()
        .map(|variable| json!({"name": variable.name, "about": variable.about, "set": env::get(variable.name).is_some()}))
        .collect();
    let values: Vec<Value> =
        rows.iter().map(|(name, value, from)| json!({"name": name, "value": value, "from": from})).collect();
    Ok(output.answer(&json!({"values": values, "environment": set}), || {
        let mut text: String =
            rows.iter().map(|(name, value, from)| format!("{name:<22} {value}  ({from})\n")).collect();
        text.push_str("\nenvironment variables\n");
        for variable in env::VARIABLES {
            let mark = if env::get(variable.name).is_some() { "set" } else { "" };
            text.push_str(&format!("  {:<16} {mark:<4} {}\n", variable.name, variable.about));
        }
        text
    }))
}
