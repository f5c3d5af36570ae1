//! Previews SQL: it is executed on a preview target and rolled back, so that its effect is observed
//! and not merely declared. The author names a target; its address, its login and the tenants that
//! may use it come from the server's settings.

use std::collections::BTreeMap;

use ade_core::actor::Actor;
use ade_core::change::{
    AffectedRows, Change, ChangeKind, Effect, PreviewVersions, Report, StrictError, StrictValue,
};
use ade_core::ids::TenantId;
use ade_core::limits::{CHANGE_SUMMARY_MAX_BYTES, EFFECT_NOTE_MAX_BYTES};
use ade_core::resource::ResourceRef;
use ade_store::preview::{
    self, Action, Limits, ObjectChange, RowCounts, ScriptPreview, ScriptPreviewError, TargetKind,
};
use ade_store::tenants::{self, TenantIdentity};
use ade_store::{Pool, TenantLock, Tx};
use serde::Deserialize;
use serde_json::Value;

use super::sql_target::PreviewTarget;
use super::{Executor, Preview, PreviewError, Previewing, Proposal, observed, protocol};

/// The resource kind of a target.
const DATABASE: &str = "database";

/// The name of this executor.
const NAME: &str = "sql_preview";

/// Previews SQL on the targets of the settings.
#[derive(Debug)]
pub struct SqlPreview {
    targets: BTreeMap<String, PreviewTarget>,
    /// The server's own database, which stores the tenants.
    pool: Pool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// The name of the target in the server's settings.
    target: String,
    /// One or more statements.
    sql: String,
}

impl SqlPreview {
    pub fn new(targets: BTreeMap<String, PreviewTarget>, pool: Pool) -> Self {
        Self { targets, pool }
    }

    /// Returns the target of this name, if the tenant may use it. The response for a target of
    /// another tenant is the same as for an unknown target; only the log distinguishes them.
    async fn target(&self, tenant: TenantId, name: &str) -> Result<&PreviewTarget, PreviewError> {
        let identity = self.identity(tenant).await?;
        match self.targets.get(name) {
            Some(target) if target.serves(&identity) => return Ok(target),
            Some(_) => tracing::warn!(
                %tenant,
                tenant_name = %identity.name,
                preview_target = name,
                "preview refused: the settings do not bind the target to the tenant"
            ),
            None => {}
        }
        let problem = format!("no preview target named `{name}` is available");
        Err(PreviewError::invalid("parameters.target", problem))
    }

    /// Returns the target that the proposal names, if this tenant may use it.
    fn named(
        &self,
        tenant: &TenantIdentity,
        proposal: &Proposal,
    ) -> Option<(String, &PreviewTarget)> {
        let Parameters { target, .. } = parameters(proposal).ok()?;
        let known = self.targets.get(&target).filter(|known| known.serves(tenant))?;
        Some((target, known))
    }

    /// Reads the tenant's identity for every preview, so that a newly created tenant counts in
    /// all processes at once.
    async fn identity(&self, tenant: TenantId) -> Result<TenantIdentity, PreviewError> {
        let read = async {
            let mut tx =
                Tx::begin(&self.pool, tenant, Actor::system(NAME), TenantLock::None).await?;
            let identity = tenants::identity(&mut tx).await?;
            tx.roll_back().await;
            Ok::<_, ade_store::StoreError>(identity)
        };
        let problem = match read.await {
            Ok(Some(identity)) => return Ok(identity),
            Ok(None) => "the tenant does not exist".to_owned(),
            Err(error) => error.to_string(),
        };
        tracing::error!(%tenant, problem, "preview failed: the tenant could not be read");
        Err(PreviewError::Unavailable { problem: "the tenant could not be read".to_owned() })
    }

    async fn observe(
        &self,
        tenant: TenantId,
        proposal: &Proposal,
    ) -> Result<Preview, PreviewError> {
        protocol::require_no_plan(proposal)?;
        let Parameters { target, sql } = parameters(proposal)?;
        let database = self.target(tenant, &target).await?;
        let resource = ResourceRef::new(DATABASE, &target)
            .map_err(|error| PreviewError::invalid("parameters.target", error))?;
        if !proposal.resources.contains_key(&resource) {
            let problem =
                format!("the statements touch {resource}: add it to the task's resources");
            return Err(PreviewError::invalid("resources", problem));
        }
        let (url, kind) = (database.url(), database.kind());
        let limits = Limits::default();
        let seen = preview::preview_script(url, kind, &sql, &limits).await.map_err(refused)?;
        let versions = versions(&resource, &seen);
        let is_opaque = !seen.opaque.is_empty();
        if is_opaque {
            metrics::counter!("ade_previews_opaque_total").increment(1);
        }
        let report = report(&resource, seen)
            .map_err(|error| PreviewError::invalid("parameters.sql", error))?;
        // What an opaque script shows in a preview proves nothing about its next execution.
        let effect = if is_opaque { Effect::declared(report)? } else { observed(report)? };
        Ok(Preview { effect, versions })
    }
}

impl Executor for SqlPreview {
    fn name(&self) -> &'static str {
        NAME
    }

    fn preview_target(&self, tenant: &TenantIdentity, proposal: &Proposal) -> Option<String> {
        let (name, _) = self.named(tenant, proposal)?;
        Some(format!("{DATABASE}:{name}"))
    }

    fn executes_parameters(&self) -> bool {
        true
    }

    fn live_resource(&self, tenant: &TenantIdentity, proposal: &Proposal) -> Option<ResourceRef> {
        let (name, target) = self.named(tenant, proposal)?;
        ResourceRef::new(DATABASE, &name).ok().filter(|_| target.kind() == TargetKind::Live)
    }

    fn preview<'a>(&'a self, tenant: TenantId, proposal: &'a Proposal) -> Previewing<'a> {
        Box::pin(self.observe(tenant, proposal))
    }
}

fn parameters(proposal: &Proposal) -> Result<Parameters, PreviewError> {
    let value = serde_json::to_value(&proposal.parameters);
    value
        .and_then(serde_json::from_value)
        .map_err(|error| PreviewError::invalid("parameters", error))
}

/// Converts the error without the database's address and login, which are only logged.
fn refused(error: ScriptPreviewError) -> PreviewError {
    match error {
        ScriptPreviewError::TooLong { .. } => PreviewError::invalid("parameters.sql", error),
        ScriptPreviewError::Deadline | ScriptPreviewError::Busy => {
            PreviewError::Unavailable { problem: error.to_string() }
        }
        ScriptPreviewError::Unfit { .. }
        | ScriptPreviewError::NotCounting
        | ScriptPreviewError::TooManyObjects
        | ScriptPreviewError::Unreachable(_) => {
            tracing::error!(%error, "connection to the preview database failed");
            PreviewError::Unavailable { problem: "the preview database is unavailable".to_owned() }
        }
    }
}

/// Returns one version for all touched tables: if any of them changes, the preview is outdated.
fn versions(resource: &ResourceRef, seen: &ScriptPreview) -> PreviewVersions {
    let tables: Vec<String> =
        seen.versions.iter().map(|(table, version)| format!("{table}@{version}")).collect();
    if tables.is_empty() {
        return PreviewVersions::default();
    }
    let digest = ade_core::change::Digest::of(tables.join("\n").as_bytes());
    PreviewVersions(BTreeMap::from([(resource.clone(), digest.to_string())]))
}

fn report(resource: &ResourceRef, seen: ScriptPreview) -> Result<Report, StrictError> {
    let mut changes = Vec::new();
    for object in seen.objects {
        changes.push(object_change(resource, object)?);
    }
    for rows in seen.rows {
        changes.extend(row_changes(resource, &rows));
    }
    let errors = seen.errors.iter().map(|fault| {
        let place = fault.position.map_or(String::new(), |at| format!(" at character {at}"));
        cut(format!("SQLSTATE {}{place}: {}", fault.sqlstate, fault.description))
    });
    // A failed script has no effect that could be unproven.
    let opaque = seen.opaque.iter().filter(|_| seen.errors.is_empty());
    let warnings = opaque.map(|reason| {
        cut(format!("the script may do something else when it is applied: {reason}"))
    });
    let warnings = warnings.collect();
    Ok(Report { changes, warnings, errors: errors.collect() })
}

fn object_change(resource: &ResourceRef, object: ObjectChange) -> Result<Change, StrictError> {
    let (action, verb) = match object.action {
        Action::Created => (ChangeKind::Add, "create"),
        Action::Changed => (ChangeKind::Change, "change"),
        Action::Dropped => (ChangeKind::Remove, "drop"),
    };
    let is_lost = object.kind == "table" && object.action == Action::Dropped;
    let strict = |text: Option<String>| {
        text.map(|text| StrictValue::from_json(&Value::String(text))).transpose()
    };
    Ok(Change {
        resource: resource.clone(),
        action,
        irreversible: object.irreversible,
        summary: shortened(format!("{verb} {} {}", object.kind, object.name)),
        rows: is_lost.then(|| AffectedRows::all(object.rows)),
        before: strict(object.before)?,
        after: strict(object.after)?,
    })
}

fn row_changes(resource: &ResourceRef, rows: &RowCounts) -> Vec<Change> {
    let counts = [
        (ChangeKind::Add, "insert", rows.inserted, false),
        (ChangeKind::Change, "update", rows.updated, true),
        (ChangeKind::Remove, "delete", rows.deleted, true),
    ];
    let mut changes = Vec::new();
    for (action, verb, count, irreversible) in counts.into_iter().filter(|row| row.2 > 0) {
        changes.push(Change {
            resource: resource.clone(),
            action,
            irreversible,
            summary: shortened(format!("{verb} {count} row(s) of {}", rows.table)),
            rows: Some(AffectedRows::some(count, rows.before)),
            before: None,
            after: None,
        });
    }
    if rows.emptied {
        changes.push(Change {
            resource: resource.clone(),
            action: ChangeKind::Remove,
            irreversible: true,
            summary: shortened(format!("empty {}", rows.table)),
            rows: Some(AffectedRows::all(rows.before)),
            before: None,
            after: None,
        });
    }
    changes
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
