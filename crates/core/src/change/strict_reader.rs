//! Reads one JSON value from any deserializer, refuses ambiguous input and tracks its position. The
//! text around the value (size, byte order mark, trailing bytes) is handled by `strict_json`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize, Serializer};

use super::strict_error::{JsonFault, RESERVED_PREFIX, StrictError, position_of, reason_of};
use crate::limits::{JSON_DEPTH_MAX, JSON_INTEGER_MAX, JSON_KEY_SHOWN_CHARS};

/// A checked value. Objects are ordered by key, whether or not `preserve_order` is enabled
/// elsewhere in the build.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    /// A whole number, also one written `1.0` or `-0`: one value has one form.
    Integer(i64),
    /// A finite number that is not whole.
    Fraction(f64),
    Text(String),
    List(Vec<Node>),
    Object(BTreeMap<String, Node>),
}

// A fraction is never NaN.
impl Eq for Node {}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Fraction(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => serializer.collect_map(members),
        }
    }
}

#[derive(Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// The current position of the reader. It is left unchanged by a refusal, so that it tells where
/// the error was.
#[derive(Debug, Default)]
pub(super) struct ReadPosition {
    path: Vec<Step>,
    pub fault: Option<JsonFault>,
}

impl ReadPosition {
    fn refuse<E: Error>(&mut self, fault: JsonFault) -> E {
        let text = fault.to_string();
        self.fault = Some(fault);
        E::custom(text)
    }

    fn enter<E: Error>(&mut self) -> Result<(), E> {
        if self.path.len() < JSON_DEPTH_MAX { Ok(()) } else { Err(self.refuse(JsonFault::TooDeep)) }
    }

    pub fn located(self, error: &serde_json::Error) -> StrictError {
        let path = self.to_string();
        let fault = self.fault.unwrap_or_else(|| JsonFault::Syntax { reason: reason_of(error) });
        StrictError { fault, path, position: Some(position_of(error)) }
    }
}

impl fmt::Display for ReadPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, step) in self.path.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if is_plain(key) => {
                    let dot = if nth == 0 { "" } else { "." };
                    write!(f, "{dot}{key}")?;
                }
                // The key is quoted and cut, so that a hostile key can neither forge a path nor
                // fill a log.
                Step::Key(key) => {
                    let shown: String = key.chars().take(JSON_KEY_SHOWN_CHARS).collect();
                    let cut = if shown.len() < key.len() { "…" } else { "" };
                    write!(f, "[{shown:?}{cut}]")?;
                }
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    (1..=JSON_KEY_SHOWN_CHARS).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Reads one value at `place`. The length of the path is the depth.
pub(super) struct Reader<'a> {
    pub place: &'a mut ReadPosition,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        if value.unsigned_abs() > JSON_INTEGER_MAX {
            let number = value.to_string();
            return Err(self.place.refuse(JsonFault::NumberTooLarge { number }));
        }
        Ok(Node::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        if let Ok(value) = i64::try_from(value) {
            return self.visit_i64(value);
        }
        let number = value.to_string();
        Err(self.place.refuse(JsonFault::NumberTooLarge { number }))
    }

    /// Handles every number with a point or an exponent, and whole numbers beyond 64 bits.
    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        #[expect(clippy::cast_precision_loss, reason = "a power of two is exact")]
        let limit = JSON_INTEGER_MAX as f64;
        // At 2^53 itself a fraction may already have been rounded from its neighbour. The
        // comparison is written so that NaN, which a program can build, is refused too.
        let is_exact = value.abs() < limit;
        if !is_exact {
            let number = format!("{value:e}");
            return Err(self.place.refuse(JsonFault::NumberTooLarge { number }));
        }
        if value.fract() == 0.0 {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            return Ok(Node::Integer(value as i64));
        }
        Ok(Node::Fraction(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        self.place.enter()?;
        let mut items = Vec::new();
        loop {
            self.place.path.push(Step::Index(items.len()));
            let place = &mut *self.place;
            let item = list.next_element_seed(Reader { place })?;
            self.place.path.pop();
            match item {
                Some(item) => items.push(item),
                None => return Ok(Node::List(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Node, A::Error> {
        self.place.enter()?;
        let mut members = BTreeMap::new();
        while let Some(key) = object.next_key::<String>()? {
            let is_reserved = key.starts_with(RESERVED_PREFIX);
            let is_repeated = members.contains_key(&key);
            self.place.path.push(Step::Key(key));
            if is_reserved {
                return Err(self.place.refuse(JsonFault::ReservedKey));
            }
            if is_repeated {
                return Err(self.place.refuse(JsonFault::DuplicateKey));
            }
            let place = &mut *self.place;
            let value = object.next_value_seed(Reader { place })?;
            if let Some(Step::Key(key)) = self.place.path.pop() {
                members.insert(key, value);
            }
        }
        Ok(Node::Object(members))
    }
}
