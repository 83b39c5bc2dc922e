//! Prints a shape as JSON Schema 2020-12.

use serde_json::{Map as Fields, Value, json};

use super::{Object, Shape, Text, UNBOUNDED, Unknown};

/// The whole schema document of a shape.
pub fn schema(title: &str, shape: &Shape) -> Value {
    let mut definitions = Fields::new();
    let mut root = node(shape, &mut definitions);
    let fields = root.as_object_mut().expect("BUG: every node is an object");
    fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    fields.insert("title".to_owned(), json!(title));
    if !definitions.is_empty() {
        fields.insert("$defs".to_owned(), Value::Object(definitions));
    }
    root
}

fn node(shape: &Shape, definitions: &mut Fields<String, Value>) -> Value {
    match shape {
        Shape::Object(object) => reference(object, definitions),
        Shape::List(list) => {
            let mut node = json!({"type": "array", "items": node(&list.item, definitions)});
            bound(&mut node, "minItems", list.min, 0);
            bound(&mut node, "maxItems", list.max, UNBOUNDED);
            node
        }
        Shape::Map(map) => {
            let mut node = json!({"type": "object", "additionalProperties": node(&map.value, definitions)});
            if let Some(form) = map.key.form {
                node["propertyNames"] = json!({"pattern": form.pattern});
            }
            node
        }
        Shape::Text(text) => text_node(*text),
        Shape::Word(words) => json!({"enum": words}),
        Shape::Integer { min, max } => {
            let mut node = json!({"type": "integer"});
            if *min != i64::MIN {
                node["minimum"] = json!(min);
            }
            if *max != i64::MAX {
                node["maximum"] = json!(max);
            }
            node
        }
        Shape::Number { min, max } => {
            let mut node = json!({"type": "number"});
            if *min > f64::MIN {
                node["minimum"] = json!(min);
            }
            if *max < f64::MAX {
                node["maximum"] = json!(max);
            }
            node
        }
        Shape::Bool => json!({"type": "boolean"}),
        Shape::AnyObject => json!({"type": "object"}),
        Shape::Anything => json!({}),
        Shape::Nullable(inner) => json!({"anyOf": [{"type": "null"}, node(inner, definitions)]}),
        Shape::Either(shapes) => {
            let nodes: Vec<Value> = shapes.iter().map(|shape| node(shape, definitions)).collect();
            json!({"anyOf": nodes})
        }
    }
}

fn reference(object: &Object, definitions: &mut Fields<String, Value>) -> Value {
    if !definitions.contains_key(object.name) {
        // Holds the place, so that a shape may contain itself.
        definitions.insert(object.name.to_owned(), Value::Null);
        let definition = object_node(object, definitions);
        definitions.insert(object.name.to_owned(), definition);
    }
    json!({"$ref": format!("#/$defs/{}", object.name)})
}

fn object_node(object: &Object, definitions: &mut Fields<String, Value>) -> Value {
    let mut properties = Fields::new();
    for field in object.fields {
        let mut property = node(&field.shape, definitions);
        if !field.about.is_empty() {
            property["description"] = json!(field.about);
        }
        properties.insert(field.name.to_owned(), property);
    }
    let required: Vec<&str> = object.fields.iter().filter(|f| f.required).map(|f| f.name).collect();
    let mut node = json!({"type": "object", "properties": properties, "required": required});
    if !object.about.is_empty() {
        node["description"] = json!(object.about);
    }
    match object.unknown {
        Unknown::Refused => node["additionalProperties"] = json!(false),
        Unknown::OnlyExtensions => {
            node["patternProperties"] = json!({"^x_": true});
            node["additionalProperties"] = json!(false);
        }
        Unknown::Kept | Unknown::KeptUnlessStrict => {}
    }
    node
}

fn text_node(text: Text) -> Value {
    let mut node = json!({"type": "string"});
    bound(&mut node, "minLength", text.min, 0);
    bound(&mut node, "maxLength", text.max, UNBOUNDED);
    if let Some(form) = text.form {
        node["pattern"] = json!(form.pattern);
    }
    node
}

fn bound(node: &mut Value, name: &str, value: usize, absent: usize) {
    if value != absent {
        node[name] = json!(value);
    }
}
