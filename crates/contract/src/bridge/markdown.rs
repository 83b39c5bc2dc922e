//! The parts of Markdown that learnings and reports need: headings, paragraphs, and code.

/// One line of a text.
#[derive(Clone, Copy)]
pub(crate) struct MarkdownLine<'t> {
    /// Where it starts in the text, in bytes.
    pub(crate) start: usize,
    pub(crate) text: &'t str,
}

/// The lines of a text that are not inside a fenced code block.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = MarkdownLine<'_>> {
    let mut fence: Option<&str> = None;
    let mut start = 0;
    text.split_inclusive('\n').filter_map(move |raw| {
        let line = MarkdownLine { start, text: raw.trim_end_matches(['\n', '\r']) };
        start += raw.len();
        let marker = ["```", "~~~"].into_iter().find(|marker| line.text.trim_start().starts_with(marker));
        match (fence, marker) {
            (None, None) => Some(line),
            (None, Some(_)) => {
                fence = marker;
                None
            }
            (Some(_), _) => {
                fence = fence.filter(|open| Some(*open) != marker);
                None
            }
        }
    })
}

/// The line with the first `# ` heading.
pub(crate) fn heading(text: &str) -> Option<MarkdownLine<'_>> {
    prose(text).find(|line| line.text.starts_with("# "))
}

/// The text of the first `# ` heading.
pub(crate) fn title(text: &str) -> Option<&str> {
    heading(text).map(|line| line.text[2..].trim())
}

/// The first paragraph that is not a heading, code, a rule or a table, on one line.
pub(crate) fn first_paragraph(text: &str) -> String {
    let mut paragraph: Vec<&str> = Vec::new();
    for line in prose(text) {
        let line = line.text.trim();
        let is_text = !line.starts_with(['#', '|']) && !line.trim_matches('-').is_empty();
        match (is_text, paragraph.is_empty()) {
            (true, _) => paragraph.push(line),
            (false, true) => {}
            (false, false) => break,
        }
    }
    paragraph.join(" ")
}

/// The first sentence: it ends with `.`, `!` or `?` before a space, not after a single letter, not in code.
pub(crate) fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let mut in_code = false;
    let mut word_chars = 0;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let ends_word = text[end..].chars().next().is_none_or(char::is_whitespace);
        match c {
            '`' => in_code = !in_code,
            '.' | '!' | '?' if !in_code && ends_word && word_chars != 1 => return &text[..end],
            _ => {}
        }
        word_chars = if c.is_whitespace() { 0 } else { word_chars + 1 };
    }
    text
}

#[cfg(test)]
mod tests;
