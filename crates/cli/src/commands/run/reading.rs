//! Reads the documents of `writ run`, and what its arguments say about them.

use std::io::Read;
use std::path::{Path, PathBuf};

use contract::aop::Version;
use contract::domain::code::ErrorCode;
use contract::domain::limits;
use contract::domain::run::RunWarning;
use contract::intake::{Executors, PathMapping, Reading};
use ops::run::document::{ReadDocument, understand};
use ops::run::submit::Request;
use ops::{Error, Result};

use crate::config::Config;
use crate::output::{one_line, say};
use crate::{env, host};

/// The text of a document.
pub(crate) fn text_of(file: &Path) -> Result<String> {
    String::from_utf8(bytes_of(file)?).or_else(|error| {
        let reading = Reading { name: Some(file.display().to_string()), ..Reading::default() };
        // Says where it is not text.
        understand(error.as_bytes(), "/", &reading, &Executors::default())?;
        Err(Error::new(ErrorCode::InvalidInput, "the document is not UTF-8"))
    })
}

pub(crate) fn bytes_of(file: &Path) -> Result<Vec<u8>> {
    read_bounded(file)
        .map_err(|error| Error::new(ErrorCode::Io, format!("could not read {}: {error}", file.display())))
}

/// Reads and checks a document, without a store.
pub(crate) fn read_document(file: &Path, config: &Config) -> Result<ReadDocument> {
    understood_text(&text_of(file)?, file, config)
}

/// Checks a document that was read from this file.
pub(crate) fn understood_text(text: &str, file: &Path, config: &Config) -> Result<ReadDocument> {
    let directory = host::absolute(directory_of(file));
    let reading = Reading { name: Some(file.display().to_string()), ..Reading::default() };
    understand(text.as_bytes(), &directory.to_string_lossy(), &reading, &config.executors)
}

pub(super) fn understood(request: &Request, config: &Config) -> Result<ReadDocument> {
    // The verb refuses mappings that are none.
    let map = request.map.iter().filter_map(|(from, to)| PathMapping::new(from, to)).collect();
    let (name, executor) = (request.name.clone(), request.executor.clone());
    let reading = Reading { name, executor, map, ..Reading::default() };
    understand(&request.document.bytes(), &request.directory, &reading, &config.executors)
}

/// The TASKs of several files as one document.
pub(super) fn joined(files: &[PathBuf]) -> Result<String> {
    let mut tasks = Vec::new();
    for file in files {
        let text = text_of(file)?;
        if contract::aop::detect(text.as_bytes()).version == Version::Unstructured
            || !text.trim().starts_with('{')
        {
            let message = format!("{} is not an AOP TASK", file.display());
            return Err(Error::new(ErrorCode::InvalidInput, message)
                .hint("several files have one TASK each, all of the same session"));
        }
        tasks.push(text.trim().to_owned());
    }
    Ok(format!("[{}]", tasks.join(",\n")))
}

pub(super) fn mapping(text: &str) -> std::result::Result<(String, String), String> {
    let form = || "must be PATH=DIR, such as C:/workspace=/srv/work".to_owned();
    let (from, to) = text.rsplit_once('=').ok_or_else(form)?;
    let home = env::directory("HOME").zip(to.strip_prefix("~/"));
    let to = host::absolute(home.map_or_else(|| PathBuf::from(to), |(home, rest)| home.join(rest)));
    let to = to.to_string_lossy().into_owned();
    PathMapping::new(from, &to).map(|mapping| (from.to_owned(), mapping.to().to_owned())).ok_or_else(form)
}

/// Says what the author of an accepted document should know.
pub(super) fn tell(warnings: &[RunWarning]) {
    for warning in warnings.iter().take(WARNINGS_TOLD_MAX) {
        let line = format!("warning: {}: {}: {}", warning.code, warning.path, warning.message);
        say(&format!("{}\n", one_line(&line)));
    }
    if warnings.len() > WARNINGS_TOLD_MAX {
        say(&format!("warning: {} more are in the answer\n", warnings.len() - WARNINGS_TOLD_MAX));
    }
}

/// More warnings than a person reads are in the answer only.
const WARNINGS_TOLD_MAX: usize = 10;

pub(crate) fn read_bounded(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(limits::PLAN_BYTES_MAX).unwrap_or(u64::MAX) + 1;
    if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(file)?.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Where a document's relative paths start.
pub(crate) fn directory_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if file != Path::new("-") && !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
