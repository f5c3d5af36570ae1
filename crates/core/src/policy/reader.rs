//! The tools for reading a document. Each takes a located value, returns the parsed value and
//! records errors with line, column and path. Reading continues after an error, so that one
//! response reports all of them; the caller discards the result if there is any error.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::document_error::{DocumentError, DocumentErrors, Position};
use super::node::{GIVEN_TWICE, Key, Node, Value};
use super::requirement::Audience;
use super::schema::Section;
use super::{Pattern, period};
use crate::actor::Role;
use crate::ids::UserId;
use crate::limits::{NAME_MAX_BYTES, POLICY_AUDIENCE_MAX, POLICY_ERRORS_MAX, POLICY_PATTERNS_MAX};

/// A value and the path to it.
pub(super) struct Spot {
    path: String,
    at: Position,
    value: Value,
}

impl Spot {
    pub fn root(node: Node) -> Self {
        Self::new(String::new(), node)
    }

    fn new(path: String, node: Node) -> Self {
        Self { path, at: node.at, value: node.value }
    }

    pub fn is_empty_list(&self) -> bool {
        matches!(&self.value, Value::List(items) if items.is_empty())
    }

    /// Returns a mark that can refer to the value after it was read.
    pub fn mark(&self) -> Mark {
        Mark { path: self.path.clone(), at: self.at }
    }
}

pub(super) struct Mark {
    path: String,
    at: Position,
}

impl Mark {
    pub fn line(&self) -> u64 {
        self.at.line
    }
}

/// The known fields of one mapping, each taken at most once.
pub(super) struct Fields {
    pub mark: Mark,
    entries: Vec<(Key, Node)>,
}

impl Fields {
    pub fn take(&mut self, name: &str) -> Option<Spot> {
        let index = self.entries.iter().position(|(key, _)| key.name == name)?;
        let (_, node) = self.entries.remove(index);
        Some(Spot::new(join(&self.mark.path, name), node))
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[derive(Default)]
pub(super) struct Reader {
    errors: Vec<DocumentError>,
}

impl Reader {
    pub fn finish<T>(self, read: T) -> Result<T, DocumentErrors> {
        if self.errors.is_empty() { Ok(read) } else { Err(DocumentErrors { errors: self.errors }) }
    }

    pub fn refuse(&mut self, mark: &Mark, message: impl fmt::Display) {
        if self.errors.len() < POLICY_ERRORS_MAX {
            let error = DocumentError::at(mark.at, &mark.path, &message.to_string());
            self.errors.push(error);
        }
    }

    pub fn count(&self) -> usize {
        self.errors.len()
    }

    fn expected(&mut self, mark: &Mark, wanted: &str, found: &Value) {
        self.refuse(mark, format!("expected {wanted}, found {}", found.describe()));
    }

    /// Returns the fields of a mapping. Unknown and duplicate fields are recorded as errors and
    /// left out.
    pub fn fields(&mut self, spot: Spot, known: &Section) -> Option<Fields> {
        let mark = spot.mark();
        let found = match spot.value {
            Value::Fields(found) => found,
            other => {
                self.expected(&mark, "a group of fields", &other);
                return None;
            }
        };
        let mut entries: Vec<(Key, Node)> = Vec::new();
        for (key, node) in found {
            let here = Mark { path: join(&mark.path, &key.name), at: key.at };
            if !known.knows(&key.name) {
                let known = known.names();
                self.refuse(&here, format!("unknown field: use one of {known}"));
            } else if entries.iter().any(|(earlier, _)| earlier.name == key.name) {
                self.refuse(&here, GIVEN_TWICE);
            } else {
                entries.push((key, node));
            }
        }
        Some(Fields { mark, entries })
    }

    pub fn list(&mut self, spot: Spot, most: usize) -> Vec<Spot> {
        let mark = spot.mark();
        let items = match spot.value {
            Value::List(items) => items,
            other => {
                self.expected(&mark, "a list", &other);
                return Vec::new();
            }
        };
        if items.len() > most {
            self.refuse(&mark, format!("{} entries; at most {most}", items.len()));
            return Vec::new();
        }
        items
            .into_iter()
            .enumerate()
            .map(|(index, node)| Spot::new(format!("{}[{index}]", mark.path), node))
            .collect()
    }

    pub fn text(&mut self, spot: Spot) -> Option<String> {
        let mark = spot.mark();
        match spot.value {
            Value::Text(text) => Some(text),
            Value::Number(text) => {
                self.refuse(&mark, format!("expected text, found the number {text}: quote it"));
                None
            }
            other => {
                self.expected(&mark, "text", &other);
                None
            }
        }
    }

    /// Reads text with `parse` and records its error.
    pub fn parsed<T, E: fmt::Display>(
        &mut self,
        spot: Spot,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        let mark = spot.mark();
        let text = self.text(spot)?;
        parse(&text).map_err(|error| self.refuse(&mark, error)).ok()
    }

    pub fn choice<T: Copy>(&mut self, spot: Spot, choices: &[(&str, T)]) -> Option<T> {
        self.parsed(spot, |text| {
            let chosen = choices.iter().find(|(name, _)| *name == text);
            chosen.map(|(_, choice)| *choice).ok_or_else(|| {
                let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
                format!("`{text}` is not one of {}", names.join(", "))
            })
        })
    }

    pub fn bool(&mut self, spot: Spot) -> Option<bool> {
        let mark = spot.mark();
        match spot.value {
            Value::Bool(value) => Some(value),
            other => {
                self.expected(&mark, "true or false", &other);
                None
            }
        }
    }

    pub fn number(&mut self, spot: &Spot, range: RangeInclusive<u32>) -> Option<u32> {
        let mark = spot.mark();
        let number = match &spot.value {
            Value::Number(text) => text.parse().ok(),
            Value::Nothing
            | Value::Bool(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Fields(_) => None,
        };
        let within = number.filter(|number| range.contains(number));
        if within.is_none() {
            let wanted = format!("a whole number from {} to {}", range.start(), range.end());
            self.expected(&mark, &wanted, &spot.value);
        }
        within
    }

    pub fn period(&mut self, spot: Spot) -> Option<Duration> {
        self.parsed(spot, period::parse)
    }

    pub fn patterns(&mut self, spot: Spot) -> Vec<Pattern> {
        let items = self.list(spot, POLICY_PATTERNS_MAX);
        items.into_iter().filter_map(|item| self.parsed(item, Pattern::new)).collect()
    }

    /// Reads a list in which order and repetition have no meaning; a repetition is an error.
    pub fn set<T: Ord, E: fmt::Display>(
        &mut self,
        spot: Spot,
        most: usize,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> BTreeSet<T> {
        let mut set = BTreeSet::new();
        for item in self.list(spot, most) {
            let mark = item.mark();
            let Some(entry) = self.parsed(item, &parse) else {
                continue;
            };
            if !set.insert(entry) {
                self.refuse(&mark, "is listed twice: keep one");
            }
        }
        set
    }

    pub fn roles(&mut self, spot: Spot) -> BTreeSet<Role> {
        self.set(spot, POLICY_AUDIENCE_MAX, |text| word(text).map(Role::new))
    }

    /// Reads the fields `roles` and `people`, either of which may be left out.
    pub fn audience(&mut self, fields: &mut Fields) -> Audience {
        let roles = fields.take("roles").map(|spot| self.roles(spot));
        let people = fields
            .take("people")
            .map(|spot| self.set(spot, POLICY_AUDIENCE_MAX, str::parse::<UserId>));
        Audience { roles: roles.unwrap_or_default(), people: people.unwrap_or_default() }
    }
}

/// Checks a role or tag. They are compared byte by byte, so invisible characters are refused.
pub(super) fn word(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > NAME_MAX_BYTES {
        return Err(format!("`{text}` must have 1 to {NAME_MAX_BYTES} bytes"));
    }
    if text.trim() != text || text.chars().any(char::is_control) {
        return Err(format!("`{text}` must not contain control characters or surrounding spaces"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
