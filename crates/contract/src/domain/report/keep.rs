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

    /// The text without secrets, cut where it is too long.
    pub(super) fn text(&mut self, text: &str) -> String {
        // Secrets are searched before the text is cut: half of one is not recognized.
        let clean = (self.clean)(text);
        let most = limits::REPORT_TEXT_BYTES_MAX.min(self.room);
        if clean.len() <= most {
            self.room -= clean.len();
            return clean;
        }
        self.left_out += 1;
        let end = (0..=most).rev().find(|&end| clean.is_char_boundary(end)).unwrap_or(0);
        self.room -= end;
        format!("{}…", &clean[..end])
    }

    pub(super) fn maybe(&mut self, text: Option<&str>) -> Option<String> {
        text.map(|text| self.text(text))
    }

    pub(super) fn texts(&mut self, texts: &[String]) -> Vec<String> {
        self.list(texts, |keep, text| keep.text(text))
    }

    /// As many entries as fit.
    pub(super) fn list<T, R>(&mut self, all: &[T], mut each: impl FnMut(&mut Self, &T) -> R) -> Vec<R> {
        let mut kept = Vec::new();
        for (index, entry) in all.iter().enumerate() {
            if index == limits::REPORT_ENTRIES_MAX || self.room == 0 {
                self.left_out += (all.len() - index) as u64;
                break;
            }
            kept.push(each(self, entry));
        }
        kept
    }
}
