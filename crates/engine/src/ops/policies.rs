//! Policies: proposed by one admin, published by another, rolled back by proposing an old version
//! anew. Publishing runs behind the closed gate, so that no decision passes on rules that are gone.

use ade_api::policies::{
    FieldChange, NewDraft, PolicyDraft, PolicyHistory, PolicyRollback, PolicyVersionShown,
};
use ade_core::access::{Action, Object};
use ade_core::change::Digest;
use ade_core::event::EventKind;
use ade_core::ids::{PolicyDraftId, PolicyId};
use ade_core::policy::{Document, Policy, PolicyRef, difference};
use ade_core::step_up::Subject;
use ade_store::policies::{self, Published};
use ade_store::policy_drafts::{self, Draft, Outcome};
use ade_store::rulebook::Rulebook;
use ade_store::{Tx, outbox};
use serde_json::json;
use uuid::Uuid;

use super::act::{Act, Begun, Deed, look, person};
use super::{Paged, Reply, Span, check_reason, paged};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;
use crate::present::value;

pub async fn draft(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    new: NewDraft,
) -> Result<Reply, Error> {
    let document = parse(&new.document)?;
    check_reason("reason", new.reason.as_deref())?;
    let mut act = match Act::begin(app, caller, attempt, Some(Action::DraftPolicy)).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let known = named(&mut act.tx, &document.name).await?;
    let (policy, base_version) = match &known {
        Some(known) => (known.policy.id, known.policy.version),
        None => (PolicyId::from_uuid(Uuid::now_v7()), 0),
    };
    propose(act, caller, policy, base_version, document, new.reason).await
}

/// Proposes an earlier version anew. It takes a second admin like any other change.
pub async fn rollback(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    policy: PolicyId,
    rollback: PolicyRollback,
) -> Result<Reply, Error> {
    check_reason("reason", Some(&rollback.reason))?;
    let mut act = match Act::begin(app, caller, attempt, Some(Action::DraftPolicy)).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let wanted = PolicyRef { id: policy, version: rollback.version };
    let old = policies::versions(&mut act.tx, &[wanted]).await?.pop();
    let old = old.ok_or(Error::NotFound { what: "policy version" })?;
    let current = policies::history(&mut act.tx, policy).await?;
    let base_version = current.first().map_or(0, |published| published.policy.version);
    if base_version == old.version {
        return Err(Error::invalid("version", "it is the version in force"));
    }
    let reason = Some(rollback.reason);
    propose(act, caller, policy, base_version, old.document, reason).await
}

async fn propose(
    mut act: Act<'_>,
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
    let shown = shown_draft(&mut act.tx, &draft).await?;
    act.finish(Deed { object: draft.id.to_string(), action: "policy.draft" }, 201, &shown).await
}

/// By an admin who did not propose it, and only over the version it was written against.
pub async fn publish(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: PolicyDraftId,
) -> Result<Reply, Error> {
    let mut act = match Act::begin(app, caller, attempt, None).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let draft = find(&mut act.tx, id).await?;
    let confirmer = person(caller)?;
    let is_own = act.book.directory.same_human(draft.proposed_by, confirmer);
    let mut act = act.require(Action::PublishPolicy, Object::Own { is_own }, &id).await?;
    if draft.closed.is_some() {
        return Err(Error::Closed { what: "draft", why: "it was published or withdrawn" });
    }
    let current = current_version(&mut act.tx, draft.policy).await?;
    if current != draft.base_version {
        return Err(Error::Closed {
            what: "draft",
            why: "another version was published since; propose it again",
        });
    }
    require_free_name(&mut act.tx, &draft).await?;
    let document = draft.document.to_json().map_err(|error| Error::invalid("document", error))?;
    let subject = Subject::publish(id, Digest::of(document.as_bytes()));
    let mut act = act.confirmed(&subject).await?;
    let policy = Policy {
        id: draft.policy,
        version: draft.base_version + 1,
        document: draft.document.clone(),
    };
    policies::insert_published(&mut act.tx, &policy, draft.proposed_by, confirmer).await?;
    policy_drafts::close(&mut act.tx, id, Outcome::Published, confirmer).await?;
    act.doubt_approved().await?;
    outbox::append(&mut act.tx, &[published(&policy)]).await?;
    let shown = policies::history(&mut act.tx, policy.id).await?.into_iter().next();
    let shown = shown_version(&shown.ok_or(Error::NotFound { what: "policy" })?)?;
    let object = policy.reference().to_string();
    act.finish(Deed { object, action: "policy.publish" }, 200, &shown).await
}

fn published(policy: &Policy) -> outbox::Event {
    let Policy { id, version, document } = policy;
    outbox::Event {
        kind: EventKind::PolicyPublished,
        object: id.to_string(),
        version: Some(i64::from(*version)),
        payload: json!({ "name": document.name, "enabled": document.enabled }),
    }
}

/// By whoever proposed it, or another admin.
pub async fn withdraw(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    id: PolicyDraftId,
) -> Result<Reply, Error> {
    let mut act = match Act::begin(app, caller, attempt, Some(Action::DraftPolicy)).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let draft = find(&mut act.tx, id).await?;
    if draft.closed.is_some() {
        return Err(Error::Closed { what: "draft", why: "it was published or withdrawn" });
    }
    policy_drafts::close(&mut act.tx, id, Outcome::Withdrawn, person(caller)?).await?;
    let draft = find(&mut act.tx, id).await?;
    let shown = shown_draft(&mut act.tx, &draft).await?;
    act.finish(Deed { object: id.to_string(), action: "policy.withdraw" }, 200, &shown).await
}

pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<PolicyId>,
) -> Result<Paged<PolicyVersionShown, PolicyId>, Error> {
    let mut tx = look(app, caller).await?;
    let found = policies::list(&mut tx, span.after, span.limit.saturating_add(1)).await?;
    let items = found.iter().map(shown_version).collect::<Result<Vec<_>, Error>>()?;
    Ok(paged(items, span.limit, |shown: &PolicyVersionShown| shown.policy))
}

pub async fn history(app: &App, caller: &Caller, policy: PolicyId) -> Result<PolicyHistory, Error> {
    let mut tx = look(app, caller).await?;
    let found = policies::history(&mut tx, policy).await?;
    // One that was only proposed has an id, and no version yet.
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
    let limit = span.limit.saturating_add(1);
    let found = policy_drafts::list_open(&mut tx, span.after, limit).await?;
    let page = paged(found, span.limit, |draft: &Draft| draft.id);
    let mut items = Vec::with_capacity(page.items.len());
    for draft in &page.items {
        items.push(shown_draft(&mut tx, draft).await?);
    }
    Ok(Paged { items, next: page.next })
}

pub async fn get_draft(
    app: &App,
    caller: &Caller,
    id: PolicyDraftId,
) -> Result<PolicyDraft, Error> {
    let mut tx = look(app, caller).await?;
    let draft = find(&mut tx, id).await?;
    shown_draft(&mut tx, &draft).await
}

/// Everything that is wrong with the text, each with its place.
pub(super) fn parse(text: &str) -> Result<Document, Error> {
    Document::parse_yaml(text).map_err(|errors| Error::Document { errors: errors.errors })
}

/// The policies in force, with this document in the place of the one of its name.
pub(super) fn with_document(book: &Rulebook, document: Document) -> Vec<Policy> {
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

pub(super) async fn find(tx: &mut Tx, id: PolicyDraftId) -> Result<Draft, Error> {
    policy_drafts::get(tx, id).await?.ok_or(Error::NotFound { what: "draft" })
}

async fn current_version(tx: &mut Tx, policy: PolicyId) -> Result<u32, Error> {
    let history = policies::history(tx, policy).await?;
    Ok(history.first().map_or(0, |published| published.policy.version))
}

async fn named(tx: &mut Tx, name: &str) -> Result<Option<Published>, Error> {
    Ok(policies::by_name(tx, name).await?)
}

/// A draft may rename its policy, but not to a name that another one has.
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
        policy: *id,
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

async fn shown_draft(tx: &mut Tx, draft: &Draft) -> Result<PolicyDraft, Error> {
    let history = policies::history(tx, draft.policy).await?;
    let current = history.first().map(|published| &published.policy);
    let is_open = draft.closed.is_none();
    let is_stale = is_open && current.map_or(0, |policy| policy.version) != draft.base_version;
    let changes = difference(current.map(|policy| &policy.document), &draft.document);
    let changes = changes.into_iter().map(|change| FieldChange {
        path: change.path,
        before: change.before,
        after: change.after,
    });
    let next_action = match (is_open, is_stale) {
        (false, _) => "nothing: it is closed",
        (true, true) => "propose it again: another version was published since",
        (true, false) => "another admin publishes it: POST /v1/policy-drafts/{id}/publish",
    };
    Ok(PolicyDraft {
        id: draft.id,
        policy: draft.policy,
        base_version: draft.base_version,
        is_stale,
        name: draft.document.name.clone(),
        document: value(&draft.document)?,
        yaml: yaml(&draft.document)?,
        changes: changes.collect(),
        reason: draft.reason.clone(),
        proposed_by: draft.proposed_by,
        proposed_at: draft.proposed_at,
        outcome: draft.closed.map(|closed| closed.outcome.as_str().to_owned()),
        next_action: next_action.to_owned(),
    })
}
