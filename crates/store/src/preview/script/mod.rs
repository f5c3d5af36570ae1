//! Classifies scripts with PostgreSQL's own grammar. A script is plain if every statement,
//! expression and function in it is on a list; otherwise it is opaque: it may hide an effect from
//! its preview or have one that survives a rollback. Nothing here reads a database.

mod functions;
mod rules;
mod walk;

use std::collections::BTreeMap;
use std::fmt;

/// A script that was parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// Why the script is opaque, in the order of the script; empty if it is plain.
    pub reasons: Vec<OpaqueReason>,
    /// The names that the search path of the database resolves.
    pub names: Names,
}

/// Unqualified names, each with its first offset in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    pub functions: BTreeMap<String, usize>,
    pub operators: BTreeMap<String, usize>,
    /// Columns, which PostgreSQL also resolves to functions of one row.
    pub fields: BTreeMap<String, usize>,
}

/// One part of a script that makes it opaque.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpaqueReason {
    pub kind: OpaqueKind,
    /// What it is: keywords of the statement, or a name as PostgreSQL resolves it.
    pub name: String,
    /// The position in the script, in characters from 1.
    pub position: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OpaqueKind {
    /// A statement or expression that is not on the list.
    Statement,
    /// A function that is not on the list.
    Function,
    /// A result that differs between executions decides what the script does.
    Condition,
    /// A relation that describes the server or the session.
    Catalogue,
    /// A name of the list that the search path resolves to something else.
    Shadowed,
}

impl fmt::Display for OpaqueReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, position } = self;
        match kind {
            OpaqueKind::Statement => write!(f, "{name} is not a plain statement"),
            OpaqueKind::Function => write!(f, "the function `{name}` is not on the list"),
            OpaqueKind::Condition => {
                write!(f, "`{name}` differs between executions and is more than a stored value")
            }
            OpaqueKind::Catalogue => write!(f, "`{name}` may describe the server or the session"),
            OpaqueKind::Shadowed => {
                write!(f, "`{name}` may call a function outside of `pg_catalog`")
            }
        }?;
        write!(f, " (at character {position})")
    }
}

/// The script does not follow the grammar, or is nested too deeply to be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unparsable;

/// Parses and classifies a script. It may take seconds for the largest script, so it belongs on a
/// thread that may block.
pub fn classify(script: &str) -> Result<Script, Unparsable> {
    let parsed = pg_query::parse(script, 0).map_err(|_| Unparsable)?;
    let mut walk = walk::Walk::new(script);
    for statement in &parsed.protobuf.stmts {
        walk.statement(statement)?;
    }
    Ok(walk.script())
}

/// Converts an offset in bytes to a position in characters from 1.
pub(super) fn position(script: &str, offset: usize) -> usize {
    script.get(..offset).unwrap_or(script).chars().count() + 1
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
