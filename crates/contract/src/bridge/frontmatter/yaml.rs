//! Turns the events of the YAML parser into fields, and applies the rules that are stricter than YAML.

use serde_saphyr::Budget;
use serde_saphyr::budget::{BudgetBreach, EnforcingPolicy, check_yaml_budget};
use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, ScanError, Span};

use super::{Fields, FrontmatterError, YamlNode};

/// How deep values may nest below the document's own mapping.
const DEPTH_MAX: usize = 8;
/// Names in one mapping.
const FIELDS_MAX: usize = 200;
/// Texts, lists and mappings in one document.
const NODES_MAX: usize = 20_000;
/// Bytes of text in one document; longer text belongs in the body.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The parser counts lines from 1 at the first line after the opening fence.
const FENCE_LINES: usize = 1;

pub(super) fn parse(text: &str) -> Result<Fields, FrontmatterError> {
    check_tabs(text)?;
    check_budget(text)?;
    let options = granit_parser::options! { emit_unresolved_aliases: true, emit_comments: false };
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| not_yaml(&error))?;
        builder.add(event, span)?;
    }
    Ok(builder.root.unwrap_or_default())
}

/// YAML allows tabs in some places of a line's beginning. Editors show them at different widths, so none is accepted.
fn check_tabs(text: &str) -> Result<(), FrontmatterError> {
    let is_indented_by_tab =
        |line: &str| line.trim_start_matches(' ').starts_with('\t') && !line.trim().is_empty();
    match text.lines().position(is_indented_by_tab) {
        Some(index) => {
            Err(FrontmatterError { message: "tabs cannot indent".to_owned(), line: index + 1 + FENCE_LINES })
        }
        None => Ok(()),
    }
}

/// Stops a document that costs too much before anything is built from it. A text that is not YAML passes: building
/// finds the same error again and reports its line. So do depth, anchors and aliases.
fn check_budget(text: &str) -> Result<(), FrontmatterError> {
    let mut budget = Budget::default();
    budget.max_depth = DEPTH_MAX + 1;
    budget.max_nodes = NODES_MAX;
    budget.max_events = NODES_MAX * 3;
    budget.max_total_scalar_bytes = TEXT_BYTES_MAX;
    budget.max_documents = 1;
    budget.max_aliases = 0;
    budget.max_anchors = 0;
    let Ok(report) = check_yaml_budget(text, budget, EnforcingPolicy::AllContent) else { return Ok(()) };
    let limit = match report.breached {
        Some(BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. }) => {
            format!("the frontmatter has more than {NODES_MAX} values")
        }
        Some(BudgetBreach::ScalarBytes { .. }) => {
            format!("the frontmatter has more than {TEXT_BYTES_MAX} bytes of text")
        }
        // The builder refuses all others with their line. The crate may add kinds of limits.
        _ => return Ok(()),
    };
    Err(FrontmatterError { message: limit, line: 1 })
}

/// A list or mapping that is not closed yet.
enum OpenCollection {
    List(Vec<YamlNode>),
    Map { fields: Fields, name: Option<String> },
}

#[derive(Default)]
struct Builder {
    open: Vec<OpenCollection>,
    root: Option<Fields>,
}

impl Builder {
    fn add(&mut self, event: Event<'_>, span: Span) -> Result<(), FrontmatterError> {
        match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(is_explicit, version) => {
                if is_explicit || version.is_some() || self.root.is_some() {
                    return fault(span, "frontmatter is one document without directives");
                }
                Ok(())
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) | Event::Anchor(..) => unread(span),
            Event::Scalar(_, _, anchor, ref tag)
            | Event::SequenceStart(_, anchor, ref tag)
            | Event::MappingStart(_, anchor, ref tag)
                if anchor != 0 || tag.is_some() =>
            {
                unread(span)
            }
            Event::Scalar(text, style, _, _) => self.scalar(text.into_owned(), style, span),
            Event::SequenceStart(..) => self.start(OpenCollection::List(Vec::new()), span),
            Event::MappingStart(..) => {
                self.start(OpenCollection::Map { fields: Fields::default(), name: None }, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            // The enum may grow; what is unknown is not read.
            _ => unread(span),
        }
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, span: Span) -> Result<(), FrontmatterError> {
        match self.open.last_mut() {
            Some(OpenCollection::Map { fields, name: name @ None }) => {
                if fields.0.len() == FIELDS_MAX {
                    return fault(span, &format!("a mapping has more than {FIELDS_MAX} names"));
                }
                if fields.get(&text).is_some() {
                    return fault(span, &format!("duplicate name `{text}`"));
                }
                *name = Some(text);
                Ok(())
            }
            _ => self.value(YamlNode::Text { text, quoted: style != ScalarStyle::Plain }, span),
        }
    }

    fn start(&mut self, open: OpenCollection, span: Span) -> Result<(), FrontmatterError> {
        if matches!(self.open.last(), Some(OpenCollection::Map { name: None, .. })) {
            return fault(span, "a name must be text");
        }
        if self.open.len() > DEPTH_MAX {
            return fault(span, "nested too deep");
        }
        if self.open.is_empty() && matches!(open, OpenCollection::List(_)) {
            return not_fields(span);
        }
        self.open.push(open);
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), FrontmatterError> {
        let node = match self.open.pop() {
            Some(OpenCollection::List(items)) => YamlNode::List(items),
            Some(OpenCollection::Map { fields, .. }) => YamlNode::Map(fields),
            None => return not_fields(span),
        };
        self.value(node, span)
    }

    fn value(&mut self, node: YamlNode, span: Span) -> Result<(), FrontmatterError> {
        match (self.open.last_mut(), node) {
            (None, YamlNode::Map(fields)) => self.root = Some(fields),
            (None, _) => return not_fields(span),
            (Some(OpenCollection::List(items)), node) => items.push(node),
            (Some(OpenCollection::Map { fields, name }), node) => match name.take() {
                Some(name) => fields.0.push((name, node)),
                None => return fault(span, "a name must be text"),
            },
        }
        Ok(())
    }
}

fn not_fields<T>(span: Span) -> Result<T, FrontmatterError> {
    fault(span, "frontmatter must be `name: value` lines")
}

fn unread<T>(span: Span) -> Result<T, FrontmatterError> {
    fault(span, "anchors, aliases and tags are not supported; quote the text")
}

fn fault<T>(span: Span, message: &str) -> Result<T, FrontmatterError> {
    Err(FrontmatterError { message: message.to_owned(), line: span.start.line() + FENCE_LINES })
}

fn not_yaml(error: &ScanError) -> FrontmatterError {
    FrontmatterError { message: error.info(), line: error.marker().line() + FENCE_LINES }
}
