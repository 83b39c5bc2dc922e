//! Keeps texts of a RESPONSE within the limits of a report.

use crate::domain::limits;

pub(super) struct Keeper<'k> {
    clean: &'k dyn Fn(&str) -> String,
    /// Bytes that still fit.
    room: usize,
    /// Texts that were cut, and entries that did not fit.
    pub(super) left_out: u64,
}

impl<'k> Keeper<'k> {
    pub(super) fn new(clean: &'k dyn Fn(&str) -> String) -> Self {
        Self { clean, room: limits::REPORT_BYTES_MAX, left_out: 0 }
    }

    /// Removes secrets from a text and cuts it where it is too long.
    pub(super) fn text(&mut self, text: &mut String) {
        // Secrets are searched before the text is cut: half of one is not recognized.
        *text = (self.clean)(text);
        let most = limits::REPORT_TEXT_BYTES_MAX.min(self.room);
        if text.len() <= most {
            self.room -= text.len();
            return;
        }
        self.left_out += 1;
        let end = text.floor_char_boundary(most);
        self.room -= end;
        text.truncate(end);
        text.push('…');
    }

    pub(super) fn maybe(&mut self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.text(text);
        }
    }

    pub(super) fn texts(&mut self, texts: &mut Vec<String>) {
        self.list(texts, Self::text);
    }

    /// Keeps as many entries as fit.
    pub(super) fn list<T>(&mut self, all: &mut Vec<T>, mut each: impl FnMut(&mut Self, &mut T)) {
        for index in 0..all.len() {
            if index == limits::REPORT_ENTRIES_MAX || self.room == 0 {
                self.left_out += (all.len() - index) as u64;
                all.truncate(index);
                return;
            }
            each(self, &mut all[index]);
        }
    }
}
