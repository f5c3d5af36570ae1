//! A document as a tree in which every value has its line and column, from YAML or JSON. Hostile
//! input is refused here: size, depth and number of values are bounded before anything is stored,
//! and YAML aliases, merge keys and tags are not supported.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{
    DefaultMessageFormatter, DuplicateKeyPolicy, Location, MergeKeyPolicy, MessageFormatter as _,
    Options, Spanned,
};

use super::document_error::{DocumentError, DocumentErrors, Position};
use crate::limits::{
    POLICY_DOCUMENT_DEPTH_MAX, POLICY_DOCUMENT_MAX_BYTES, POLICY_DOCUMENT_VALUES_MAX,
};

const NO_ALIASES: &str = "anchors (&) and aliases (*) are not supported: write the value out, and \
                          quote a pattern that starts with `*`";
pub(super) const GIVEN_TWICE: &str = "the field is given twice: keep one";

#[derive(Debug)]
pub(super) struct Node {
    pub at: Position,
    pub value: Value,
}

#[derive(Debug)]
pub(super) struct Key {
    pub at: Position,
    pub name: String,
}

#[derive(Debug)]
pub(super) enum Value {
    Nothing,
    Bool(bool),
    /// A number as written, so that 1.0 is not taken for 1.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Fields(Vec<(Key, Node)>),
}

impl Value {
    pub fn describe(&self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Bool(value) => format!("`{value}`"),
            Self::Number(text) => format!("the number {text}"),
            Self::Text(text) => format!("the text `{text}`"),
            Self::List(_) => "a list".to_owned(),
            Self::Fields(_) => "a group of fields".to_owned(),
        }
    }
}

/// The bounds for one kind of document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub bytes: usize,
    pub values: usize,
}

pub(super) const POLICY_ROOM: Room =
    Room { bytes: POLICY_DOCUMENT_MAX_BYTES, values: POLICY_DOCUMENT_VALUES_MAX };

pub(super) fn from_yaml(text: &str, room: Room) -> Result<Node, DocumentErrors> {
    refuse_size(text, room)?;
    serde_saphyr::from_str_with_options::<Marked>(text, yaml_options(room))
        .map(Marked::node)
        .map_err(|error| refused_yaml(&error, room))
}

/// Parses JSON. The depth is bounded by the JSON parser itself, and the number of values by the
/// size.
pub(super) fn from_json(text: &str) -> Result<Node, DocumentErrors> {
    refuse_size(text, POLICY_ROOM)?;
    let refused = |error: serde_json::Error| {
        let at = Position { line: error.line() as u64, column: error.column().max(1) as u64 };
        let full = error.to_string();
        let message = full.rsplit_once(" at line ").map_or(&*full, |(message, _)| message);
        DocumentErrors::one(DocumentError::at(at, "", message))
    };
    let mut root: Node = serde_json::from_str(text).map_err(refused)?;
    root.place(&mut JsonPlaces::of(text));
    Ok(root)
}

fn refuse_size(text: &str, room: Room) -> Result<(), DocumentErrors> {
    if text.len() <= room.bytes {
        return Ok(());
    }
    let (bytes, most) = (text.len(), room.bytes);
    let message = format!("the document has {bytes} bytes; at most {most} are allowed");
    Err(DocumentErrors::one(DocumentError::at(Position::default(), "", &message)))
}

fn yaml_options(room: Room) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_aliases: 0,
            max_anchors: 0,
            max_documents: 1,
            max_depth: POLICY_DOCUMENT_DEPTH_MAX,
            // One more than the bound, so that the error reports the depth.
            flow_nesting_limit: POLICY_DOCUMENT_DEPTH_MAX + 1,
            max_nodes: room.values,
        },
        emit_comments: false,
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        ignore_binary_tag_for_string: true,
        with_snippet: false,
    }
}

fn refused_yaml(error: &serde_saphyr::Error, room: Room) -> DocumentErrors {
    use serde_saphyr::Error;
    let message = match error {
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. } => NO_ALIASES.to_owned(),
            BudgetBreach::Depth { .. } => {
                format!("nested deeper than {POLICY_DOCUMENT_DEPTH_MAX} levels")
            }
            BudgetBreach::Nodes { .. } => format!("more than {} values", room.values),
            BudgetBreach::Documents { .. } => {
                "a second document starts here: send only one".to_owned()
            }
            other => format!("the document is too large: {other:?}"),
        },
        Error::UnknownAnchor { .. } => NO_ALIASES.to_owned(),
        Error::MergeKeyNotAllowed { .. } => {
            "merge keys (<<) are not supported: write the fields out".to_owned()
        }
        Error::DuplicateMappingKey { .. } => GIVEN_TWICE.to_owned(),
        other => DefaultMessageFormatter.format_message(other).into_owned(),
    };
    let at = error.location().map(Position::of).unwrap_or_default();
    DocumentErrors::one(DocumentError::at(at, "", &message))
}

impl Position {
    fn of(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

/// Any value as serde sees it; `C` and `K` are the types of its children and keys.
enum Shape<K, C> {
    Nothing,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<C>),
    Fields(Vec<(K, C)>),
}

impl<K, C> Shape<K, C> {
    fn value(self, key: impl Fn(K) -> Key, child: impl Fn(C) -> Node) -> Value {
        match self {
            Self::Nothing => Value::Nothing,
            Self::Bool(value) => Value::Bool(value),
            Self::Number(text) => Value::Number(text),
            Self::Text(text) => Value::Text(text),
            Self::List(items) => Value::List(items.into_iter().map(child).collect()),
            Self::Fields(fields) => Value::Fields(
                fields.into_iter().map(|(name, field)| (key(name), child(field))).collect(),
            ),
        }
    }
}

impl<'de, K: Deserialize<'de>, C: Deserialize<'de>> Deserialize<'de> for Shape<K, C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor(PhantomData))
    }
}

struct ShapeVisitor<K, C>(PhantomData<(K, C)>);

impl<'de, K: Deserialize<'de>, C: Deserialize<'de>> Visitor<'de> for ShapeVisitor<K, C> {
    type Value = Shape<K, C>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Shape::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Shape::Number(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Shape::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Shape::Number(format!("{value:?}")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Shape::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Shape::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Shape::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            fields.push(entry);
        }
        Ok(Shape::Fields(fields))
    }
}

/// A YAML value with the position that the parser reported.
struct Marked(Spanned<Shape<Spanned<String>, Self>>);

impl Marked {
    fn node(self) -> Node {
        let key = |key: Spanned<String>| Key { at: Position::of(key.referenced), name: key.value };
        Node { at: Position::of(self.0.referenced), value: self.0.value.value(key, Self::node) }
    }
}

impl<'de> Deserialize<'de> for Marked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Self)
    }
}

/// Reads any other format, without positions.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = |name: String| Key { at: Position::default(), name };
        let shape = Shape::deserialize(deserializer)?;
        Ok(Self { at: Position::default(), value: shape.value(key, |child: Self| child) })
    }
}

impl Node {
    fn place(&mut self, places: &mut JsonPlaces<'_>) {
        self.at = places.next().unwrap_or_default();
        match &mut self.value {
            Value::Nothing | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
            Value::List(items) => items.iter_mut().for_each(|item| item.place(places)),
            Value::Fields(fields) => {
                for (key, field) in fields {
                    key.at = places.next().unwrap_or_default();
                    field.place(places);
                }
            }
        }
    }
}

/// The positions of keys and values of a well-formed JSON text, in the order of the text. The JSON
/// parser has already checked the grammar, so only punctuation has to be skipped.
struct JsonPlaces<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    here: Position,
}

impl<'a> JsonPlaces<'a> {
    fn of(text: &'a str) -> Self {
        Self { rest: text.chars().peekable(), here: Position { line: 1, column: 1 } }
    }

    fn step(&mut self) -> Option<char> {
        let passed = self.rest.next()?;
        if passed == '\n' {
            self.here.line += 1;
            self.here.column = 1;
        } else {
            self.here.column += 1;
        }
        Some(passed)
    }

    fn skip_string(&mut self) {
        while let Some(passed) = self.step() {
            match passed {
                '\\' => {
                    self.step();
                }
                '"' => return,
                _ => {}
            }
        }
    }
}

impl Iterator for JsonPlaces<'_> {
    type Item = Position;

    fn next(&mut self) -> Option<Position> {
        loop {
            let begin = self.here;
            match self.step()? {
                ' ' | '\t' | '\r' | '\n' | ',' | ':' | ']' | '}' => {}
                '{' | '[' => return Some(begin),
                '"' => {
                    self.skip_string();
                    return Some(begin);
                }
                _ => {
                    while self.rest.peek().is_some_and(|next| is_bare(*next)) {
                        self.step();
                    }
                    return Some(begin);
                }
            }
        }
    }
}

/// Returns whether the character belongs to a number, `true`, `false` or `null`.
fn is_bare(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.')
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
