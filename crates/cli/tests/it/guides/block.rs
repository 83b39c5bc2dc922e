//! The fenced blocks of a page.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Runs,
    Fails,
    NotRun,
    Output,
    /// Anything that is not run or compared: a file, a picture of text.
    Other,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// Where its first line is, counted from 1.
    pub(super) line: usize,
    pub(super) text: String,
}

/// The blocks of the page, in order. Panics on a word after `sh` that has no meaning: a typo would skip the block.
pub(super) fn of(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in page.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                open = Some(Block { kind: kind(info), line: index + 2, text: String::new() });
            }
            (None, None) => {}
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

fn kind(info: &str) -> Kind {
    match info {
        "sh" => Kind::Runs,
        "sh fails" => Kind::Fails,
        "sh no-run" => Kind::NotRun,
        "output" => Kind::Output,
        other => {
            assert!(!other.starts_with("sh"), "`{other}` is neither sh, `sh fails` nor `sh no-run`");
            Kind::Other
        }
    }
}
