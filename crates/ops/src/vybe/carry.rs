//! Imports one kind of thing after the other, through the same changes that other verbs make.

use std::collections::BTreeMap;

use contract::continuity::memory::MemoryText;
use contract::domain::artifact::NewArtifact;
use contract::domain::change::Change;
use contract::domain::code::ErrorCode;
use contract::domain::event_kind;
use contract::domain::id::{Id, mint};
use contract::domain::request::Agent;
use contract::domain::task::TaskId;
use contract::domain::time::{Now, Timestamp};
use contract::json::canonical;
use contract::secrets::scrub;
use serde_json::{Value, json};
use store::Vybe;

use super::report::VybeImportReport;
use super::tasks::project_of;
use crate::context::Caller;
use crate::error::{Error, Result};
use crate::memory::about_project;
use crate::record::{About, EventBody, EventWriter};
use crate::task;

pub(super) struct Carrier<'c, 'w, 't> {
    pub(super) work: &'c mut EventWriter<'w, 't>,
    /// Tasks by their ids in vybe.
    pub(super) tasks: BTreeMap<String, TaskId>,
    /// The numbers of events, there and here, in their order.
    events: Vec<(i64, i64)>,
    pub(super) report: VybeImportReport,
}

impl<'c, 'w, 't> Carrier<'c, 'w, 't> {
    pub(super) fn new(work: &'c mut EventWriter<'w, 't>) -> Self {
        Self { work, tasks: BTreeMap::new(), events: Vec::new(), report: VybeImportReport::default() }
    }

    pub(super) fn projects(&mut self, vybe: &Vybe) -> Result<()> {
        vybe.each("projects", |row| {
            self.report.found("projects");
            let Some(id) = project_of(row, "id") else { return Ok(()) };
            if self.work.tx.project_row(&id)?.is_some() {
                self.report.remark(format!("project {id} is here already"));
                return Ok(());
            }
            let name = scrub(&row.text(&["name"]).unwrap_or_else(|| id.clone())).into_owned();
            let about = about_project(self.work, Some(id.clone()), None);
            let added = Change::ProjectAdded { project_id: id, name };
            self.change_at(row.time(&["created_at"]), &about, "Project imported from vybe", &added)?;
            self.report.carried("projects");
            Ok(())
        })
    }

    pub(super) fn memories(&mut self, vybe: &Vybe) -> Result<()> {
        vybe.each("memory", |row| {
            self.report.found("memories");
            let text = MemoryText {
                key: row.text(&["key"]).unwrap_or_default(),
                value: scrub(&row.text(&["value"]).unwrap_or_default()).into_owned(),
                value_type: row.text(&["value_type"]),
                scope: row.text(&["scope"]).unwrap_or_else(|| "global".to_owned()),
                scope_id: row.text(&["scope_id"]),
                expires_at: row.time(&["expires_at"]).map(|at| at.to_string()),
                kind: row.text(&["kind"]),
                half_life_days: row.real(&["half_life_days"]),
                pinned: row.number(&["pinned"]).map(|pinned| pinned != 0),
                source_task_id: row.text(&["source_task_id"]),
            };
            let name = format!("memory {} ({})", text.key, text.scope);
            let carried = text.draft().map_err(Error::from).and_then(|draft| {
                if self.work.tx.memory(&draft.place, &draft.key)?.is_some() {
                    return Ok(false);
                }
                crate::memory::write(self.work, &draft, None).map(|_| true)
            });
            match carried {
                Ok(true) => self.report.carried("memories"),
                Ok(false) => self.report.remark(format!("{name} is here already")),
                Err(error) if matches!(error.code, ErrorCode::InvalidInput | ErrorCode::TooLarge) => {
                    self.report.remark(format!("{name}: {error}"));
                }
                Err(error) => return Err(error),
            }
            Ok(())
        })
    }

    pub(super) fn events(&mut self, vybe: &Vybe) -> Result<()> {
        vybe.each("events", |row| {
            self.report.found("events");
            let metadata = row.text(&["metadata"]).map_or(Value::Null, |text| {
                let parsed = serde_json::from_str::<Value>(&text).ok();
                // Numbers without a canonical form are kept as text.
                parsed.filter(|value| canonical::check(value).is_ok()).unwrap_or(Value::String(text))
            });
            let task = row.text(&["task_id"]);
            let known = task.as_ref().and_then(|id| self.tasks.get(id)).cloned();
            let mut about = about_project(self.work, project_of(row, "project_id"), None);
            about.corr = known.as_ref().map_or(about.corr, ToString::to_string);
            about.task_id = known;
            let old = row.number(&["id"]).unwrap_or(0);
            let payload = json!({
                "imported_from": "vybe", "id": old,
                "created_at": row.time(&["created_at"]),
                "task_id": task,
                "metadata": metadata,
            });
            let kind = row.text(&["kind"]).unwrap_or_else(|| "event".to_owned());
            let says = EventBody::event(&kind, row.text(&["message"]).unwrap_or_default(), payload);
            let says = EventBody { intent: event_kind::agents_intent(&kind), ..says };
            let number = self.say_for(row.text(&["agent_name"]), &about, says)?;
            self.events.push((old, number));
            self.report.carried("events");
            Ok(())
        })
    }

    pub(super) fn artifacts(&mut self, vybe: &Vybe) -> Result<()> {
        vybe.each("artifacts", |row| {
            self.report.found("artifacts");
            let task = row.text(&["task_id"]).and_then(|id| self.tasks.get(&id).cloned());
            let (Some(task_id), Some(file_path)) = (task, row.text(&["file_path"])) else {
                self.report.remark("an artifact has no path, or its task was not carried".to_owned());
                return Ok(());
            };
            let old = row.text(&["id"]).and_then(|id| Id::parse(&id).ok());
            let artifact = NewArtifact {
                id: old.unwrap_or_else(|| mint(self.work.ids, self.work.now.at)),
                task_id: task_id.clone(),
                project_id: project_of(row, "project_id"),
                file_path,
                content_type: row.text(&["content_type"]).unwrap_or_default(),
            };
            let about = task::about(self.work.tx, &task::required(self.work.tx, task_id.as_str())?)?;
            let added = Change::ArtifactAdded { artifact };
            self.change_at(row.time(&["created_at"]), &about, "Artifact imported from vybe", &added)?;
            self.report.carried("artifacts");
            Ok(())
        })
    }

    /// Each agent's focus and how far it has read. An agent that works here already is left as it is.
    pub(super) fn agents(&mut self, vybe: &Vybe) -> Result<()> {
        vybe.each("agent_state", |row| {
            self.report.found("agents");
            let agent = row.text(&["agent_name"]).and_then(|name| Agent::parse(&name).ok());
            let Some(agent) = agent else { return Ok(()) };
            let agent = agent.as_str();
            if self.work.tx.agent(agent)?.is_some() {
                self.report.remark(format!("agent {agent} works here already"));
                return Ok(());
            }
            let task_id = row.text(&["focus_task_id"]).and_then(|id| self.tasks.get(&id).cloned());
            let project_id = project_of(row, "focus_project_id");
            let about = about_project(self.work, project_id.clone(), None);
            let focused =
                Change::AgentFocused { agent: agent.to_owned(), task_id, project_id: project_id.clone() };
            self.change_at(row.time(&["last_active_at"]), &about, "Focus imported from vybe", &focused)?;
            let seen = row.number(&["last_seen_event_id"]).unwrap_or(0);
            if let Some((_, number)) = self.events.iter().rev().find(|(old, _)| *old <= seen) {
                let at = self.work.now.at;
                self.work.tx.advance_cursor(agent, None, *number, at)?;
                if project_id.is_some() {
                    self.work.tx.advance_cursor(agent, project_id.as_deref(), *number, at)?;
                }
            }
            self.report.carried("agents");
            Ok(())
        })
    }

    /// A change as of the time it was made there, so that tables show when things began.
    pub(super) fn change_at(
        &mut self,
        at: Option<Timestamp>,
        about: &About,
        message: &str,
        change: &Change,
    ) -> Result<()> {
        let then = Now { at: at.unwrap_or(self.work.now.at), boot: self.work.now.boot.clone() };
        let EventWriter { tx, ids, caller, view, .. } = &mut *self.work;
        let mut scribe = EventWriter { tx, now: &then, ids: &mut **ids, caller, view };
        scribe.change(about, message, change).map(|_| ())
    }

    /// An event under the name of its author there: not writ's own, whatever its kind.
    fn say_for(&mut self, agent: Option<String>, about: &About, says: EventBody) -> Result<i64> {
        let Some(agent) = agent.and_then(|name| Agent::parse(&name).ok()) else {
            return self.work.say(about, says);
        };
        let caller = Caller::agent(agent);
        let EventWriter { tx, ids, now, view, .. } = &mut *self.work;
        let mut scribe = EventWriter { tx, now, ids: &mut **ids, caller: &caller, view };
        scribe.say(about, says)
    }
}
