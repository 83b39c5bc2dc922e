//! The vectors of AOCL: stack files, whole traces, traces made from others, and context bundles.

use serde_json::{Value, json};

use super::table::VectorTable;
use super::{Case, Mismatch, VectorFile, listed, only, parsed, verdicts};
use crate::json::strict;
use crate::validate::Kind;

const CONTRACT: &str = "aocl";

static BUNDLE: VectorTable =
    VectorTable { ask: "aocl-bundle", given: &["deltas"], may: &[], wanted: &["digests", "after"] };

pub(super) fn cases(file: &VectorFile<'_>) -> Vec<Case> {
    if let Some(kind) = whole(file.path) {
        return vec![document(CONTRACT, kind, file, &json!({"allow": !file.path.contains("invalid")}))];
    }
    let Some(value) = parsed(file.bytes) else { return Vec::new() };
    let changed = listed(&value).iter().filter_map(changed_trace);
    let bundles = listed(&value).iter().filter_map(|vector| BUNDLE.case(CONTRACT, vector));
    changed.chain(bundles).collect()
}

/// Folders whose files are documents.
fn whole(path: &str) -> Option<Kind> {
    let (folder, name) = path.rsplit_once('/')?;
    match (folder.rsplit('/').next()?, name.rsplit('.').next()?) {
        ("stacks", "json") => Some(Kind::Stack),
        ("traces", "ndjson") => Some(Kind::Trace),
        _ => None,
    }
}

/// A file that is a document, and the expected verdict.
pub(super) fn document(contract: &'static str, kind: Kind, file: &VectorFile<'_>, expect: &Value) -> Case {
    Case {
        contract,
        name: file.path.to_owned(),
        needs: Vec::new(),
        may_lack_files: false,
        vector: json!({"question": verdicts::ask(kind, file.bytes), "expect": expect}),
        ask: |vector, _| Ok(vector["question"].clone()),
        compare: |vector, answer| verdicts::compare(&vector["expect"], answer),
    }
}

/// `{validator: aocl_trace, base, changes, expect}`: the lines of `base`.ndjson with each change made.
fn changed_trace(vector: &Value) -> Option<Case> {
    let is_trace = vector["validator"].as_str().and_then(Kind::named) == Some(Kind::Trace);
    let base = vector["base"].as_str().filter(|_| is_trace)?;
    Some(Case {
        contract: CONTRACT,
        name: vector["name"].as_str()?.to_owned(),
        needs: vec![format!("{base}.ndjson")],
        may_lack_files: false,
        vector: vector.clone(),
        ask: |vector, files| Ok(verdicts::ask(Kind::Trace, changed(vector, only(files)?)?.as_bytes())),
        compare: |vector, answer| verdicts::compare(&vector["expect"], answer),
    })
}

fn changed(vector: &Value, base: &[u8]) -> Result<String, Mismatch> {
    let wrong = |what: &str| Mismatch(format!("invalid recipe: {what}"));
    let lines = base.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let lines: Result<Vec<Value>, _> = lines.map(strict::parse).collect();
    let mut lines = lines.map_err(|error| wrong(&error.to_string()))?;
    for change in vector["changes"].as_array().into_iter().flatten() {
        let line = change["line"].as_u64().and_then(|line| usize::try_from(line).ok());
        let line = line.filter(|line| *line < lines.len()).ok_or_else(|| wrong("no such line"))?;
        match change["at"].as_str() {
            Some(place) => {
                let at = lines[line].pointer_mut(place).ok_or_else(|| wrong(place))?;
                *at = change["value"].clone();
            }
            None => drop(lines.remove(line)),
        }
    }
    Ok(verdicts::lines(&lines))
}
