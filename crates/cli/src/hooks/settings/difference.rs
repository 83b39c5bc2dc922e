//! The difference of two texts as a shortest list of edits (Myers, "An O(ND) Difference Algorithm", 1986).
//!
//! Shortest matters: an edit that leads back holds what was added, and never text that was there before.

use super::edits::Edit;

/// Pieces that may differ. The steps are all kept, so memory grows with its square.
const DIFFERENCES_MAX: usize = 4_000;

/// The edits that turn `before` into `after`; none where the texts differ in too many places.
pub(crate) fn edits(before: &str, after: &str) -> Option<Vec<Edit>> {
    let (old, new) = (pieces(before), pieces(after));
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (rest_old, rest_new) = (&old[start..], &new[start..]);
    let end = rest_old.iter().rev().zip(rest_new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (mid_old, mid_new) = (&rest_old[..rest_old.len() - end], &rest_new[..rest_new.len() - end]);
    let steps = shortest(mid_old, mid_new)?;
    let at = old[..start].iter().map(|piece| piece.len()).sum();
    Some(joined(&steps, at))
}

#[derive(Clone, Copy)]
enum PathSegment<'t> {
    Keep(&'t str),
    Remove(&'t str),
    Insert(&'t str),
}

/// Follows the paths through the edit graph that use ever more differences. `reach[index]` is how far into `old` the
/// best path on a diagonal came; diagonals are counted from `middle`.
fn shortest<'t>(old: &[&'t str], new: &[&'t str]) -> Option<Vec<PathSegment<'t>>> {
    let most = (old.len() + new.len()).min(DIFFERENCES_MAX);
    let middle = most + 1;
    let mut reach = vec![0_usize; 2 * most + 3];
    let mut history: Vec<Vec<usize>> = Vec::new();
    for differences in 0..=most {
        let low = middle - differences;
        history.push(reach[low..=middle + differences].to_vec());
        for index in (low..=middle + differences).step_by(2) {
            let mut x = match came_from(&reach[low..], index - low, 2 * differences) {
                From::Insert(at) => reach[low + at],
                From::Remove(at) => reach[low + at] + 1,
            };
            let mut y = x + middle - index;
            while x < old.len() && y < new.len() && old[x] == new[y] {
                (x, y) = (x + 1, y + 1);
            }
            reach[index] = x;
            if x >= old.len() && y >= new.len() {
                return Some(walked_back(old, new, &history));
            }
        }
    }
    None
}

/// The neighboring diagonal from which a path came, and by which step.
enum From {
    Insert(usize),
    Remove(usize),
}

fn came_from(reach: &[usize], index: usize, last: usize) -> From {
    let is_insert = index == 0 || (index != last && reach[index - 1] < reach[index + 1]);
    if is_insert { From::Insert(index + 1) } else { From::Remove(index - 1) }
}

/// The steps of the path that reached the end, read backwards from what each round knew.
fn walked_back<'t>(old: &[&'t str], new: &[&'t str], history: &[Vec<usize>]) -> Vec<PathSegment<'t>> {
    let (mut x, mut y) = (old.len(), new.len());
    let mut steps = Vec::new();
    for (differences, reach) in history.iter().enumerate().skip(1).rev() {
        // In this round the diagonal of x and y is at x - y + differences.
        let index = x + differences - y;
        let from = came_from(reach, index, 2 * differences);
        let (From::Insert(at) | From::Remove(at)) = from;
        let from_x = reach[at];
        let from_y = from_x + differences - at;
        while x > from_x && y > from_y {
            (x, y) = (x - 1, y - 1);
            steps.push(PathSegment::Keep(old[x]));
        }
        match from {
            From::Insert(_) => {
                y -= 1;
                steps.push(PathSegment::Insert(new[y]));
            }
            From::Remove(_) => {
                x -= 1;
                steps.push(PathSegment::Remove(old[x]));
            }
        }
    }
    steps.extend(old[..x].iter().rev().map(|piece| PathSegment::Keep(piece)));
    steps.reverse();
    steps
}

/// Neighboring steps become one edit.
fn joined(steps: &[PathSegment<'_>], mut at: usize) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut is_open = false;
    for step in steps {
        if let PathSegment::Keep(piece) = step {
            at += piece.len();
            is_open = false;
            continue;
        }
        if !is_open {
            edits.push(Edit { at, removed: String::new(), inserted: String::new() });
            is_open = true;
        }
        let edit = edits.last_mut().expect("BUG: one was pushed before the first change");
        match step {
            PathSegment::Remove(piece) => {
                edit.removed.push_str(piece);
                at += piece.len();
            }
            PathSegment::Insert(piece) => edit.inserted.push_str(piece),
            PathSegment::Keep(_) => {}
        }
    }
    edits
}

/// Words, runs of blanks, and every line break and every mark on its own.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = kind(first);
        let end = match kind {
            ValueKind::Mark => first.len_utf8(),
            ValueKind::Word | ValueKind::Blank => {
                rest.find(|c: char| self::kind(c) != kind).unwrap_or(rest.len())
            }
        };
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Word,
    Blank,
    Mark,
}

fn kind(c: char) -> ValueKind {
    match c {
        ' ' | '\t' => ValueKind::Blank,
        '{' | '}' | '[' | ']' | ',' | ':' | '=' | '"' | '\'' | '#' | '\n' | '\r' => ValueKind::Mark,
        _ => ValueKind::Word,
    }
}

#[cfg(test)]
mod tests;
