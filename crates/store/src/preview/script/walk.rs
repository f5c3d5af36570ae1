//! Walks the parse tree of a script. The tree is read as JSON: in this form every node names its
//! kind, so that no kind can be forgotten, including those of later versions of PostgreSQL.

use ade_core::limits::SQL_PREVIEW_REASONS_MAX;
use pg_query::protobuf::{ConstrType, ObjectType, RawStmt, SqlValueFunctionOp};
use serde_json::{Map, Value};

use super::{Names, OpaqueKind, OpaqueReason, Script, Unparsable, functions, position, rules};

/// A string this long is text, even if it contains a word for a time.
const CLOCK_TEXT_MAX_BYTES: usize = 64;

pub(super) struct Walk<'a> {
    text: &'a str,
    reasons: Vec<OpaqueReason>,
    names: Names,
}

/// Where a node is in its statement.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The offset of the closest node that has one, in bytes.
    offset: usize,
    /// The result is stored and decides nothing.
    is_value: bool,
    /// The query of an INSERT.
    is_source: bool,
}

type Fields = Map<String, Value>;

impl<'a> Walk<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut names = Names::default();
        // JOIN, CASE, IN and BETWEEN use these operators without naming them.
        for operator in ["=", "<>", "<", ">", "<=", ">="] {
            names.operators.insert(operator.to_owned(), 0);
        }
        Self { text, reasons: Vec::new(), names }
    }

    pub fn script(mut self) -> Script {
        self.reasons.sort_by_key(|reason| reason.position);
        Script { reasons: self.reasons, names: self.names }
    }

    pub fn statement(&mut self, statement: &RawStmt) -> Result<(), Unparsable> {
        let start = usize::try_from(statement.stmt_location).unwrap_or_default();
        let rest = self.text.get(start..).unwrap_or_default();
        let offset = start + (rest.len() - rest.trim_start().len());
        let place = Place { offset, is_value: false, is_source: false };
        let tree = serde_json::to_value(&statement.stmt).map_err(|_| Unparsable)?;
        let name = node_of(&tree).map(|(name, _)| name);
        if name.is_some_and(|name| !rules::is_plain_statement(name)) {
            self.report(OpaqueKind::Statement, rules::keywords(name.unwrap_or_default()), place);
        } else {
            self.value(&tree, place);
        }
        Ok(())
    }

    fn report(&mut self, kind: OpaqueKind, name: &str, place: Place) {
        if self.reasons.len() < SQL_PREVIEW_REASONS_MAX {
            let position = position(self.text, place.offset);
            self.reasons.push(OpaqueReason { kind, name: name.to_owned(), position });
        }
    }

    fn value(&mut self, value: &Value, place: Place) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.value(item, place)),
            Value::Object(fields) => {
                if let Some((name, fields)) = node_of(value) {
                    return self.node(name, fields, place);
                }
                let place = located(fields, place);
                if fields.contains_key("relname") {
                    self.relation(fields, place);
                }
                fields.values().for_each(|field| self.value(field, place));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn node(&mut self, name: &str, fields: &Fields, place: Place) {
        let place = located(fields, place);
        let object = rules::object_field(name).map(|field| object_kind(fields, field));
        if !rules::is_plain_node(name)
            || object.is_some_and(|object| !rules::is_plain_object(name, object))
        {
            self.report(OpaqueKind::Statement, rules::keywords(name), place);
            return;
        }
        self.check(name, fields, place);
        for (key, field) in fields {
            self.value(field, within(name, key, fields, place));
        }
    }

    fn check(&mut self, name: &str, fields: &Fields, place: Place) {
        match name {
            "FuncCall" => self.function(fields, place),
            "AExpr" | "SubLink" => {
                let key = if name == "AExpr" { "name" } else { "oper_name" };
                self.operator(&texts(fields.get(key)), place);
            }
            "SortBy" => self.operator(&texts(fields.get("use_op")), place),
            "ColumnRef" => self.field(texts(fields.get("fields")).pop(), place),
            "AIndirection" => {
                for field in texts(fields.get("indirection")) {
                    self.field(Some(field), place);
                }
            }
            "RangeVar" => self.relation(fields, place),
            "SqlvalueFunction" => self.value_function(fields, place),
            "TypeCast" => self.cast(fields, place),
            "AConst" => self.constant(fields, place),
            _ => {}
        }
    }

    fn function(&mut self, fields: &Fields, place: Place) {
        let names = texts(fields.get("funcname"));
        let name = match names.as_slice() {
            [name] => {
                self.names.functions.entry((*name).to_owned()).or_insert(place.offset);
                *name
            }
            ["pg_catalog", name] => *name,
            _ => return self.report(OpaqueKind::Function, &names.join("."), place),
        };
        if functions::is_value_function(name) {
            if !place.is_value {
                self.report(OpaqueKind::Condition, name, place);
            }
        } else if !functions::is_plain_function(name) {
            self.report(OpaqueKind::Function, name, place);
        }
    }

    fn operator(&mut self, names: &[&str], place: Place) {
        match names {
            [] | ["pg_catalog", _] => {}
            [name] => {
                self.names.operators.entry((*name).to_owned()).or_insert(place.offset);
            }
            _ => self.report(OpaqueKind::Function, &names.join("."), place),
        }
    }

    fn field(&mut self, name: Option<&str>, place: Place) {
        if let Some(name) = name {
            self.names.fields.entry(name.to_owned()).or_insert(place.offset);
        }
    }

    fn relation(&mut self, fields: &Fields, place: Place) {
        let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
        let (schema, name) = (text("schemaname"), text("relname"));
        let is_system = |name: &str| name.starts_with("pg_") || name == "information_schema";
        if is_system(schema) || is_system(name) {
            self.report(OpaqueKind::Catalogue, name, place);
        }
    }

    fn value_function(&mut self, fields: &Fields, place: Place) {
        use SqlValueFunctionOp as Op;
        let number = fields.get("op").and_then(Value::as_i64).and_then(|op| i32::try_from(op).ok());
        let op = number.and_then(|op| Op::try_from(op).ok()).unwrap_or_default();
        match op {
            Op::SvfopCurrentDate
            | Op::SvfopCurrentTime
            | Op::SvfopCurrentTimeN
            | Op::SvfopCurrentTimestamp
            | Op::SvfopCurrentTimestampN
            | Op::SvfopLocaltime
            | Op::SvfopLocaltimeN
            | Op::SvfopLocaltimestamp
            | Op::SvfopLocaltimestampN => {
                if !place.is_value {
                    self.report(OpaqueKind::Condition, "current_timestamp", place);
                }
            }
            Op::SqlvalueFunctionOpUndefined
            | Op::SvfopCurrentRole
            | Op::SvfopCurrentUser
            | Op::SvfopUser
            | Op::SvfopSessionUser
            | Op::SvfopCurrentCatalog
            | Op::SvfopCurrentSchema => {
                self.report(OpaqueKind::Function, "current_user or similar", place);
            }
        }
    }

    /// A cast from a computed text to a date could hide a word such as `now`.
    fn cast(&mut self, fields: &Fields, place: Place) {
        let names = texts(fields.get("type_name").and_then(|name| name.get("names")));
        let name = names.last().copied().unwrap_or_default();
        let argument = fields.get("arg").and_then(node_of).map(|(name, _)| name);
        let is_direct = matches!(argument, Some("AConst" | "ColumnRef" | "TypeCast"));
        if !place.is_value && !is_direct && !functions::is_plain_type(name) {
            self.report(OpaqueKind::Condition, name, place);
        }
    }

    fn constant(&mut self, fields: &Fields, place: Place) {
        let text = fields.get("val").and_then(|value| value.get("Sval"));
        let text = text.and_then(|text| text.get("sval")).and_then(Value::as_str);
        let Some(text) = text.filter(|text| text.len() <= CLOCK_TEXT_MAX_BYTES) else { return };
        let lower = text.to_ascii_lowercase();
        let mut words = lower.split(|letter: char| !letter.is_ascii_alphabetic());
        if let Some(word) = words.find(|word| functions::is_clock_word(word))
            && !place.is_value
        {
            self.report(OpaqueKind::Condition, word, place);
        }
    }
}

/// Returns the place of a node. Many nodes say where they begin; unknown offsets are negative.
fn located(fields: &Fields, place: Place) -> Place {
    let own = fields.get("location").and_then(Value::as_u64);
    let own = own.and_then(|offset| usize::try_from(offset).ok());
    Place { offset: own.unwrap_or(place.offset), ..place }
}

/// Returns the place of a field. A value stays one only through nodes that cannot branch on it.
fn within(name: &str, key: &str, fields: &Fields, place: Place) -> Place {
    let is_default = |kind: ConstrType| {
        fields.get("contype").and_then(Value::as_i64) == Some(i64::from(kind as i32))
    };
    let begins = match (name, key) {
        ("UpdateStmt", "target_list") | ("AlterTableCmd", "def") => true,
        ("SelectStmt", "values_lists" | "target_list") => place.is_source,
        ("Constraint", "raw_expr") => is_default(ConstrType::ConstrDefault),
        _ => false,
    };
    let continues =
        matches!(name, "AExpr" | "CoalesceExpr" | "FuncCall" | "List" | "ResTarget" | "TypeCast");
    Place {
        offset: place.offset,
        is_value: begins || (continues && place.is_value),
        is_source: (name, key) == ("InsertStmt", "select_stmt"),
    }
}

/// Returns the kind and the fields of a node.
fn node_of(value: &Value) -> Option<(&str, &Fields)> {
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    let (name, fields) = fields.get("node")?.as_object()?.iter().next()?;
    Some((name, fields.as_object()?))
}

fn object_kind(fields: &Fields, key: &str) -> ObjectType {
    let number = fields.get(key).and_then(Value::as_i64).and_then(|kind| i32::try_from(kind).ok());
    number.and_then(|kind| ObjectType::try_from(kind).ok()).unwrap_or_default()
}

/// Returns the texts of a list of names.
fn texts(value: Option<&Value>) -> Vec<&str> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(text).collect()
}

fn text(item: &Value) -> Option<&str> {
    let (name, fields) = node_of(item)?;
    fields.get("sval").filter(|_| name == "String")?.as_str()
}
