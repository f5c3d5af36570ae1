//! Shows who can act for a person now, to that person and to admins. With a task, the actual
//! assignment is evaluated; without one, the delegations are listed.

use ade_api::delegations::{Acting, DelegationFault, DelegationWay, Resolved};
use ade_api::problem::NextAction;
use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::approval::Route;
use ade_core::approval::acting::{About, DelegationPath, DelegationQuery, Ways, ways};
use ade_core::approval::assignment::ReviewRequest;
use ade_core::approval::delegation::{Conditions, DelegationError, DelegationKind};
use ade_core::ids::{TaskId, UserId};
use ade_core::policy::DelegationRule;
use ade_core::task::TaskRules;
use ade_core::time::Timestamp;
use ade_store::tenant_config::TenantConfig;
use ade_store::{Tx, tasks};

use super::delegations::shown;
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::visible_in;
use crate::command::permission::{look, permit, person};
use crate::command::present::value;
use crate::error::Error;
use crate::services::rulebook_cache;

pub async fn resolve(
    app: &App,
    caller: &Caller,
    user: Option<UserId>,
    task: Option<TaskId>,
) -> Result<Resolved, Error> {
    let user = match user {
        Some(user) => user,
        None => person(caller)?,
    };
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    let is_same = |id| book.directory.same_human(id, user);
    let is_own = matches!(caller.actor, Actor::User { id, .. } if is_same(id));
    permit(app, &book, &caller.actor, Action::EditDelegation, Object::Own { is_own })?;
    if book.directory.person(user).is_none() {
        return Err(Error::NotFound { what: "user" });
    }
    if let Some(task) = task {
        return for_task(app, caller, tx, user, task).await;
    }
    let now = tx.now();
    tx.roll_back().await;
    at_large(&book, user, now)
}

/// Returns the result without a task: everyone that a path leads to, under the conditions of its
/// steps.
fn at_large(book: &TenantConfig, user: UserId, now: Timestamp) -> Result<Resolved, Error> {
    let question = DelegationQuery {
        owner: user,
        delegations: &book.delegations,
        directory: &book.directory,
        about: None,
        now,
    };
    let found = ways(&question);
    let acts: Vec<&DelegationPath<'_>> = found.ways.iter().filter(|way| way.acts()).collect();
    let is_plain = |way: &DelegationPath<'_>| {
        way.steps.iter().all(|step| step.conditions == Conditions::default())
    };
    let gives_all_away =
        acts.iter().any(|way| way.kind == DelegationKind::Transfer && is_plain(way));
    let mut acting = Vec::new();
    if book.directory.is_active(user) && !gives_all_away {
        acting.push(own(user));
    }
    for way in acts {
        let Some(end) = way.leads_to() else { continue };
        let until = way.steps.iter().map(|step| step.expires_at).min();
        let until = until.map(|at| format!(" until {at}")).unwrap_or_default();
        let when = if is_plain(way) { "" } else { ", for tasks that meet the conditions" };
        let (route, does) = match way.kind {
            DelegationKind::Transfer => ("transfer", "answers in their place"),
            DelegationKind::Follow => ("follow", "by approving, approves for them as well"),
        };
        let message = format!("{does}{until}{when}");
        acting.push(Acting { user_id: end, route: route.to_owned(), chain: way.path(), message });
    }
    resolved(user, None, now, acting, &found)
}

async fn for_task(
    app: &App,
    caller: &Caller,
    mut tx: Tx,
    user: UserId,
    id: TaskId,
) -> Result<Resolved, Error> {
    visible_in(app, caller, &mut tx, id).await?;
    let missing = Error::NotFound { what: "task" };
    let Some(task) = tasks::peek(&mut tx, id).await? else { return Err(missing) };
    let book = app.books.current(&mut tx).await?;
    let pinned = app.books.pinned(&mut tx, &book, &task.pins).await?;
    let now = tx.now();
    tx.roll_back().await;
    let inputs = rulebook_cache::of_task(book, pinned, &caller.actor, &task);
    let facts = inputs.facts(&app.access, &caller.actor);
    let rules = TaskRules::of(&task, &facts, now);
    let seating = facts.seating(&task, &rules, now);
    let forbids = |rule: &DelegationRule| *rule == DelegationRule::Forbidden;
    let may_approve = |person: UserId| seating.may_approve(person);
    let about = About {
        subject: &task.content.subject,
        is_forbidden: rules.all().iter().any(|requirement| forbids(&requirement.delegation)),
        may_approve: &may_approve,
    };
    let question = DelegationQuery {
        owner: user,
        delegations: &inputs.book.delegations,
        directory: &inputs.book.directory,
        about: Some(about),
        now,
    };
    let found = ways(&question);
    let acting = seating.requests().iter().flat_map(|request| acting_of(request, user)).collect();
    resolved(user, Some(id), now, acting, &found)
}

fn own(user: UserId) -> Acting {
    let says = "answers personally".to_owned();
    Acting { user_id: user, route: "own".to_owned(), chain: vec![user], message: says }
}

/// Returns the slots of this owner that other people are asked to fill.
fn acting_of(request: &ReviewRequest, owner: UserId) -> Vec<Acting> {
    let places = request.places.iter().filter(|place| place.owner == owner);
    let acting = places.map(|place| {
        let (route, says) = match &place.route {
            Route::Own => return own(owner),
            Route::Transfer { .. } => ("transfer", "a delegation moved the request here"),
            Route::Follow { .. } => {
                ("follow", "this person's approval counts for the owner as well")
            }
            Route::HandedOver { .. } => ("handed_over", "this single request was handed over"),
            Route::Reassigned { .. } => ("reassigned", "the owner could not answer"),
        };
        let chain = place.route.chain().to_vec();
        let (route, message) = (route.to_owned(), says.to_owned());
        Acting { user_id: request.reviewer, route, chain, message }
    });
    acting.collect()
}

fn resolved(
    user: UserId,
    task: Option<TaskId>,
    at: Timestamp,
    acting: Vec<Acting>,
    found: &Ways<'_>,
) -> Result<Resolved, Error> {
    let next_action = match (acting.is_empty(), task) {
        (false, _) if found.faults.is_empty() => "nothing: at least one person can act",
        (false, _) => "end one delegation of each path under `faults`: these paths reach no one",
        (true, Some(_)) => {
            "no request of this task is open for this person: see the task's explain"
        }
        (true, None) => "delegate to someone",
    };
    let next_action = NextAction::new(next_action).with_call(match task {
        Some(task) => format!("GET /v1/tasks/{task}/explain"),
        None => "POST /v1/delegations".to_owned(),
    });
    Ok(Resolved {
        user_id: user,
        task_id: task,
        at,
        acting,
        ways: found.ways.iter().map(way).collect(),
        faults: found.faults.iter().map(fault).collect::<Result<_, Error>>()?,
        is_cut: found.is_cut,
        next_action,
    })
}

fn way(way: &DelegationPath<'_>) -> DelegationWay {
    DelegationWay {
        kind: way.kind,
        path: way.path(),
        steps: way.steps.iter().map(|step| shown(step)).collect(),
        acts: way.acts(),
        because: way.obstacles.iter().map(ToString::to_string).collect(),
    }
}

fn fault(fault: &DelegationError) -> Result<DelegationFault, Error> {
    let (DelegationError::Cycle { path }
    | DelegationError::TooLong { path }
    | DelegationError::NotAllowed { path, .. }) = fault;
    let name = value(fault)?.get("fault").and_then(|name| name.as_str()).map(str::to_owned);
    Ok(DelegationFault {
        fault: name.unwrap_or_default(),
        path: path.clone(),
        message: fault.to_string(),
    })
}
