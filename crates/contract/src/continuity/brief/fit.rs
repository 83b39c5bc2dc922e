//! Chooses what fits: every group gets its share, and unused space goes to the other groups.

use std::borrow::Cow;

/// Items of one kind, the most important first, each with its size in bytes.
pub(crate) struct BriefGroup {
    /// Its share of the space, relative to the other groups.
    pub(crate) weight: usize,
    /// The size of its title.
    pub(crate) title: usize,
    pub(crate) sizes: Vec<usize>,
}

/// For each group, which of its items fit into `room` bytes. An item that is too big is skipped; smaller ones after
/// it can still fit.
pub(crate) fn choose(groups: &[BriefGroup], room: usize) -> Vec<Vec<bool>> {
    let mut chosen: Vec<Vec<bool>> = groups.iter().map(|group| vec![false; group.sizes.len()]).collect();
    let weights: usize = groups.iter().map(|group| group.weight).sum();
    let mut left = room;
    for (group, taken) in groups.iter().zip(&mut chosen) {
        let share = room * group.weight / weights.max(1);
        left -= fill(group, taken, share.min(left));
    }
    for (group, taken) in groups.iter().zip(&mut chosen) {
        left -= fill(group, taken, left);
    }
    chosen
}

/// Selects the items that fit and returns their size.
fn fill(group: &BriefGroup, taken: &mut [bool], room: usize) -> usize {
    let mut used = 0;
    for (place, size) in group.sizes.iter().enumerate() {
        let title = if taken.contains(&true) { 0 } else { group.title };
        if !taken[place] && used + title + size <= room {
            taken[place] = true;
            used += title + size;
        }
    }
    used
}

/// Truncates a text and says how much is missing. At most `most` bytes, unless that is
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

    fn group(weight: usize, sizes: &[usize]) -> BriefGroup {
        BriefGroup { weight, title: 0, sizes: sizes.to_vec() }
    }

    #[test]
    fn a_thing_that_is_too_big_hides_nothing_behind_it() {
        let chosen = choose(&[group(1, &[500, 10, 10])], 100);
        assert_eq!(chosen, [[false, true, true]]);
    }

    #[test]
    fn a_greedy_shelf_leaves_the_others_their_share_and_takes_what_they_leave() {
        let chosen = choose(&[group(1, &[10; 20]), group(1, &[10; 3])], 100);
        let counts: Vec<usize> =
            chosen.iter().map(|group| group.iter().filter(|&&taken| taken).count()).collect();
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
            groups in prop::collection::vec((1usize..5, 0usize..20, prop::collection::vec(0usize..200, 0..20)), 0..6),
            room in 0usize..2000,
        ) {
            let groups: Vec<BriefGroup> = groups
                .into_iter()
                .map(|(weight, title, sizes)| BriefGroup { weight, title, sizes })
                .collect();
            let chosen = choose(&groups, room);
            let used: usize = groups
                .iter()
                .zip(&chosen)
                .map(|(group, taken)| {
                    let items: usize =
                        group.sizes.iter().zip(taken).filter(|(_, taken)| **taken).map(|(size, _)| size).sum();
                    items + if taken.contains(&true) { group.title } else { 0 }
                })
                .sum();
            prop_assert!(used <= room);
        }
    }
}
