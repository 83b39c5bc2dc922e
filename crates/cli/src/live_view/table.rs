//! The tasks of a run as a table that fits its area: a row for each, and one for those that have no room.

use std::time::Duration;

use contract::domain::money::MicroUsd;
use contract::domain::status::Status;
use contract::domain::time::human_duration;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::widgets::Widget;

use crate::screen::columns;

/// What a task is doing. Ordered by how much a person wants to see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TaskActivity {
    Running,
    Checking,
    Failed,
    Blocked,
    Waiting,
    Canceled,
    Done,
}

impl TaskActivity {
    const ALL: [TaskActivity; 7] = [
        TaskActivity::Running,
        TaskActivity::Checking,
        TaskActivity::Failed,
        TaskActivity::Blocked,
        TaskActivity::Waiting,
        TaskActivity::Canceled,
        TaskActivity::Done,
    ];

    fn as_str(self) -> &'static str {
        match self {
            TaskActivity::Running => "running",
            TaskActivity::Checking => "checking",
            TaskActivity::Failed => "failed",
            TaskActivity::Blocked => "blocked",
            TaskActivity::Waiting => "waiting",
            TaskActivity::Canceled => "canceled",
            TaskActivity::Done => "done",
        }
    }

    fn style(self) -> Style {
        match self {
            TaskActivity::Running | TaskActivity::Checking => Style::new().fg(Color::Cyan),
            TaskActivity::Failed => Style::new().fg(Color::Red),
            TaskActivity::Blocked => Style::new().fg(Color::Yellow),
            TaskActivity::Waiting | TaskActivity::Canceled => Style::new().add_modifier(Modifier::DIM),
            TaskActivity::Done => Style::new().fg(Color::Green),
        }
    }
}

impl From<Status> for TaskActivity {
    fn from(status: Status) -> Self {
        match status {
            Status::Todo => TaskActivity::Waiting,
            Status::InProgress => TaskActivity::Running,
            Status::Blocked => TaskActivity::Blocked,
            Status::Done => TaskActivity::Done,
            Status::Failed => TaskActivity::Failed,
            Status::Canceled => TaskActivity::Canceled,
        }
    }
}

/// One task, without anything that a terminal would obey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskRow {
    pub(crate) name: String,
    pub(crate) phase: TaskActivity,
    pub(crate) elapsed: Option<Duration>,
    pub(crate) cost: Option<MicroUsd>,
    /// The last line of progress, or why it ended.
    pub(crate) last: String,
}

pub(crate) struct Table<'r>(pub(crate) &'r [TaskRow]);

/// At least this much of a name is shown, whatever else has to go.
const NAME_COLUMNS_MIN: usize = 8;
const PHASE_COLUMNS: usize = 8;
const ELAPSED_COLUMNS: usize = 7;
const COST_COLUMNS: usize = 8;
const GAP: usize = 2;

impl Widget for Table<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        // The last column stays free: some terminals break the line as soon as it is written.
        let width = usize::from(area.width).saturating_sub(1);
        let shown = chosen(self.0, usize::from(area.height));
        let rows: Vec<&TaskRow> = shown.iter().map(|&index| &self.0[index]).collect();
        let layout = TableColumns::of(&rows, width);
        let mut lines = area.rows();
        for (row, line) in rows.iter().zip(lines.by_ref()) {
            layout.draw(row, line, buffer);
        }
        if let Some(line) = lines.next().filter(|_| shown.len() < self.0.len()) {
            let text = summary(self.0, &shown);
            put(buffer, line, 0, (&text, width), Style::new().add_modifier(Modifier::DIM));
        }
    }
}

/// The indices of the rows that are shown, in the order of the plan. If not all fit, the last line is for the others.
fn chosen(rows: &[TaskRow], height: usize) -> Vec<usize> {
    if rows.len() <= height {
        return (0..rows.len()).collect();
    }
    let mut all: Vec<usize> = (0..rows.len()).collect();
    all.sort_by_key(|&index| (rows[index].phase, index));
    all.truncate(height.saturating_sub(1));
    all.sort_unstable();
    all
}

/// `… 480 more: 12 running, 460 waiting, 8 done`
fn summary(rows: &[TaskRow], shown: &[usize]) -> String {
    let hidden: Vec<&TaskRow> = rows
        .iter()
        .enumerate()
        .filter(|(index, _)| shown.binary_search(index).is_err())
        .map(|(_, row)| row)
        .collect();
    let count = |phase: TaskActivity| hidden.iter().filter(|row| row.phase == phase).count();
    let counts: Vec<String> = TaskActivity::ALL
        .into_iter()
        .filter(|&phase| count(phase) > 0)
        .map(|phase| format!("{} {}", count(phase), phase.as_str()))
        .collect();
    format!("… {} more: {}", hidden.len(), counts.join(", "))
}

/// Where each part of a row starts.
struct TableColumns {
    name: usize,
    cost: Option<usize>,
    elapsed: usize,
    last: usize,
    width: usize,
}

impl TableColumns {
    fn of(rows: &[&TaskRow], width: usize) -> Self {
        let longest = rows.iter().map(|row| columns(&row.name)).max().unwrap_or(0);
        let name = longest.min((width / 3).max(NAME_COLUMNS_MIN));
        let elapsed = name + GAP + PHASE_COLUMNS + 1;
        let after = elapsed + ELAPSED_COLUMNS;
        let has_cost = rows.iter().any(|row| row.cost.is_some());
        let cost = has_cost.then_some(after + 1);
        let last = cost.map_or(after, |cost| cost + COST_COLUMNS) + GAP;
        Self { name, cost, elapsed, last, width }
    }

    fn draw(&self, row: &TaskRow, line: Rect, buffer: &mut Buffer) {
        let plain = Style::new();
        let rest = |from: usize| self.width.saturating_sub(from);
        put(buffer, line, 0, (&row.name, self.name.min(self.width)), plain);
        let phase = self.name + GAP;
        put(buffer, line, phase, (row.phase.as_str(), PHASE_COLUMNS.min(rest(phase))), row.phase.style());
        let elapsed = format!("{:>ELAPSED_COLUMNS$}", row.elapsed.map(human_duration).unwrap_or_default());
        put(buffer, line, self.elapsed, (&elapsed, rest(self.elapsed)), plain);
        if let (Some(from), Some(cost)) = (self.cost, row.cost) {
            put(buffer, line, from, (&format!("{:>COST_COLUMNS$}", cents(cost)), rest(from)), plain);
        }
        put(buffer, line, self.last, (&row.last, rest(self.last)), plain);
    }
}

/// Money in a narrow column: whole cents, rounded up, so that nothing looks free.
fn cents(cost: MicroUsd) -> String {
    const CENT: i64 = 10_000;
    let cents = cost.0.max(0).saturating_add(CENT - 1) / CENT;
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Writes as much of a text as fits, and marks where it was cut.
fn put(buffer: &mut Buffer, line: Rect, from: usize, (text, width): (&str, usize), style: Style) {
    let Ok(from) = u16::try_from(from) else { return };
    let x = line.x.saturating_add(from);
    if width == 0 || x >= line.right() {
        return;
    }
    if columns(text) <= width {
        buffer.set_stringn(x, line.y, text, width, style);
        return;
    }
    let (end, _) = buffer.set_stringn(x, line.y, text, width - 1, style);
    buffer.set_stringn(end, line.y, "…", 1, style);
}

#[cfg(test)]
mod tests;
