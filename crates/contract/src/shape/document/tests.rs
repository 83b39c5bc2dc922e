use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::shape::{Described, NON_BLANK, Nullable, POSITIVE, TEXT, check::check, optional, schema::schema};

document! {
    /// a parcel
    /// and what is in it
    #[shape(name = "parcel", unknown = OnlyExtensions)]
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Parcel {
        // Not published.
        #[serde(rename = "type")]
        kind: String as NON_BLANK,
        /// in grams
        weight: Option<u64> as POSITIVE,
        #[optional]
        labels: Vec<String>,
        #[serde(default)]
        fragile: bool,
        #[shape(required)]
        #[serde(default)]
        sender: String,
        note: Nullable<String>,
        content: Option<Content>,
        #[serde(flatten)]
        extra: Map<String, Value> = [optional("x_route", TEXT, "the way it took")],
    }
}

document! {
    #[shape(name = "content", unknown = Refused, null = absent)]
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Content {
        pieces: Option<u64>,
    }
}

fn faults(document: &Value) -> Vec<String> {
    check(&Parcel::SHAPE, document, false).sorted().iter().map(ToString::to_string).collect()
}

#[test]
fn one_declaration_gives_the_schema() {
    let schema = schema("a parcel", &Parcel::SHAPE);
    let parcel = &schema["$defs"]["parcel"];
    assert_eq!(parcel["description"], "a parcel and what is in it");
    assert_eq!(parcel["required"], json!(["type", "sender", "note"]));
    assert_eq!(
        parcel["properties"],
        json!({
            "type": {"type": "string", "minLength": 1, "pattern": crate::shape::NON_BLANK_FORM.pattern},
            "weight": {"type": "integer", "minimum": 1, "maximum": 1_u64 << 53, "description": "in grams"},
            "labels": {"type": "array", "items": {"type": "string"}},
            "fragile": {"type": "boolean"},
            "sender": {"type": "string"},
            "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "content": {"$ref": "#/$defs/content"},
            "x_route": {"type": "string", "description": "the way it took"},
        })
    );
}

#[test]
fn one_declaration_gives_the_validator() {
    let valid = json!({"type": "box", "sender": "a", "note": null, "content": {"pieces": null}});
    assert!(faults(&valid).is_empty(), "{:?}", faults(&valid));
    let wrong = json!({"type": "", "note": 1, "weight": null, "content": null, "other": 1, "x_route": 2});
    let found = faults(&wrong);
    for path in ["$.type", "$.note", "$.weight", "$.content", "$.other", "$.x_route", "$.sender"] {
        assert!(found.iter().any(|fault| fault.starts_with(path)), "{path}: {found:#?}");
    }
}

#[test]
fn one_declaration_gives_the_type() {
    let text = r#"{"type":"box","note":null,"x_route":"sea"}"#;
    let parcel: Parcel = serde_json::from_str(text).unwrap();
    assert_eq!((parcel.kind.as_str(), parcel.weight, parcel.sender.as_str()), ("box", None, ""));
    let printed = serde_json::to_string(&parcel).unwrap();
    assert_eq!(printed, r#"{"type":"box","fragile":false,"sender":"","note":null,"x_route":"sea"}"#);
}
