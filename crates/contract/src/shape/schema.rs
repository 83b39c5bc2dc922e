//! Prints shapes as JSON Schema 2020-12.

use serde_json::{Map as Fields, Value, json};

use super::{Object, Shape, Text, UNBOUNDED, Unknown};

/// The whole schema document of a shape.
pub fn schema(title: &str, shape: &Shape) -> Value {
    let mut writer = Writer::default();
    let root = writer.node(shape);
    writer.finish(title, root)
}

/// Writes shapes as schemas. Objects go to the definitions, each once.
#[derive(Default)]
pub struct Writer {
    strict: bool,
    definitions: Fields<String, Value>,
    /// The definition of each object; two objects of one name have two definitions.
    named: Vec<(*const Object, String)>,
}

impl Writer {
    /// In strict mode, fields that would be ignored are faults.
    pub fn new(strict: bool) -> Self {
        Self { strict, ..Self::default() }
    }

    /// Writes a part that is lenient even in strict mode.
    pub fn leniently(&mut self, write: impl FnOnce(&mut Self) -> Value) -> Value {
        let strict = std::mem::replace(&mut self.strict, false);
        let node = write(self);
        self.strict = strict;
        node
    }

    /// Closes a document whose root is `root`, with everything it refers to.
    pub fn finish(self, title: &str, root: Value) -> Value {
        let mut document = Fields::new();
        document.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        document.insert("title".to_owned(), json!(title));
        let Value::Object(root) = root else { unreachable!("BUG: every node is an object") };
        document.extend(root);
        if !self.definitions.is_empty() {
            document.insert("$defs".to_owned(), Value::Object(self.definitions));
        }
        Value::Object(document)
    }

    /// The schema of one shape.
    pub fn node(&mut self, shape: &Shape) -> Value {
        match shape {
            Shape::Object(object) => self.reference(object),
            Shape::List(list) => {
                let mut node = json!({"type": "array", "items": self.node(&list.item)});
                bound(&mut node, "minItems", list.min, 0);
                bound(&mut node, "maxItems", list.max, UNBOUNDED);
                node
            }
            Shape::Map(map) => {
                let mut node = json!({"type": "object", "additionalProperties": self.node(&map.value)});
                if let Some(form) = map.key.form {
                    node["propertyNames"] = json!({"pattern": form.pattern});
                }
                node
            }
            Shape::Text(text) => text_node(*text),
            Shape::Word(words) => json!({"enum": words}),
            Shape::Integer { min, max } => integer_node(*min, *max),
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
            Shape::Nullable(inner) => json!({"anyOf": [{"type": "null"}, self.node(inner)]}),
            Shape::Either(shapes) => {
                let nodes: Vec<Value> = shapes.iter().map(|shape| self.node(shape)).collect();
                json!({"anyOf": nodes})
            }
        }
    }

    fn reference(&mut self, object: &'static Object) -> Value {
        let name = match self.named.iter().find(|(known, _)| std::ptr::eq(*known, object)) {
            Some((_, name)) => name.clone(),
            None => self.define(object),
        };
        json!({"$ref": format!("#/$defs/{name}")})
    }

    fn define(&mut self, object: &'static Object) -> String {
        let same = self.named.iter().filter(|(_, name)| name.split('.').next() == Some(object.name)).count();
        let name = if same == 0 { object.name.to_owned() } else { format!("{}.{}", object.name, same + 1) };
        // Registered before it is written, so that a shape may contain itself.
        self.named.push((object, name.clone()));
        let definition = self.object_node(object);
        self.definitions.insert(name.clone(), definition);
        name
    }

    fn object_node(&mut self, object: &Object) -> Value {
        let mut properties = Fields::new();
        for field in object.fields {
            let mut property = self.node(&field.shape);
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
        let extensions = match object.unknown {
            Unknown::Refused => false,
            Unknown::OnlyExtensions => true,
            Unknown::KeptUnlessStrict if self.strict => true,
            Unknown::Kept | Unknown::KeptUnlessStrict => return node,
        };
        if extensions {
            node["patternProperties"] = json!({"^x_": true});
        }
        node["additionalProperties"] = json!(false);
        node
    }
}

/// Beyond 2^53 JSON readers disagree about which integer it is, so there is always a bound.
fn integer_node(min: i64, max: i64) -> Value {
    const EXACT: i64 = 1 << 53;
    json!({"type": "integer", "minimum": min.max(-EXACT), "maximum": max.min(EXACT)})
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
