//! Choosing what fits: every shelf gets its share, and what one leaves over goes to the others.

use std::borrow::Cow;

/// Things of one sort, the most important first, each with the bytes it takes.
pub(crate) struct Shelf {
    /// Its part of the room, against those of the other shelves.
    pub(crate) weight: usize,
    /// What it takes to show the shelf at all.
    pub(crate) title: usize,
    pub(crate) sizes: Vec<usize>,
}

/// For each shelf, which of its things fit into `room` bytes. A thing that is too big for what is left is passed
/// over; it never hides the ones behind it.
pub(crate) fn choose(shelves: &[Shelf], room: usize) -> Vec<Vec<bool>> {
    let mut chosen: Vec<Vec<bool>> = shelves.iter().map(|shelf| vec![false; shelf.sizes.len()]).collect();
    let weights: usize = shelves.iter().map(|shelf| shelf.weight).sum();
    let mut left = room;
    for (shelf, taken) in shelves.iter().zip(&mut chosen) {
        let share = room * shelf.weight / weights.max(1);
        left -= fill(shelf, taken, share.min(left));
    }
    for (shelf, taken) in shelves.iter().zip(&mut chosen) {
        left -= fill(shelf, taken, left);
    }
    chosen
}

/// Takes what fits; returns the bytes that it took.
fn fill(shelf: &Shelf, taken: &mut [bool], room: usize) -> usize {
    let mut used = 0;
    for (place, size) in shelf.sizes.iter().enumerate() {
        let title = if taken.contains(&true) { 0 } else { shelf.title };
        if !taken[place] && used + title + size <= room {
            taken[place] = true;
            used += title + size;
        }
    }
    used
}

/// The beginning of a text that is too long, and how much is missing. Never more than `most` bytes, unless that is
/// too little to say so.
pub(crate) fn clip(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let note = |cut: usize| format!("… (+{cut} bytes)");
    let room = most.saturating_sub(note(text.len()).len());
    let end = (0..=room).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    Cow::Owned(format!("{}{}", &text[..end], note(text.len() - end)))
}

/// A text on one line, so that it cannot look like a part of what surrounds it.
pub(crate) fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_control() || c == '\u{2028}' || c == '\u{2029}')
        .filter(|part| !part.trim().is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shelf(weight: usize, sizes: &[usize]) -> Shelf {
        Shelf { weight, title: 0, sizes: sizes.to_vec() }
    }

    #[test]
    fn a_thing_that_is_too_big_hides_nothing_behind_it() {
        let chosen = choose(&[shelf(1, &[500, 10, 10])], 100);
        assert_eq!(chosen, [[false, true, true]]);
    }

    #[test]
    fn a_greedy_shelf_leaves_the_others_their_share_and_takes_what_they_leave() {
        let chosen = choose(&[shelf(1, &[10; 20]), shelf(1, &[10; 3])], 100);
        let counts: Vec<usize> =
            chosen.iter().map(|shelf| shelf.iter().filter(|&&taken| taken).count()).collect();
        assert_eq!(counts, [7, 3]);
    }

    #[test]
    fn a_clipped_text_says_what_is_missing() {
        assert_eq!(clip("short", 10), "short");
        assert_eq!(clip(&"x".repeat(100), 30), format!("{}… (+{} bytes)", "x".repeat(14), 86));
        assert!(clip(&"ä".repeat(1000), 40).len() <= 40);
    }

    #[test]
    fn a_line_is_a_line() {
        assert_eq!(one_line("a\n== B ==\r\n\u{7}c\u{2028}d"), "a == B == c d");
    }

    proptest! {
        #[test]
        fn what_is_chosen_fits(
            shelves in prop::collection::vec((1usize..5, 0usize..20, prop::collection::vec(0usize..200, 0..20)), 0..6),
            room in 0usize..2000,
        ) {
            let shelves: Vec<Shelf> = shelves
                .into_iter()
                .map(|(weight, title, sizes)| Shelf { weight, title, sizes })
                .collect();
            let chosen = choose(&shelves, room);
            let used: usize = shelves
                .iter()
                .zip(&chosen)
                .map(|(shelf, taken)| {
                    let items: usize =
                        shelf.sizes.iter().zip(taken).filter(|(_, taken)| **taken).map(|(size, _)| size).sum();
                    items + if taken.contains(&true) { shelf.title } else { 0 }
                })
                .sum();
            prop_assert!(used <= room);
        }
    }
}
