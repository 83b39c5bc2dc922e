//! `writ token`

use std::process::ExitCode;
use std::time::Duration;

use contract::domain::code::ErrorCode;
use contract::domain::token::{Token, TokenScope};
use ops::token::{create, list, revoke};
use ops::{Error, Result};

use crate::app::Globals;
use crate::host;
use crate::output::Output;
use crate::person::PersonArgs;

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Create a token that lets a program decide for you; it is shown once
    #[command(after_help = "A program gives the token by WRIT_TOKEN or --token-file.

Examples:
  writ token create ci --scope approve
  writ token create night --scope approve --expires 12h")]
    Create {
        /// What the token is called in lists and in the log
        name: String,
        /// What it permits: approve, for approvals, budgets, trust and forced releases
        #[arg(long)]
        scope: String,
        /// How long it is valid [default: until it is revoked]
        #[arg(long, value_name = "DURATION", value_parser = host::length)]
        expires: Option<Duration>,
    },
    /// List tokens, without their secrets
    #[command(after_help = "Examples:
  writ token list")]
    List,
    /// Revoke a token
    #[command(after_help = "Examples:
  writ token revoke ci")]
    Revoke {
        /// The token's name or id
        token: String,
    },
}

pub(crate) fn run(command: &Command, globals: &Globals, output: &Output) -> Result<ExitCode> {
    match command {
        Command::Create { name, scope, expires } => {
            let scope = TokenScope::parse(scope).ok_or_else(|| {
                let known = TokenScope::WORDS.join(", ");
                Error::new(ErrorCode::Usage, format!("there is no scope `{scope}`; use {known}"))
            })?;
            let expires_in_seconds = expires.map(|length| length.as_secs());
            let request = create::Request { name: name.clone(), scope, expires_in_seconds };
            host::answer_decided::<create::Create>(globals, &PersonArgs::default(), output, &request, created)
        }
        Command::List => {
            host::answer::<list::List>(globals, output, &list::Request {}, |answer| {
                match answer.tokens.as_slice() {
                    [] => "no tokens\n".to_owned(),
                    tokens => tokens.iter().map(line).collect(),
                }
            })
        }
        Command::Revoke { token } => {
            let request = revoke::Request { token: token.clone() };
            host::answer::<revoke::Revoke>(globals, output, &request, line)
        }
    }
}

fn created(answer: &create::Answer) -> String {
    match &answer.secret {
        Some(secret) => format!("{}{secret}\nkeep it safe: it is not shown again\n", line(&answer.token)),
        None => format!("{}its secret was shown when it was created\n", line(&answer.token)),
    }
}

fn line(token: &Token) -> String {
    let at = |label: &str, at: Option<contract::domain::time::Timestamp>| {
        at.map_or_else(String::new, |at| format!("  {label} {at}"))
    };
    format!(
        "{}  {}  {}  created {} by {}{}{}{}\n",
        token.id,
        token.name,
        token.scope,
        token.created_at,
        token.created_by,
        at("expires", token.expires_at),
        at("last used", token.last_used_at),
        at("revoked", token.revoked_at),
    )
}
