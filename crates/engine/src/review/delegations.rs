//! Delegations are created by the person whose approvals they move, or by an admin, and are refused
//! if they form a cycle or a chain that is too long. They can move pending requests as well.

use std::collections::BTreeSet;
use std::sync::Arc;

use ade_api::code::Code;
use ade_api::delegations::{
    Delegation, DelegationConditions, DelegationMade, HandOver, NewDelegation, Stayed,
};
use ade_core::access::{Action, Object};
use ade_core::approval::delegation::{self, Conditions};
use ade_core::audit::Why;
use ade_core::ids::{ApprovalId, DelegationId, TaskId, UserId};
use ade_core::limits::{
    DELEGATION_DEPTH_MAX, DELEGATION_STEPS_MAX, PAGE_SIZE_MAX, POLICY_PATTERNS_MAX,
};
use ade_core::policy::Pattern;
use ade_core::risk::Score;
use ade_core::task::{Command, decide};
use ade_store::tasks::{self, Cause};
use ade_store::{approvals, audit, delegations};
use uuid::Uuid;

use super::{approvals as answers, batches};
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::admin_command::{AdminCommand, Applied, AuditAction};
use crate::command::permission::{entry_of_refusal, look, person};
use crate::command::run::carry_out;
use crate::command::{Paged, Reply, Span, paged};
use crate::error::Error;
use crate::services::rulebook_cache;

const CREATE: &str = "delegation.create";

/// Creates a delegation of the caller's own approvals.
pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewDelegation,
) -> Result<Reply, Error> {
    let me = person(caller)?;
    let act = AdminCommand::begin(app, caller, attempt, None).await?;
    let object = Object::Own { is_own: true };
    let mut act = act.require(Action::EditDelegation, object, &me).await?;
    let made = checked(&act, me, &new)?;
    let mut answer = DelegationMade { delegation: shown(&made), moved: 0, stayed: Vec::new() };
    let moved = if new.move_pending {
        Box::pin(move_along(app, caller, &mut act, &made, &mut answer)).await?
    } else {
        Vec::new()
    };
    delegations::insert(&mut act.tx, &made).await?;
    let action = AuditAction { object: made.id.to_string(), action: CREATE };
    let reply = act.finish(action, 201, &answer).await?;
    if !moved.is_empty() {
        app.wake.relay.notify_one();
    }
    for (task, version) in moved {
        app.watch.tell(caller.tenant, task, version);
    }
    Ok(reply)
}

/// Creates a delegation for another person.
pub(crate) async fn create_for(
    act: &mut AdminCommand<'_>,
    owner: UserId,
    new: &NewDelegation,
) -> Result<Applied, Error> {
    if new.move_pending {
        return Err(Error::invalid("move_pending", "only your own requests can be moved"));
    }
    let made = checked(act, owner, new)?;
    delegations::insert(&mut act.tx, &made).await?;
    let body = DelegationMade { delegation: shown(&made), moved: 0, stayed: Vec::new() };
    Applied::new(AuditAction { object: made.id.to_string(), action: CREATE }, 201, &body)
}

fn checked(
    act: &AdminCommand<'_>,
    owner: UserId,
    new: &NewDelegation,
) -> Result<delegation::Delegation, Error> {
    let made = delegation::Delegation {
        id: DelegationId::from_uuid(Uuid::now_v7()),
        owner,
        delegate_to: new.delegate_id,
        kind: new.kind,
        conditions: conditions_of(&new.conditions)?,
        cascade: new.cascade,
        starts_at: new.starts_at.unwrap_or(act.tx.now()),
        expires_at: new.expires_at,
        active: true,
    };
    check(act, &made)?;
    Ok(made)
}

/// Moves the owner's pending requests with the delegation, in its transaction; the stored response
/// contains the outcome for each. A request that may not be moved does not block the others.
/// Returns the tasks with their new versions.
async fn move_along(
    app: &App,
    caller: &Caller,
    act: &mut AdminCommand<'_>,
    made: &delegation::Delegation,
    answer: &mut DelegationMade,
) -> Result<Vec<(TaskId, u64)>, Error> {
    let mut pending = approvals::inbox(&mut act.tx, made.owner, None, PAGE_SIZE_MAX).await?.0;
    // The tasks are locked in the order of their ids to avoid deadlocks.
    pending.sort_by_key(|request| request.task);
    let command = Command::Delegate { to: made.delegate_to, reason: None };
    let mut moved = Vec::with_capacity(pending.len());
    for request in pending {
        let Some(task) = tasks::load(&mut act.tx, request.task).await? else { continue };
        // The previous rulebook is used: one with an uncommitted change must not be cached.
        let pinned = app.books.pinned(&mut act.tx, &act.book, &task.pins).await?;
        let inputs = rulebook_cache::of_task(Arc::clone(&act.book), pinned, &caller.actor, &task);
        let facts = inputs.facts(&app.access, &caller.actor);
        match decide(&task, &command, &facts, act.tx.now()) {
            Ok(decision) => {
                let (place, why) = (caller.place.clone(), Why::default());
                let cause = Cause { command: command.kind(), place, why, receipt: None };
                let executors = app.executors.of(&inputs.book.tenant);
                batches::write(executors, &mut act.tx, &task, &facts, &decision, cause).await?;
                moved.push((task.id, task.version + 1));
                answer.moved += 1;
            }
            Err(refusal) => {
                let entry = entry_of_refusal(&act.tx, caller, &task, &command, &refusal);
                if let Some(entry) = entry {
                    audit::append(&mut act.tx, &[entry]).await?;
                }
                let (code, detail) = (Code::from(&refusal), refusal.to_string());
                answer.stayed.push(Stayed { approval_id: request.id, code, detail });
            }
        }
    }
    Ok(moved)
}

/// Hands a request over to a person who may approve in their own right.
pub async fn hand_over(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: ApprovalId,
    HandOver { delegate_id: to, reason }: HandOver,
) -> Result<Reply, Error> {
    let command = Command::Delegate { to, reason: reason.clone() };
    let work = answers::begin(app, caller, attempt, id).await?;
    carry_out(work, command, Why { reason, ticket: None }, |_| 200).await
}

/// Ends a delegation immediately, by its owner or an admin.
pub async fn end(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: DelegationId,
) -> Result<Reply, Error> {
    let me = person(caller)?;
    let mut act = AdminCommand::begin(app, caller, attempt, None).await?;
    let missing = Error::NotFound { what: "delegation" };
    let Some(mut known) = delegations::get(&mut act.tx, id).await? else { return Err(missing) };
    let object = Object::Own { is_own: known.owner == me };
    let mut act = act.require(Action::EditDelegation, object, &id).await?;
    if !known.active {
        return Err(Error::Closed { what: "delegation", why: "it has ended" });
    }
    delegations::end(&mut act.tx, id).await?;
    known.active = false;
    let action = AuditAction { object: id.to_string(), action: "delegation.end" };
    act.finish(action, 200, &shown(&known)).await
}

/// Lists the active delegations of one person, by default of the caller; newest first.
pub async fn list(
    app: &App,
    caller: &Caller,
    owner: Option<UserId>,
    span: Span<DelegationId>,
) -> Result<Paged<Delegation, DelegationId>, Error> {
    let owner = match owner {
        Some(owner) => owner,
        None => person(caller)?,
    };
    let mut tx = look(app, caller).await?;
    let limit = span.limit.saturating_add(1);
    let found = delegations::of_owner(&mut tx, owner, span.after, limit).await?;
    let items = found.iter().map(shown).collect();
    Ok(paged(items, span.limit, |delegation: &Delegation| delegation.id))
}

fn check(act: &AdminCommand<'_>, made: &delegation::Delegation) -> Result<(), Error> {
    let directory = &act.book.directory;
    if !directory.is_active(made.owner) {
        return Err(Error::invalid("owner_id", "no such active user"));
    }
    if !directory.is_active(made.delegate_to) {
        return Err(Error::invalid("delegate_id", "no such active user"));
    }
    if directory.same_human(made.owner, made.delegate_to) {
        return Err(Error::invalid("delegate_id", "owner and delegate are the same person"));
    }
    if made.expires_at <= made.starts_at || made.expires_at <= act.tx.now() {
        return Err(Error::invalid("expires_at", "must be after the start and in the future"));
    }
    let path = longest_path(&act.book.delegations, made);
    if path.len() <= DELEGATION_DEPTH_MAX + 1 && path.first() == path.last() {
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        let problem = format!("the delegations would form a cycle: {}", path.join(" → "));
        return Err(Error::invalid("delegate_id", problem));
    }
    if path.len() > DELEGATION_DEPTH_MAX + 1 {
        let problem = format!("the delegation chain would be longer than {DELEGATION_DEPTH_MAX}");
        return Err(Error::invalid("delegate_id", problem));
    }
    Ok(())
}

/// Returns the longest path from the owner along delegations of the same kind, whatever their
/// conditions and dates: a delegation that could ever form a cycle is refused. The path ends where
/// it meets the owner again.
fn longest_path(known: &[delegation::Delegation], made: &delegation::Delegation) -> Vec<UserId> {
    let mut longest = Vec::new();
    let mut open = vec![vec![made.owner, made.delegate_to]];
    // A longer search would cost more than it is worth: the path counts as too long.
    for _ in 0..DELEGATION_STEPS_MAX {
        let Some(path) = open.pop() else { return longest };
        let Some(last) = path.last().copied() else { continue };
        if last == made.owner {
            return path;
        }
        if path.len() > longest.len() {
            longest.clone_from(&path);
        }
        if path.len() > DELEGATION_DEPTH_MAX + 1 {
            continue;
        }
        let seen: BTreeSet<UserId> = path.iter().skip(1).copied().collect();
        let further = known
            .iter()
            .filter(|edge| edge.active && edge.kind == made.kind && edge.owner == last)
            .filter(|edge| !seen.contains(&edge.delegate_to));
        for edge in further {
            let mut next = path.clone();
            next.push(edge.delegate_to);
            open.push(next);
        }
    }
    vec![made.owner; DELEGATION_DEPTH_MAX + 2]
}

fn conditions_of(given: &DelegationConditions) -> Result<Conditions, Error> {
    let patterns = |field: &str, texts: &BTreeSet<String>| {
        if texts.len() > POLICY_PATTERNS_MAX {
            return Err(Error::invalid(
                field,
                format!("must be at most {POLICY_PATTERNS_MAX} patterns"),
            ));
        }
        texts
            .iter()
            .map(|text| Pattern::new(text).map_err(|error| Error::invalid(field, error)))
            .collect::<Result<Vec<Pattern>, Error>>()
    };
    if given.risk_above.is_some_and(|points| points > Score::MAX.points()) {
        return Err(Error::invalid("conditions.risk_above", "must be 0 to 100"));
    }
    Ok(Conditions {
        task_types: patterns("conditions.task_types", &given.task_types)?,
        resource_patterns: patterns("conditions.resource_patterns", &given.resource_patterns)?,
        risk_above: given.risk_above.map(Score::new),
    })
}

pub(crate) fn shown(kept: &delegation::Delegation) -> Delegation {
    let texts =
        |patterns: &[Pattern]| patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect();
    Delegation {
        id: kept.id,
        owner_id: kept.owner,
        delegate_id: kept.delegate_to,
        kind: kept.kind,
        conditions: DelegationConditions {
            task_types: texts(&kept.conditions.task_types),
            resource_patterns: texts(&kept.conditions.resource_patterns),
            risk_above: kept.conditions.risk_above.map(Score::points),
        },
        cascade: kept.cascade,
        starts_at: kept.starts_at,
        expires_at: kept.expires_at,
        active: kept.active,
    }
}
