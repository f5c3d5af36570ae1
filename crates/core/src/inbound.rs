//! Drafts from events of other systems: a template describes the proposed task and has placeholders
//! for values of the event. Filled-in values are text or numbers and are never expanded again; the
//! type of the task comes from the template alone.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::limits::{INBOUND_PLACES_MAX, INBOUND_TEMPLATE_MAX_BYTES, INBOUND_TEXT_MAX_CHARS};

const OPENS: &str = "{{";
const CLOSES: &str = "}}";
/// The value with which a template is tried.
const SAMPLE: &str = "sample";

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TemplateError {
    #[error("a template is one JSON object in the format of `POST /v1/tasks`")]
    NotAnObject,
    #[error("must be at most {INBOUND_TEMPLATE_MAX_BYTES} bytes")]
    TooLarge,
    #[error("`type` must be a fixed text: an event cannot choose the task type")]
    OpenType,
    #[error(
        "`{given}` is not a valid placeholder: write {{{{/a/b}}}}, a JSON pointer into the event"
    )]
    BadPlace { given: String },
    #[error("at most {INBOUND_PLACES_MAX} placeholders are allowed")]
    TooManyPlaces,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FillError {
    #[error("the event has no value at `{place}`")]
    Missing { place: String },
    #[error("the event's value at `{place}` is not a string, number or boolean")]
    NotText { place: String },
    #[error("the event's value at `{place}` is longer than {INBOUND_TEXT_MAX_CHARS} characters")]
    TooLong { place: String },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Template(Value);

/// A part of a text with placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Text(&'a str),
    /// A placeholder: a JSON pointer into the event.
    Place(&'a str),
}

impl Template {
    pub fn new(document: Value) -> Result<Self, TemplateError> {
        let Value::Object(fields) = &document else { return Err(TemplateError::NotAnObject) };
        if document.to_string().len() > INBOUND_TEMPLATE_MAX_BYTES {
            return Err(TemplateError::TooLarge);
        }
        let is_fixed = |text: &str| parts(text).is_ok_and(|parts| places(&parts) == 0);
        if !fields.get("type").and_then(Value::as_str).is_some_and(is_fixed) {
            return Err(TemplateError::OpenType);
        }
        if count(&document)? > INBOUND_PLACES_MAX {
            return Err(TemplateError::TooManyPlaces);
        }
        Ok(Self(document))
    }

    pub fn document(&self) -> &Value {
        &self.0
    }

    /// Returns the task with the values of this event filled in.
    pub fn fill(&self, event: &Value) -> Result<Value, FillError> {
        filled(&self.0, &|place| found(event, place))
    }

    /// Returns the task with sample values, to check whether the template is valid.
    pub fn sample(&self) -> Value {
        filled(&self.0, &|_| Ok(Value::from(SAMPLE))).unwrap_or_default()
    }
}

fn found(event: &Value, place: &str) -> Result<Value, FillError> {
    let named = || place.to_owned();
    match event.pointer(place) {
        None | Some(Value::Null) => Err(FillError::Missing { place: named() }),
        Some(Value::Array(_) | Value::Object(_)) => Err(FillError::NotText { place: named() }),
        Some(Value::String(text)) if text.chars().count() > INBOUND_TEXT_MAX_CHARS => {
            Err(FillError::TooLong { place: named() })
        }
        Some(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => Ok(value.clone()),
    }
}

fn filled(
    value: &Value,
    find: &impl Fn(&str) -> Result<Value, FillError>,
) -> Result<Value, FillError> {
    Ok(match value {
        Value::String(text) => filled_text(text, find)?,
        Value::Array(items) => {
            let items = items.iter().map(|item| filled(item, find));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, value)| Ok((name.clone(), filled(value, find)?)));
            Value::Object(fields.collect::<Result<Map<_, _>, FillError>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

/// Fills in a text. A placeholder alone keeps the type of its value; otherwise it becomes text.
fn filled_text(
    text: &str,
    find: &impl Fn(&str) -> Result<Value, FillError>,
) -> Result<Value, FillError> {
    let parts = parts(text).unwrap_or_default();
    if let [Part::Place(place)] = parts.as_slice() {
        return find(place);
    }
    let mut whole = String::new();
    for part in parts {
        match part {
            Part::Text(text) => whole.push_str(text),
            Part::Place(place) => match find(place)? {
                Value::String(text) => whole.push_str(&text),
                other => whole.push_str(&other.to_string()),
            },
        }
    }
    Ok(Value::String(whole))
}

fn parts(text: &str) -> Result<Vec<Part<'_>>, TemplateError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPENS) {
        let bad = || TemplateError::BadPlace { given: text.chars().take(64).collect() };
        let (place, behind) = after.split_once(CLOSES).ok_or_else(bad)?;
        if !place.starts_with('/') || place.contains(['{', '}']) {
            return Err(bad());
        }
        if !before.is_empty() {
            parts.push(Part::Text(before));
        }
        parts.push(Part::Place(place));
        rest = behind;
    }
    if !rest.is_empty() || parts.is_empty() {
        parts.push(Part::Text(rest));
    }
    Ok(parts)
}

fn places(parts: &[Part<'_>]) -> usize {
    parts.iter().filter(|part| matches!(part, Part::Place(_))).count()
}

fn count(value: &Value) -> Result<usize, TemplateError> {
    match value {
        Value::String(text) => Ok(places(&parts(text)?)),
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => {
            let names = fields.keys().map(|name| match places(&parts(name)?) {
                0 => Ok(0),
                _ => Err(TemplateError::BadPlace { given: name.chars().take(64).collect() }),
            });
            names.chain(fields.values().map(count)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn template() -> Template {
        Template::new(json!({
            "title": "Restart {{/host}} after {{/alerts/0/name}}", "type": "host.restart",
            "parameters": { "host": "{{/host}}", "room": "{{/room}}", "fixed": 7 },
            "resources": [{ "resource": "host:{{/host}}", "mode": "exclusive" }],
        }))
        .unwrap()
    }

    #[test]
    fn inbound_template_fills_only_its_placeholders() {
        let event = json!({ "host": "web-1", "room": 3, "alerts": [{ "name": "disk" }], "x": 1 });
        assert_eq!(
            template().fill(&event),
            Ok(json!({
                "title": "Restart web-1 after disk", "type": "host.restart",
                "parameters": { "host": "web-1", "room": 3, "fixed": 7 },
                "resources": [{ "resource": "host:web-1", "mode": "exclusive" }],
            }))
        );
        let place = |text: &str| text.to_owned();
        for (event, error) in [
            (json!({}), FillError::Missing { place: place("/host") }),
            (json!({ "host": ["a"] }), FillError::NotText { place: place("/host") }),
            (json!({ "host": {} }), FillError::NotText { place: place("/host") }),
            (
                json!({ "host": "x".repeat(INBOUND_TEXT_MAX_CHARS + 1) }),
                FillError::TooLong { place: place("/host") },
            ),
        ] {
            assert_eq!(template().fill(&event), Err(error));
        }
    }

    #[test]
    fn inbound_template_open_or_malformed_is_refused() {
        for (document, error) in [
            (json!([]), TemplateError::NotAnObject),
            (json!({ "title": "x" }), TemplateError::OpenType),
            (json!({ "type": "{{/type}}" }), TemplateError::OpenType),
            (json!({ "type": "a{{/type}}" }), TemplateError::OpenType),
            (json!({ "type": 7 }), TemplateError::OpenType),
        ] {
            assert_eq!(Template::new(document), Err(error));
        }
        for bad in ["{{host}}", "{{/host", "{{}}", "{{/a{{/b}}}}"] {
            let document = json!({ "type": "t", "title": bad });
            let refused = Template::new(document).unwrap_err();
            assert!(matches!(refused, TemplateError::BadPlace { .. }), "{bad}: {refused}");
        }
        let named = json!({ "type": "t", "parameters": { "{{/a}}": 1 } });
        assert!(matches!(Template::new(named), Err(TemplateError::BadPlace { .. })));
        let many = json!({ "type": "t", "title": "{{/a}}".repeat(INBOUND_PLACES_MAX + 1) });
        assert_eq!(Template::new(many), Err(TemplateError::TooManyPlaces));
        let large = json!({ "type": "t", "title": "x".repeat(INBOUND_TEMPLATE_MAX_BYTES) });
        assert_eq!(Template::new(large), Err(TemplateError::TooLarge));
    }

    proptest! {
        #[test]
        fn inbound_template_never_expands_filled_values(text in "\\PC{0,40}") {
            let event = json!({ "host": text, "room": 1, "alerts": [{ "name": text }] });
            let filled = template().fill(&event).unwrap();
            prop_assert_eq!(&filled["parameters"]["host"], &json!(text));
            prop_assert_eq!(&filled["type"], "host.restart");
            let title = format!("Restart {text} after {text}");
            prop_assert_eq!(filled["title"].as_str(), Some(title.as_str()));
        }
    }
}
