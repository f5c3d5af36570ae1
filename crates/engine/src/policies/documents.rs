//! Policies are proposed by one admin, published by another, and rolled back by proposing an old
//! version again. Publishing takes the exclusive tenant lock, so that no decision uses outdated
//! rules. Whether a second admin is needed is decided in `rule_changes`.

use ade_api::policies::{
    FieldChange, NewDraft, PolicyDraft, PolicyHistory, PolicyRollback, PolicyVersionShown,
};
use ade_core::access::Action;
use ade_core::change::Digest;
use ade_core::event::EventKind;
use ade_core::ids::{PolicyDraftId, PolicyId};
use ade_core::policy::{Document, Policy, PolicyRef, difference};
use ade_core::step_up::ConfirmationSubject;
use ade_store::policies::{self, Published};
use ade_store::policy_drafts::{self, Draft, DraftOutcome};
use ade_store::tenant_config::TenantConfig;
use ade_store::{Tx, outbox, pending_changes};
use serde_json::json;
use uuid::Uuid;

use super::publication::{compare_draft, next_action, publication};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, Applied, AuditAction};
use crate::command::permission::{look, person};
use crate::command::present::value;
use crate::command::{Paged, Reply, Span, check_reason, paged};
use crate::error::Error;

pub async fn draft(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewDraft,
) -> Result<Reply, Error> {
    let document = parse(&new.document)?;
    check_reason("reason", new.reason.as_deref())?;
    let mut act = AdminCommand::begin(app, caller, attempt, Some(Action::DraftPolicy)).await?;
    let known = named(&mut act.tx, &document.name).await?;
    let (policy, base_version) = match &known {
        Some(known) => (known.policy.id, known.policy.version),
        None => (PolicyId::from_uuid(Uuid::now_v7()), 0),
    };
    propose(act, caller, policy, base_version, document, new.reason).await
}

/// Proposes an earlier version again. It needs a second admin like any other change.
pub async fn rollback(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    policy: PolicyId,
    rollback: PolicyRollback,
) -> Result<Reply, Error> {
    check_reason("reason", Some(&rollback.reason))?;
    let mut act = AdminCommand::begin(app, caller, attempt, Some(Action::DraftPolicy)).await?;
    let wanted = PolicyRef { id: policy, version: rollback.version };
    let old = policies::versions(&mut act.tx, &[wanted]).await?.pop();
    let old = old.ok_or(Error::NotFound { what: "policy version" })?;
    let current = policies::history(&mut act.tx, policy).await?;
    let base_version = current.first().map_or(0, |published| published.policy.version);
    if base_version == old.version {
        return Err(Error::invalid("version", "it is the active version"));
    }
    let reason = Some(rollback.reason);
    propose(act, caller, policy, base_version, old.document, reason).await
}

async fn propose(
    mut act: AdminCommand<'_>,
    caller: &Caller,
    policy: PolicyId,
    base_version: u32,
    document: Document,
    reason: Option<String>,
) -> Result<Reply, Error> {
    let draft = Draft {
        id: PolicyDraftId::from_uuid(Uuid::now_v7()),
        policy,
        base_version,
        document,
        reason,
        proposed_by: person(caller)?,
        proposed_at: act.tx.now(),
        closed: None,
    };
    policy_drafts::insert(&mut act.tx, &draft).await?;
    let shown = shown_draft(&mut act.tx, &act.book, &draft).await?;
    act.finish(AuditAction { object: draft.id.to_string(), action: "policy.draft" }, 201, &shown)
        .await
}

/// Refuses a draft that is closed, waits, or is based on a version that is not in force any more.
/// Returns the digest of its document.
pub(crate) async fn require_publishable(
    act: &mut AdminCommand<'_>,
    draft: &Draft,
) -> Result<Digest, Error> {
    require_open(draft)?;
    if pending_changes::of_draft(&mut act.tx, draft.id).await?.is_some() {
        let why = "it already waits as a pending change: see `ade changes list`";
        return Err(Error::Closed { what: "draft", why });
    }
    require_current(&mut act.tx, draft).await?;
    let document = draft.document.to_json().map_err(|error| Error::invalid("document", error))?;
    Ok(Digest::of(document.as_bytes()))
}

/// Returns what a passkey confirms when a draft is published.
pub(crate) fn publication_of(id: PolicyDraftId, digest: Digest) -> ConfirmationSubject {
    ConfirmationSubject::publish(id, digest)
}

/// Publishes a draft that has waited as a pending change.
pub(crate) async fn publish_waiting(
    act: &mut AdminCommand<'_>,
    id: PolicyDraftId,
) -> Result<Applied, Error> {
    let draft = find(&mut act.tx, id).await?;
    require_open(&draft)?;
    require_current(&mut act.tx, &draft).await?;
    publish(act, draft).await
}

/// Publishes a draft over the version that it is based on.
pub(crate) async fn publish(act: &mut AdminCommand<'_>, draft: Draft) -> Result<Applied, Error> {
    let directory = &act.book.directory;
    let confirmer = act.person().filter(|person| !directory.same_human(draft.proposed_by, *person));
    let history = policies::history(&mut act.tx, draft.policy).await?;
    let findings = compare_draft(&act.book, history.first(), &draft);
    let policy =
        Policy { id: draft.policy, version: draft.base_version + 1, document: draft.document };
    policies::insert_published(&mut act.tx, &policy, draft.proposed_by, confirmer).await?;
    let closer = confirmer.unwrap_or(draft.proposed_by);
    policy_drafts::close(&mut act.tx, draft.id, DraftOutcome::Published, closer).await?;
    act.doubt_approved().await?;
    outbox::append(&mut act.tx, &[published(&policy)]).await?;
    let shown = policies::history(&mut act.tx, policy.id).await?.into_iter().next();
    let shown = shown_version(&shown.ok_or(Error::NotFound { what: "policy" })?)?;
    let object = policy.reference().to_string();
    let action = AuditAction { object, action: "policy.publish" };
    Ok(Applied::new(action, 200, &shown)?.because(draft.reason).with_findings(findings))
}

fn published(policy: &Policy) -> outbox::OutboxEvent {
    let Policy { id, version, document } = policy;
    outbox::OutboxEvent {
        kind: EventKind::PolicyPublished,
        object: id.to_string(),
        version: Some(i64::from(*version)),
        payload: json!({ "name": document.name, "enabled": document.enabled }),
    }
}

/// Withdraws a draft, by the admin who proposed it or by another admin.
pub async fn withdraw(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: PolicyDraftId,
) -> Result<Reply, Error> {
    let mut act = AdminCommand::begin(app, caller, attempt, Some(Action::DraftPolicy)).await?;
    let draft = find(&mut act.tx, id).await?;
    require_open(&draft)?;
    policy_drafts::close(&mut act.tx, id, DraftOutcome::Withdrawn, person(caller)?).await?;
    let draft = find(&mut act.tx, id).await?;
    let shown = shown_draft(&mut act.tx, &act.book, &draft).await?;
    act.finish(AuditAction { object: id.to_string(), action: "policy.withdraw" }, 200, &shown).await
}

pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<PolicyId>,
) -> Result<Paged<PolicyVersionShown, PolicyId>, Error> {
    let mut tx = look(app, caller).await?;
    let found = policies::list(&mut tx, span.after, span.limit.saturating_add(1)).await?;
    let items = found.iter().map(shown_version).collect::<Result<Vec<_>, Error>>()?;
    Ok(paged(items, span.limit, |shown: &PolicyVersionShown| shown.policy_id))
}

pub async fn history(app: &App, caller: &Caller, policy: PolicyId) -> Result<PolicyHistory, Error> {
    let mut tx = look(app, caller).await?;
    let found = policies::history(&mut tx, policy).await?;
    // A policy that was only proposed has an id but no version yet.
    if found.is_empty() && !policy_drafts::has_open(&mut tx, policy).await? {
        return Err(Error::NotFound { what: "policy" });
    }
    Ok(PolicyHistory { items: found.iter().map(shown_version).collect::<Result<_, Error>>()? })
}

pub async fn drafts(
    app: &App,
    caller: &Caller,
    span: Span<PolicyDraftId>,
) -> Result<Paged<PolicyDraft, PolicyDraftId>, Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    let limit = span.limit.saturating_add(1);
    let found = policy_drafts::list_open(&mut tx, span.after, limit).await?;
    let page = paged(found, span.limit, |draft: &Draft| draft.id);
    let mut items = Vec::with_capacity(page.items.len());
    for draft in &page.items {
        items.push(shown_draft(&mut tx, &book, draft).await?);
    }
    Ok(Paged { items, next: page.next })
}

pub async fn get_draft(
    app: &App,
    caller: &Caller,
    id: PolicyDraftId,
) -> Result<PolicyDraft, Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    let draft = find(&mut tx, id).await?;
    shown_draft(&mut tx, &book, &draft).await
}

/// Reads a document. The error lists everything that is wrong with it, each with its place.
pub(crate) fn parse(text: &str) -> Result<Document, Error> {
    Document::parse_yaml(text).map_err(|errors| Error::Document { errors: errors.errors })
}

/// Returns the policies in force, with this document in place of the one with its name.
pub(crate) fn with_document(book: &TenantConfig, document: Document) -> Vec<Policy> {
    let known = book.policies.iter().find(|policy| policy.document.name == document.name);
    let (id, version) = known.map_or((PolicyId::from_u128(0), 1), |policy| {
        (policy.id, policy.version.saturating_add(1))
    });
    let others = book.policies.iter().filter(|policy| policy.id != id).cloned();
    let mut policies: Vec<Policy> = others.collect();
    if document.enabled {
        policies.push(book.effective(Policy { id, version, document }));
    }
    policies
}

pub(crate) async fn find(tx: &mut Tx, id: PolicyDraftId) -> Result<Draft, Error> {
    policy_drafts::get(tx, id).await?.ok_or(Error::NotFound { what: "draft" })
}

fn require_open(draft: &Draft) -> Result<(), Error> {
    if draft.closed.is_some() {
        return Err(Error::Closed { what: "draft", why: "it was published or withdrawn" });
    }
    Ok(())
}

/// Refuses a draft that would undo another version, or whose name another policy has.
async fn require_current(tx: &mut Tx, draft: &Draft) -> Result<(), Error> {
    let history = policies::history(tx, draft.policy).await?;
    let current = history.first().map_or(0, |published| published.policy.version);
    if current != draft.base_version {
        return Err(Error::Closed {
            what: "draft",
            why: "another version has been published since; propose the change again",
        });
    }
    require_free_name(tx, draft).await
}

async fn named(tx: &mut Tx, name: &str) -> Result<Option<Published>, Error> {
    Ok(policies::by_name(tx, name).await?)
}

/// Refuses a draft that renames its policy to a name that is in use.
async fn require_free_name(tx: &mut Tx, draft: &Draft) -> Result<(), Error> {
    let name = &draft.document.name;
    match named(tx, name).await? {
        Some(other) if other.policy.id != draft.policy => {
            Err(Error::Taken { what: "policy", name: name.clone() })
        }
        Some(_) | None => Ok(()),
    }
}

fn yaml(document: &Document) -> Result<String, Error> {
    document.to_yaml().map_err(|error| Error::invalid("document", error))
}

fn shown_version(published: &Published) -> Result<PolicyVersionShown, Error> {
    let Policy { id, version, document } = &published.policy;
    Ok(PolicyVersionShown {
        policy_id: *id,
        version: *version,
        name: document.name.clone(),
        enabled: document.enabled,
        document: value(document)?,
        yaml: yaml(document)?,
        proposed_by: published.proposed_by,
        confirmed_by: published.confirmed_by,
        published_at: published.published_at,
    })
}

async fn shown_draft(
    tx: &mut Tx,
    book: &TenantConfig,
    draft: &Draft,
) -> Result<PolicyDraft, Error> {
    let history = policies::history(tx, draft.policy).await?;
    let current = history.first();
    let version = current.map_or(0, |published| published.policy.version);
    let is_stale = draft.closed.is_none() && version != draft.base_version;
    let changes = difference(current.map(|known| &known.policy.document), &draft.document);
    let changes = changes.into_iter().map(|change| FieldChange {
        path: change.path,
        before: change.before,
        after: change.after,
    });
    let publication = publication(tx, book, current, draft).await?;
    Ok(PolicyDraft {
        id: draft.id,
        policy_id: draft.policy,
        base_version: draft.base_version,
        is_stale,
        name: draft.document.name.clone(),
        document: value(&draft.document)?,
        yaml: yaml(&draft.document)?,
        changes: changes.collect(),
        reason: draft.reason.clone(),
        proposed_by: draft.proposed_by,
        proposed_at: draft.proposed_at,
        publication,
        outcome: draft.closed.map(|closed| closed.outcome.as_str().to_owned()),
        next_action: next_action(draft, is_stale, publication),
    })
}
