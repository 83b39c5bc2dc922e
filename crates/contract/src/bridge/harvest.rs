//! OL's harvest candidate, and how it becomes AO's candidate.

use serde::{Deserialize, Serialize};

use crate::aee::judge;
use crate::bridge::candidate::{
    KnowledgeType, LearningCandidate, MATURITY_DEFAULT, Source, TIER_DEFAULT, UTILITY_DEFAULT,
};
use crate::finding::Findings;
use crate::json::{Map, Value};
use crate::shape::words;
use crate::shape::{NON_BLANK, TIME, document};
use crate::verdict::Verdict;

const KIND: &str = "harvest_candidate";

words! {
    HarvestType {
        Learning = "LEARNING",
        AntiPattern = "ANTI_PATTERN",
    }
}

document! {
    /// A candidate that a quest produced.
    #[shape(name = "bridge_harvest_candidate", unknown = KeptUnlessStrict)]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct HarvestCandidate {
        pub id: String as NON_BLANK,
        #[serde(rename = "type")]
        pub kind: HarvestType,
        pub title: String as NON_BLANK,
        #[serde(default)]
        pub summary: String,
        #[serde(default)]
        pub category: String,
        pub quest_id: String as NON_BLANK,
        #[serde(default)]
        pub source_artifacts: Vec<String>,
        #[serde(default)]
        pub tags: Vec<String>,
        pub created_at: String as TIME,
    }
}

/// Validates one harvest candidate.
pub fn validate(bytes: &[u8], strict: bool) -> Verdict {
    match judge::read_object(KIND, bytes) {
        Ok(document) => verdict(&document, strict),
        Err(refused) => *refused,
    }
}

/// Reads one harvest candidate, or gives the verdict that refuses it.
pub fn parse(bytes: &[u8]) -> Result<HarvestCandidate, Box<Verdict>> {
    let document = judge::read_object(KIND, bytes)?;
    let verdict = verdict(&document, false);
    if !verdict.allow {
        return Err(Box::new(verdict));
    }
    HarvestCandidate::deserialize(document)
        .map_err(|error| judge::refuse_whole(KIND, "type", error.to_string()))
}

fn verdict(document: &Value, strict: bool) -> Verdict {
    let findings = judge::check(HarvestCandidate::OBJECT, document, strict);
    judge::rule(KIND, "harvest candidate valid", findings, Findings::default())
}

impl From<HarvestCandidate> for LearningCandidate {
    /// Follows the contract's table row by row; fields that OL does not have get the table's default.
    fn from(harvest: HarvestCandidate) -> Self {
        let mut metadata = Map::new();
        metadata.insert("category".to_owned(), Value::from(harvest.category));
        metadata.insert("quest_id".to_owned(), Value::from(harvest.quest_id.as_str()));
        metadata.insert("tags".to_owned(), Value::from(harvest.tags));
        let path = joined(&harvest.source_artifacts);
        // The joined form cannot be taken apart again with certainty; the list can.
        metadata.insert("source_artifacts".to_owned(), Value::from(harvest.source_artifacts));
        LearningCandidate {
            id: harvest.id,
            kind: match harvest.kind {
                HarvestType::Learning => KnowledgeType::Learning,
                HarvestType::AntiPattern => KnowledgeType::Failure,
            },
            content: harvest.title,
            context: harvest.summary,
            source: Source {
                transcript_path: path,
                message_index: 0,
                timestamp: harvest.created_at.clone(),
                session_id: format!("ol-harvest-{}", harvest.quest_id),
            },
            extracted_at: harvest.created_at,
            metadata,
            is_current: true,
            utility: UTILITY_DEFAULT,
            maturity: MATURITY_DEFAULT.to_owned(),
            tier: TIER_DEFAULT.to_owned(),
            confidence: None,
            extra: Map::new(),
        }
    }
}

/// Joined with `;`, as the table says; one inside a path is written `%3B`.
fn joined(artifacts: &[String]) -> String {
    artifacts.iter().map(|path| path.replace(';', "%3B")).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests;
