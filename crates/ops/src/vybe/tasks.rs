//! Imports tasks and their dependencies.

use contract::continuity;
use contract::domain::change::Change;
use contract::domain::id::{Id, mint};
use contract::domain::limits;
use contract::domain::priority::Priority;
use contract::domain::status::{Evidence, Status};
use contract::domain::task::TaskId;
use contract::domain::workspace;
use contract::secrets::scrub;
use store::{Vybe, VybeRow};

use super::carry::Carrier;
use crate::error::Result;
use crate::record::{About, stream_of};
use crate::task;

impl Carrier<'_, '_, '_> {
    pub(super) fn tasks(&mut self, vybe: &Vybe) -> Result<()> {
        vybe.each("tasks", |row| {
            self.report.found("tasks");
            let Some(old) = row.text(&["id"]) else { return Ok(()) };
            let id: TaskId = Id::parse(&old).unwrap_or_else(|_| mint(self.work.ids, self.work.now.at));
            if self.work.tx.task(&id)?.is_some() {
                self.report.remark(format!("task {old} is here already"));
                return Ok(());
            }
            let (title, description) = self.texts(row, &old);
            let created = Change::TaskCreated {
                task_id: id.clone(),
                title,
                description,
                priority: row.number(&["priority"]).unwrap_or(0),
                project_id: project_of(row, "project_id"),
                part: None,
                depends_on: Vec::new(),
                checks: None,
            };
            let about = self.about_task(&id, project_of(row, "project_id"));
            let at = row.time(&["created_at"]);
            self.change_at(at, &about, "Task imported from vybe", &created)?;
            self.move_task(row, &id, &about)?;
            self.tasks.insert(old, id);
            self.report.carried("tasks");
            Ok(())
        })
    }

    /// A title is one line of bounded length; what does not fit goes to the beginning of the description.
    fn texts(&mut self, row: &VybeRow, id: &str) -> (String, String) {
        let whole = scrub(&row.text(&["title"]).unwrap_or_default()).into_owned();
        let mut description = scrub(&row.text(&["description"]).unwrap_or_default()).into_owned();
        let line: String = whole.chars().filter(|c| !c.is_control()).take(limits::TITLE_CHARS_MAX).collect();
        let title = if line.trim().is_empty() { "(no title)".to_owned() } else { line };
        if title != whole && !whole.is_empty() {
            self.report.remark(format!(
                "the title of {id} does not fit on one line; all of it is in the description"
            ));
            description = format!("{whole}\n\n{description}");
        }
        if description.len() > limits::DESCRIPTION_BYTES_MAX {
            self.report.remark(format!(
                "the description of {id} was cut to {} bytes",
                limits::DESCRIPTION_BYTES_MAX
            ));
            let end = (0..=limits::DESCRIPTION_BYTES_MAX).rev().find(|&at| description.is_char_boundary(at));
            description.truncate(end.unwrap_or(0));
        }
        (title, description)
    }

    fn move_task(&mut self, row: &VybeRow, id: &TaskId, about: &About) -> Result<()> {
        let word = row.text(&["status"]).unwrap_or_default();
        let (to, evidence) = match word.as_str() {
            "pending" | "" => return Ok(()),
            "in_progress" => (Status::InProgress, None),
            "completed" => (Status::Done, Some(Evidence::Claimed)),
            "blocked" => (Status::Blocked, None),
            other => {
                self.report
                    .remark(format!("task {id} was in the unknown state {other}, and is to be done here"));
                return Ok(());
            }
        };
        let reason = row.text(&["blocked_reason"]).filter(|_| to == Status::Blocked);
        let reason = reason.map(|text| continuity::reason::read(&scrub(&text)));
        let moved = Change::TaskMoved { task_id: id.clone(), from: Status::Todo, to, evidence, reason };
        self.change_at(row.time(&["updated_at"]), about, "State imported from vybe", &moved)
    }

    pub(super) fn dependencies(&mut self, vybe: &Vybe) -> Result<()> {
        vybe.each("task_dependencies", |row| {
            self.report.found("dependencies");
            let named = |names: &[&str]| row.text(names).and_then(|id| self.tasks.get(&id).cloned());
            let task_id = named(&["task_id"]);
            let depends_on = named(&["depends_on_task_id", "depends_on", "depends_on_id", "dependency_id"]);
            let (Some(task_id), Some(depends_on)) = (task_id, depends_on) else {
                self.report.remark("a dependency names a task that was not carried".to_owned());
                return Ok(());
            };
            let about = task::about(self.work.tx, &task::required(self.work.tx, task_id.as_str())?)?;
            let added = Change::DependencyAdded { task_id, depends_on };
            self.work.change(&about, "Dependency imported from vybe", &added)?;
            self.report.carried("dependencies");
            Ok(())
        })
    }

    fn about_task(&self, id: &TaskId, project_id: Option<String>) -> About {
        About {
            stream: stream_of(project_id.as_deref()),
            corr: id.to_string(),
            reply_to: None,
            priority: Priority::default(),
            project_id,
            task_id: Some(id.clone()),
            run_id: None,
        }
    }
}

/// A project by the id it has here, where a directory has one name.
pub(super) fn project_of(row: &VybeRow, column: &str) -> Option<String> {
    row.text(&[column]).as_deref().map(workspace::id)
}
