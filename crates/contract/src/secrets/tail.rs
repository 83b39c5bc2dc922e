//! The end of what a program printed, for people. Secrets are taken out before anything is cut off.

use super::hidden::Hidden;
use super::stream::Scrubber;

/// Keeps the end of both outputs of a program, in the order of their lines.
#[derive(Debug)]
pub struct Tail {
    scrubbers: [Scrubber; 2],
    text: String,
    bytes_max: usize,
}

impl Tail {
    pub fn new(hidden: &Hidden, bytes_max: usize) -> Self {
        let scrubber = || Scrubber::new(hidden.clone());
        Self { scrubbers: [scrubber(), scrubber()], text: String::new(), bytes_max }
    }

    pub fn stdout(&mut self, bytes: &[u8]) {
        self.push(0, bytes);
    }

    pub fn stderr(&mut self, bytes: &[u8]) {
        self.push(1, bytes);
    }

    /// The end of it, at most so many bytes.
    pub fn finish(mut self) -> String {
        for scrubber in &mut self.scrubbers {
            scrubber.finish(|clean| self.text.push_str(clean));
        }
        self.shorten(self.bytes_max);
        self.text
    }

    fn push(&mut self, stream: usize, bytes: &[u8]) {
        self.scrubbers[stream].push(bytes, |clean| self.text.push_str(clean));
        // Twice as much is kept, so that text is not moved for every line.
        if self.text.len() > 2 * self.bytes_max {
            self.shorten(self.bytes_max);
        }
    }

    fn shorten(&mut self, bytes_max: usize) {
        let surplus = self.text.len().saturating_sub(bytes_max);
        let from = (surplus..=self.text.len()).find(|&at| self.text.is_char_boundary(at));
        self.text.drain(..from.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_a_secret_at_the_cut_does_not_survive_in_half() {
        let token = ["gh", "p_", "0123456789abcdefghijABCDEFGHIJ012345"].concat();
        for shift in 0..60 {
            let mut tail = Tail::new(&Hidden::default(), 100);
            tail.stdout(format!("{}{token}{}\n", "x ".repeat(500), " y".repeat(20 + shift)).as_bytes());
            tail.stderr(b"end");
            let text = tail.finish();
            assert!(text.len() <= 100 && text.ends_with(" y\nend"), "{text}");
            assert!(!text.contains("012345"), "{text}");
        }
    }

    #[test]
    fn characters_are_not_cut() {
        let mut tail = Tail::new(&Hidden::default(), 7);
        tail.stdout("ü".repeat(40).as_bytes());
        assert_eq!(tail.finish(), "üüü");
    }
}
