//! The walk through one JSON value, by whichever deserializer: refuses what has two meanings and
//! knows where it stands while it does. The text around the value (size, byte order mark, what
//! follows) is `strict_json`'s.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

use super::strict_json::{Fault, Node, RESERVED_PREFIX, StrictError, position_of, reason_of};
use crate::limits::{JSON_DEPTH_MAX, JSON_INTEGER_MAX, JSON_KEY_SHOWN_CHARS};

#[derive(Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// Where the reader stands. On a refusal it is left as it is, so that it tells where that was.
#[derive(Debug, Default)]
pub(super) struct Place {
    path: Vec<Step>,
    pub fault: Option<Fault>,
}

impl Place {
    fn refuse<E: Error>(&mut self, fault: Fault) -> E {
        let text = fault.to_string();
        self.fault = Some(fault);
        E::custom(text)
    }

    fn enter<E: Error>(&mut self) -> Result<(), E> {
        if self.path.len() < JSON_DEPTH_MAX { Ok(()) } else { Err(self.refuse(Fault::TooDeep)) }
    }

    pub fn located(self, error: &serde_json::Error) -> StrictError {
        let path = self.to_string();
        let fault = self.fault.unwrap_or_else(|| Fault::Syntax { reason: reason_of(error) });
        StrictError { fault, path, position: Some(position_of(error)) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, step) in self.path.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if is_plain(key) => {
                    let dot = if nth == 0 { "" } else { "." };
                    write!(f, "{dot}{key}")?;
                }
                // Quoted and cut, so that a hostile key can neither forge a path nor fill a log.
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

/// Reads one value at `place`; the length of the path is the depth.
pub(super) struct Reader<'a> {
    pub place: &'a mut Place,
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
            return Err(self.place.refuse(Fault::NumberTooLarge { number }));
        }
        Ok(Node::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        if let Ok(value) = i64::try_from(value) {
            return self.visit_i64(value);
        }
        let number = value.to_string();
        Err(self.place.refuse(Fault::NumberTooLarge { number }))
    }

    /// Everything spelled with a point or an exponent, and whole numbers past 64 bits.
    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        #[expect(clippy::cast_precision_loss, reason = "a power of two is exact")]
        let limit = JSON_INTEGER_MAX as f64;
        // At 2^53 itself a fraction may already have been rounded from its neighbour. Asked this
        // way round so that NaN, which a program can build, is refused too.
        let is_exact = value.abs() < limit;
        if !is_exact {
            let number = format!("{value:e}");
            return Err(self.place.refuse(Fault::NumberTooLarge { number }));
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
                return Err(self.place.refuse(Fault::ReservedKey));
            }
            if is_repeated {
                return Err(self.place.refuse(Fault::DuplicateKey));
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
