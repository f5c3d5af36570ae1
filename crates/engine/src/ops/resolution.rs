//! Who may act for somebody now: for themselves to ask, and for admins about anybody. With a task
//! the seating that decides is asked; without one, what stands in the rulebook is told.

use ade_api::delegations::{Acting, DelegationFault, DelegationWay, Resolved};
use ade_core::access::{Action, Object};
use ade_core::actor::Actor;
use ade_core::approval::Route;
use ade_core::approval::acting::{About, Question, Way, Ways, ways};
use ade_core::approval::assignment::Request;
use ade_core::approval::delegation::{Conditions, Fault, Kind};
use ade_core::ids::{TaskId, UserId};
use ade_core::policy::DelegationRule;
use ade_core::task::Rules;
use ade_core::time::Timestamp;
use ade_store::rulebook::Rulebook;
use ade_store::{Tx, tasks};

use super::act::{look, permit, person};
use super::delegations::shown;
use super::tasks::visible_in;
use crate::app::App;
use crate::book;
use crate::caller::Caller;
use crate::error::Error;
use crate::present::value;

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

/// Without a task: whoever a way leads to, under the conditions of its steps.
fn at_large(book: &Rulebook, user: UserId, now: Timestamp) -> Result<Resolved, Error> {
    let question = Question {
        owner: user,
        delegations: &book.delegations,
        directory: &book.directory,
        about: None,
        now,
    };
    let found = ways(&question);
    let acts: Vec<&Way<'_>> = found.ways.iter().filter(|way| way.acts()).collect();
    let is_plain =
        |way: &Way<'_>| way.steps.iter().all(|step| step.conditions == Conditions::default());
    let gives_all_away = acts.iter().any(|way| way.kind == Kind::Transfer && is_plain(way));
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
            Kind::Transfer => ("transfer", "answers in their place"),
            Kind::Follow => ("follow", "by saying yes says yes for them, too"),
        };
        let says = format!("{does}{until}{when}");
        acting.push(Acting { user: end, route: route.to_owned(), chain: way.path(), says });
    }
    told(user, None, now, acting, &found)
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
    let knowledge = book::of_task(book, pinned, &caller.actor, &task);
    let facts = knowledge.facts(&app.access, &caller.actor);
    let rules = Rules::of(&task, &facts, now);
    let seating = facts.seating(&task, &rules, now);
    let forbids = |rule: &DelegationRule| *rule == DelegationRule::Forbidden;
    let may_approve = |person: UserId| seating.may_approve(person);
    let about = About {
        subject: &task.content.subject,
        is_forbidden: rules.all().iter().any(|requirement| forbids(&requirement.delegation)),
        may_approve: &may_approve,
    };
    let question = Question {
        owner: user,
        delegations: &knowledge.book.delegations,
        directory: &knowledge.book.directory,
        about: Some(about),
        now,
    };
    let found = ways(&question);
    let acting = seating.requests().iter().flat_map(|request| acting_of(request, user)).collect();
    told(user, Some(id), now, acting, &found)
}

fn own(user: UserId) -> Acting {
    let says = "answers themselves".to_owned();
    Acting { user, route: "own".to_owned(), chain: vec![user], says }
}

/// The places of this owner that somebody is asked to fill.
fn acting_of(request: &Request, owner: UserId) -> Vec<Acting> {
    let places = request.places.iter().filter(|place| place.owner == owner);
    let acting = places.map(|place| {
        let (route, says) = match &place.route {
            Route::Own => return own(owner),
            Route::Transfer { .. } => ("transfer", "a delegation moved the request here"),
            Route::Follow { .. } => ("follow", "their yes stands for the owner's, too"),
            Route::HandedOver { .. } => ("handed_over", "this one request was handed on"),
            Route::Reassigned { .. } => ("reassigned", "the owner could not answer"),
        };
        let chain = place.route.chain().to_vec();
        Acting { user: request.reviewer, route: route.to_owned(), chain, says: says.to_owned() }
    });
    acting.collect()
}

fn told(
    user: UserId,
    task: Option<TaskId>,
    at: Timestamp,
    acting: Vec<Acting>,
    found: &Ways<'_>,
) -> Result<Resolved, Error> {
    let next_action = match (acting.is_empty(), task) {
        (false, _) if found.faults.is_empty() => "nothing: somebody can act",
        (false, _) => "end one delegation of each path under `faults`: nobody is asked over them",
        (true, Some(_)) => "nothing waits for this person in this task: see its explain",
        (true, None) => "let somebody answer: POST /v1/delegations",
    };
    Ok(Resolved {
        user,
        task,
        at,
        acting,
        ways: found.ways.iter().map(way).collect(),
        faults: found.faults.iter().map(fault).collect::<Result<_, Error>>()?,
        is_cut: found.is_cut,
        next_action: next_action.to_owned(),
    })
}

fn way(way: &Way<'_>) -> DelegationWay {
    DelegationWay {
        kind: way.kind,
        path: way.path(),
        steps: way.steps.iter().map(|step| shown(step)).collect(),
        acts: way.acts(),
        because: way.obstacles.iter().map(ToString::to_string).collect(),
    }
}

fn fault(fault: &Fault) -> Result<DelegationFault, Error> {
    let (Fault::Cycle { path } | Fault::TooLong { path } | Fault::NotAllowed { path, .. }) = fault;
    let name = value(fault)?.get("fault").and_then(|name| name.as_str()).map(str::to_owned);
    Ok(DelegationFault {
        fault: name.unwrap_or_default(),
        path: path.clone(),
        says: fault.to_string(),
    })
}
