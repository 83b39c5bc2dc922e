//! What a row takes over from the packet of an orchestrator that describes its tasks nowhere else.

use super::{CrewColumns, CrewRow};

/// Calls a macro with every column of a row and its name on the wire.
macro_rules! each_column {
    ($act:ident) => {
        $act!(title, "title");
        $act!(kind, "type");
        $act!(dependencies, "dependencies");
        $act!(lock_scope, "lock_scope");
        $act!(timeout_seconds, "timeout_seconds");
        $act!(heartbeat_interval_seconds, "heartbeat_interval_seconds");
        $act!(priority, "priority");
        $act!(acceptance_criteria, "acceptance_criteria");
    };
}

impl CrewRow {
    /// Takes over the columns of a packet that the row does not set itself: empty ones, and those of an earlier packet.
    /// Returns whether anything changed.
    pub fn take_packet(&mut self, packet: &CrewColumns) -> bool {
        let before = (self.columns.clone(), self.x_from_packet.clone());
        macro_rules! take {
            ($field:ident, $name:literal) => {
                let is_free = self.columns.$field.is_none() || self.is_from_packet($name);
                if is_free && packet.$field.is_some() {
                    self.columns.$field.clone_from(&packet.$field);
                    self.mark_from_packet($name);
                }
            };
        }
        each_column!(take);
        before != (self.columns.clone(), self.x_from_packet.clone())
    }

    /// A packet may change this column, because the row does not set it itself.
    pub fn mark_from_packet(&mut self, name: &str) {
        if !self.is_from_packet(name) {
            self.x_from_packet.push(name.to_owned());
        }
    }

    /// The columns that `newer` sets belong to the row from now on.
    pub(crate) fn keep_own(&mut self, newer: &CrewColumns) {
        macro_rules! keep {
            ($field:ident, $name:literal) => {
                if newer.$field.is_some() {
                    self.x_from_packet.retain(|name| name != $name);
                }
            };
        }
        each_column!(keep);
    }

    fn is_from_packet(&self, name: &str) -> bool {
        self.x_from_packet.iter().any(|known| known == name)
    }
}
