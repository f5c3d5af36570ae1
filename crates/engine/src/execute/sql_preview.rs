//! Statements tried out on the database they are meant for and taken back: what they touched is
//! observed, not stated. The author names a target that the server knows; where it is and who
//! logs in there is the server's to say.

use std::collections::BTreeMap;
use std::fmt;

use ade_core::change::{
    Change, ChangeKind, Effect, PreviewVersions, Report, StrictError, StrictValue,
};
use ade_core::limits::{CHANGE_SUMMARY_MAX_BYTES, EFFECT_NOTE_MAX_BYTES};
use ade_core::resource::ResourceRef;
use ade_store::rehearsal::{
    self, Action, Limits, ObjectChange, Rehearsal, RehearsalError, RowCounts,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Executor, Preview, PreviewError, Previewing, Proposal, protocol};

/// The kind of the resource that a target is.
const DATABASE: &str = "database";

/// The address of a target; it may hold a password.
#[derive(Clone)]
pub struct Target(pub String);

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Target(…)")
    }
}

#[derive(Debug)]
pub struct SqlPreview {
    targets: BTreeMap<String, Target>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// A database by the name the server knows it under.
    target: String,
    /// One or more statements.
    sql: String,
}

impl SqlPreview {
    pub fn new(targets: BTreeMap<String, Target>) -> Self {
        Self { targets }
    }

    async fn observe(&self, proposal: &Proposal) -> Result<Preview, PreviewError> {
        protocol::require_no_plan(proposal)?;
        let Parameters { target, sql } = parameters(proposal)?;
        let Some(Target(url)) = self.targets.get(&target) else {
            let problem = format!("`{target}` is no database that this server previews on");
            return Err(PreviewError::invalid("parameters.target", problem));
        };
        let resource = ResourceRef::new(DATABASE, &target)
            .map_err(|error| PreviewError::invalid("parameters.target", error))?;
        if !proposal.resources.contains_key(&resource) {
            let problem = format!("the statements touch {resource}: name it");
            return Err(PreviewError::invalid("resources", problem));
        }
        let seen = rehearsal::rehearse(url, &sql, &Limits::default()).await.map_err(refused)?;
        let versions = versions(&resource, &seen);
        let report = report(&resource, seen)
            .map_err(|error| PreviewError::invalid("parameters.sql", error))?;
        Ok(Preview { effect: Effect::observed(report)?, versions })
    }
}

impl Executor for SqlPreview {
    fn name(&self) -> &'static str {
        "sql_preview"
    }

    fn preview<'a>(&'a self, proposal: &'a Proposal) -> Previewing<'a> {
        Box::pin(self.observe(proposal))
    }
}

fn parameters(proposal: &Proposal) -> Result<Parameters, PreviewError> {
    let value = serde_json::to_value(&proposal.parameters);
    value
        .and_then(serde_json::from_value)
        .map_err(|error| PreviewError::invalid("parameters", error))
}

/// Where the database is and who logs in there stays in the log.
fn refused(error: RehearsalError) -> PreviewError {
    match error {
        RehearsalError::TooLong { .. } => PreviewError::invalid("parameters.sql", error),
        RehearsalError::Deadline | RehearsalError::Busy => {
            PreviewError::Unavailable { problem: error.to_string() }
        }
        RehearsalError::Unfit { .. }
        | RehearsalError::NotCounting
        | RehearsalError::TooManyObjects
        | RehearsalError::Unreachable(_) => {
            tracing::error!(%error, "a preview target cannot be used");
            PreviewError::Unavailable { problem: "the database cannot be used now".to_owned() }
        }
    }
}

/// One word for all touched tables: whichever moves, the preview is out of date.
fn versions(resource: &ResourceRef, seen: &Rehearsal) -> PreviewVersions {
    let tables: Vec<String> =
        seen.versions.iter().map(|(table, version)| format!("{table}@{version}")).collect();
    if tables.is_empty() {
        return PreviewVersions::default();
    }
    let digest = ade_core::change::Digest::of(tables.join("\n").as_bytes());
    PreviewVersions(BTreeMap::from([(resource.clone(), digest.to_string())]))
}

fn report(resource: &ResourceRef, seen: Rehearsal) -> Result<Report, StrictError> {
    let mut changes = Vec::new();
    for object in seen.objects {
        changes.push(object_change(resource, object)?);
    }
    for rows in seen.rows {
        changes.extend(row_changes(resource, &rows)?);
    }
    let errors = seen.errors.iter().map(|fault| {
        let place = fault.position.map_or(String::new(), |at| format!(" at character {at}"));
        cut(format!("{}{place} (SQLSTATE {})", fault.message, fault.sqlstate))
    });
    let warnings = seen.warnings.into_iter().map(cut).collect();
    Ok(Report { changes, warnings, errors: errors.collect() })
}

fn object_change(resource: &ResourceRef, object: ObjectChange) -> Result<Change, StrictError> {
    let (action, verb) = match object.action {
        Action::Created => (ChangeKind::Add, "create"),
        Action::Changed => (ChangeKind::Change, "change"),
        Action::Dropped => (ChangeKind::Remove, "drop"),
    };
    let strict = |text: Option<String>| {
        text.map(|text| StrictValue::from_json(&Value::String(text))).transpose()
    };
    Ok(Change {
        resource: resource.clone(),
        action,
        irreversible: object.irreversible,
        summary: shortened(format!("{verb} {} {}", object.kind, object.name)),
        before: strict(object.before)?,
        after: strict(object.after)?,
    })
}

fn row_changes(resource: &ResourceRef, rows: &RowCounts) -> Result<Vec<Change>, StrictError> {
    let counts = [
        (ChangeKind::Add, "insert", rows.inserted, false),
        (ChangeKind::Change, "update", rows.updated, false),
        (ChangeKind::Remove, "delete", rows.deleted, true),
    ];
    let mut changes = Vec::new();
    for (action, verb, count, irreversible) in counts.into_iter().filter(|row| row.2 > 0) {
        let after = match action {
            ChangeKind::Remove => None,
            ChangeKind::Add | ChangeKind::Change => {
                Some(StrictValue::from_json(&json!({ "rows": count }))?)
            }
        };
        changes.push(Change {
            resource: resource.clone(),
            action,
            irreversible,
            summary: shortened(format!("{verb} {count} row(s) of {}", rows.table)),
            before: None,
            after,
        });
    }
    if rows.emptied {
        changes.push(Change {
            resource: resource.clone(),
            action: ChangeKind::Remove,
            irreversible: true,
            summary: shortened(format!("empty {}", rows.table)),
            before: None,
            after: None,
        });
    }
    Ok(changes)
}

fn shortened(text: String) -> String {
    within(text, CHANGE_SUMMARY_MAX_BYTES)
}

fn cut(text: String) -> String {
    within(text, EFFECT_NOTE_MAX_BYTES)
}

fn within(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes));
    text
}
