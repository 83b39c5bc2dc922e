//! Many documents, one a line: one answer for each, and a summary.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::ExitCode;

use contract::domain::limits::DOCUMENT_BYTES_MAX;
use contract::validate::{Kind, ValidateOptions, could_not_work, validate};
use contract::verdict::Verdict;
use serde_json::json;

use super::print;
use crate::output::Output;

#[derive(Default)]
struct Count {
    documents: usize,
    allowed: usize,
    denied: usize,
    could_not_work: usize,
}

impl Count {
    fn take(&mut self, verdict: &Verdict) {
        self.documents += 1;
        match verdict.exit_code() {
            0 => self.allowed += 1,
            1 => self.denied += 1,
            _ => self.could_not_work += 1,
        }
    }

    fn exit_code(&self) -> u8 {
        match (self.denied, self.could_not_work) {
            (0, 0) => 0,
            (_, 0) => 1,
            _ => 2,
        }
    }
}

pub(super) fn run(
    kind: Option<Kind>,
    file: &Path,
    options: &ValidateOptions<'_>,
    output: &Output,
) -> ExitCode {
    let reader: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        match File::open(file) {
            Ok(opened) => Box::new(opened),
            Err(error) => {
                let message = format!("could not read {}: {error}", file.display());
                return print(&could_not_work(kind, "unreadable", message), output);
            }
        }
    };
    let mut count = Count::default();
    let mut lines = BufReader::new(reader);
    let mut number = 0_usize;
    loop {
        number += 1;
        let mut verdict = match next_line(&mut lines) {
            Ok(None) => break,
            Ok(Some(line)) if line.trim_ascii().is_empty() => continue,
            Ok(Some(line)) => judge(kind, &line, options),
            Err(error) => could_not_work(kind, "unreadable", format!("could not read: {error}")),
        };
        let broken = verdict.details.rule.as_deref() == Some("unreadable");
        verdict.details.more.insert("line".to_owned(), number.into());
        count.take(&verdict);
        if output.line(&verdict) != ExitCode::SUCCESS || broken {
            break;
        }
    }
    summary(&count, output)
}

fn judge(kind: Option<Kind>, line: &[u8], options: &ValidateOptions<'_>) -> Verdict {
    let document = line.strip_suffix(b"\n").unwrap_or(line);
    let document = document.strip_suffix(b"\r").unwrap_or(document);
    // A worklog is a file of whole lines; each line here is one.
    let is_entry = |kind: Option<Kind>| kind == Some(Kind::Worklog);
    if is_entry(kind) || (kind.is_none() && is_entry(contract::validate::detect(document))) {
        let mut entry = document.to_vec();
        entry.push(b'\n');
        return validate(Some(Kind::Worklog), &entry, options);
    }
    validate(kind, document, options)
}

/// The next line; of one that is longer than any document only enough to be refused, and the rest is passed over.
fn next_line(lines: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let most = u64::try_from(DOCUMENT_BYTES_MAX).expect("BUG: the limit is a small number") + 2;
    let mut line = Vec::new();
    if lines.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if !line.ends_with(b"\n") && line.len() > DOCUMENT_BYTES_MAX {
        lines.skip_until(b'\n')?;
    }
    Ok(Some(line))
}

fn summary(count: &Count, output: &Output) -> ExitCode {
    let Count { documents, allowed, denied, could_not_work } = count;
    let summary = json!({"documents": documents, "allowed": allowed, "denied": denied, "could_not_work": could_not_work});
    let printed = output.line(&json!({ "summary": summary }));
    if printed == ExitCode::SUCCESS { ExitCode::from(count.exit_code()) } else { ExitCode::from(2) }
}
