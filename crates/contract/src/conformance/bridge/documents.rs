//! Files that are documents themselves; the folder determines their kind, the name whether they are valid.

use serde_json::{Value, json};

use super::CONTRACT;
use crate::conformance::aocl::document;
use crate::conformance::table::holds;
use crate::conformance::{Case, VectorFile, only};
use crate::json::strict;
use crate::validate::Kind;

pub(super) fn case(file: &VectorFile<'_>) -> Option<Case> {
    let (folders, name) = file.path.rsplit_once('/')?;
    let folder = folders.rsplit('/').next()?;
    let ending = name.rsplit('.').next()?;
    let sound = |faulty: &str| json!({"allow": !name.contains(faulty) && !file.path.contains("invalid/")});
    let of = |kind: Kind, expect: Value| Some(document(CONTRACT, kind, file, &expect));
    match (folder, ending) {
        ("learnings" | "learnings-real", "md") => of(Kind::Learning, sound("invalid")),
        ("patterns" | "patterns-real", "md") => of(Kind::Pattern, sound("invalid")),
        ("chain", "jsonl") => of(Kind::Ratchet, sound("invalid")),
        ("stage1", "json") => of(Kind::Stage1, sound("malformed")),
        ("promise", "md") => Some(promise(file, name)),
        ("quarantine", "txt") if name.starts_with("inject-markdown") => Some(markdown(file)),
        ("quarantine", "txt") => of(Kind::Constraint, sound("invalid")),
        ("quarantine", "json") if is_quarantine(file.bytes) => of(Kind::Constraint, sound("invalid")),
        ("memrl", "json") if is_policy(file.bytes) => of(Kind::Memrl, sound("variant")),
        _ => None,
    }
}

fn is_quarantine(bytes: &[u8]) -> bool {
    strict::parse(bytes)
        .is_ok_and(|value| value[0].get("pattern").is_some() || value.get("constraints").is_some())
}

fn is_policy(bytes: &[u8]) -> bool {
    strict::parse(bytes).is_ok_and(|value| value.get("rollback_matrix").is_some())
}

/// `worker-1-done.md` promises DONE.
fn promise(file: &VectorFile<'_>, name: &str) -> Case {
    let word = name.trim_end_matches(".md").rsplit('-').next().unwrap_or_default().to_uppercase();
    let input = String::from_utf8_lossy(file.bytes);
    Case {
        contract: CONTRACT,
        name: file.path.to_owned(),
        needs: Vec::new(),
        may_lack_files: false,
        vector: json!({"input": input, "expect": {"allow": true, "details": {"promise": word}}}),
        ask: |vector, _| Ok(json!({"ask": "validate", "kind": "promise", "input": vector["input"]})),
        compare: |vector, answer| holds(&vector["expect"], answer),
    }
}

/// How the constraints in read-two.json are shown to an agent.
fn markdown(file: &VectorFile<'_>) -> Case {
    Case {
        contract: CONTRACT,
        name: file.path.to_owned(),
        needs: vec!["read-two.json".to_owned()],
        may_lack_files: false,
        vector: json!({"markdown": String::from_utf8_lossy(file.bytes).trim_end()}),
        ask: |_, files| {
            let constraints = String::from_utf8_lossy(only(files)?);
            Ok(json!({"ask": "constraint-markdown", "constraints": constraints}))
        },
        compare: holds,
    }
}
