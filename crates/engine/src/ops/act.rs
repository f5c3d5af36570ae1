//! One act on the tenant's own records (people, agents, tokens, resources): behind the gate, with
//! permission asked of the rules of that moment, once per idempotency key, and with its leaf. A
//! refusal leaves one too.

use std::collections::BTreeSet;
use std::sync::Arc;

use ade_core::access::{Action, Denied, Object, Question};
use ade_core::actor::Actor;
use ade_core::audit::{Kind, Leaf, What, Who, Why};
use ade_core::ids::UserId;
use ade_core::step_up::Subject;
use ade_core::task::{Command, Refusal, Task};
use ade_store::idempotency::Key;
use ade_store::rulebook::Rulebook;
use ade_store::{Gate, Opening, Pool, Tx, audit, due};
use serde::Serialize;

use super::deadline::Deadline;
use super::decision::{claim, keep};
use super::{Reply, json, step_up};
use crate::app::App;
use crate::book::agent_facts;
use crate::caller::{Attempt, Caller};
use crate::error::Error;

#[derive(Debug)]
pub struct Act<'a> {
    app: &'a App,
    caller: &'a Caller,
    attempt: &'a Attempt,
    pub tx: Tx,
    pub book: Arc<Rulebook>,
}

#[derive(Debug)]
pub enum Begun<'a> {
    Act(Act<'a>),
    Repeated(Reply),
}

/// What the leaf says was done.
#[derive(Debug)]
pub struct Deed {
    pub object: String,
    /// For example `user.create`.
    pub action: &'static str,
}

impl<'a> Act<'a> {
    /// `needs` is what the rules are asked for; nothing, if it is about the caller's own.
    pub async fn begin(
        app: &'a App,
        caller: &'a Caller,
        attempt: &'a Attempt,
        needs: Option<Action>,
    ) -> Result<Begun<'a>, Error> {
        let key = key_of(caller, attempt);
        let first = Opening { row: None, key: key.as_ref() };
        let (pool, actor) = (&app.pools.api, caller.actor.clone());
        let mut tx = Tx::begin_with(pool, caller.tenant, actor, Gate::Exclusive, first).await?;
        match claim(&mut tx, caller, attempt).await {
            Ok(None) => {}
            answered => return told_before(tx, answered).await.map(Begun::Repeated),
        }
        let book = app.books.current(&mut tx).await?;
        let act = Self { app, caller, attempt, tx, book };
        Ok(Begun::Act(match needs {
            Some(action) => act.require(action, Object::Tenant, &caller.tenant).await?,
            None => act,
        }))
    }

    /// Goes on only with this right; that somebody without it asked about `what` is kept.
    pub async fn require(
        self,
        action: Action,
        object: Object,
        what: &impl ToString,
    ) -> Result<Self, Error> {
        match permit(self.app, &self.book, &self.caller.actor, action, object) {
            Ok(()) => Ok(self),
            Err(denied) => {
                let what = what.to_string();
                refuse(self.tx, self.caller, action.as_str(), what, &denied).await?;
                Err(denied.into())
            }
        }
    }

    /// Goes on only with the word of the caller's passkey for exactly this, where one is asked for.
    pub async fn confirmed(mut self, subject: &Subject) -> Result<Self, Error> {
        match step_up::require(self.app, self.caller, &mut self.tx, subject).await {
            Ok(()) => Ok(self),
            // The key is free again before the caller hears, who comes back with the same.
            Err(error) => {
                self.tx.roll_back().await;
                Err(error)
            }
        }
    }

    /// Rules or people have changed: what was approved is asked again whether it still stands.
    pub async fn doubt_approved(&mut self) -> Result<(), Error> {
        due::set_for_approved(&mut self.tx, Deadline::CheckBasis.as_str()).await?;
        Ok(())
    }

    /// Ends it with an error; what the rules deny is kept, as at the beginning.
    pub async fn refuse(self, error: Error) -> Error {
        let Error::Denied(denied) = &error else { return error };
        let (action, object) = (denied.action.as_str(), self.caller.tenant.to_string());
        match refuse(self.tx, self.caller, action, object, denied).await {
            Ok(()) => error,
            Err(failed) => failed,
        }
    }

    /// Leaf, kept answer and commit.
    pub async fn finish(
        self,
        deed: Deed,
        status: u16,
        body: &impl Serialize,
    ) -> Result<Reply, Error> {
        self.finish_with_secret(deed, status, body, body).await
    }

    /// With the reason that the caller gave.
    pub async fn finish_because(
        self,
        deed: Deed,
        reason: Option<String>,
        status: u16,
        body: &impl Serialize,
    ) -> Result<Reply, Error> {
        self.end(deed, Why { reason, ticket: None }, status, body, body).await
    }

    /// For an answer that must not lie in the database: another one is kept in its place.
    pub async fn finish_with_secret(
        self,
        deed: Deed,
        status: u16,
        kept: &impl Serialize,
        body: &impl Serialize,
    ) -> Result<Reply, Error> {
        self.end(deed, Why::default(), status, kept, body).await
    }

    async fn end(
        mut self,
        deed: Deed,
        why: Why,
        status: u16,
        kept: &impl Serialize,
        body: &impl Serialize,
    ) -> Result<Reply, Error> {
        let what = What::new(deed.object, deed.action);
        let leaf = leaf_of(&self.tx, self.caller, Kind::Change, what, why);
        audit::append(&mut self.tx, &[leaf]).await?;
        keep(&mut self.tx, self.caller, self.attempt, status, kept).await?;
        self.tx.commit().await?;
        Ok(Reply { status, body: json(body)?, is_repeated: false })
    }

    /// One more thing that is done with it, with a leaf of its own.
    pub async fn also(&mut self, deeds: impl IntoIterator<Item = Deed>) -> Result<(), Error> {
        let leaves: Vec<Leaf> = deeds
            .into_iter()
            .map(|Deed { object, action }| {
                let what = What::new(object, action);
                leaf_of(&self.tx, self.caller, Kind::Change, what, Why::default())
            })
            .collect();
        audit::append(&mut self.tx, &leaves).await?;
        Ok(())
    }

    pub fn app(&self) -> &'a App {
        self.app
    }
}

/// The key is free again before anybody hears: the next to use it must not meet our rollback.
pub(super) async fn told_before(
    tx: Tx,
    answered: Result<Option<Reply>, Error>,
) -> Result<Reply, Error> {
    tx.roll_back().await;
    answered.and_then(|reply| reply.ok_or(Error::KeyInFlight))
}

pub(super) fn key_of(caller: &Caller, attempt: &Attempt) -> Option<Key> {
    let key = attempt.key.clone()?;
    Some(Key { principal: caller.principal(), route: attempt.route.clone(), key })
}

pub(super) async fn begin(pool: &Pool, caller: &Caller, gate: Gate) -> Result<Tx, Error> {
    let actor = caller.actor.clone();
    Ok(Tx::begin(pool, caller.tenant, actor, gate).await?)
}

/// For reading: nothing is written, so nothing needs a leaf.
pub(crate) async fn look(app: &App, caller: &Caller) -> Result<Tx, Error> {
    begin(&app.pools.api, caller, Gate::Unasked).await
}

/// For somebody who may do this, with the rules of that moment; who may not is noted.
pub(super) async fn enter(
    app: &App,
    caller: &Caller,
    action: Action,
    object: Object,
) -> Result<(Tx, Arc<Rulebook>), Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    match permit(app, &book, &caller.actor, action, object) {
        Ok(()) => Ok((tx, book)),
        Err(denied) => {
            refuse(tx, caller, action.as_str(), caller.tenant.to_string(), &denied).await?;
            Err(denied.into())
        }
    }
}

pub(super) fn leaf_of(tx: &Tx, caller: &Caller, kind: Kind, what: What, why: Why) -> Leaf {
    let who = Who::from(&caller.actor);
    Leaf::new(tx.tenant(), kind, who, what, tx.now(), caller.place.clone(), why)
}

/// That somebody asked of a task what they may not do; other refusals leave nothing.
pub(super) fn leaf_of_refusal(
    tx: &Tx,
    caller: &Caller,
    task: &Task,
    command: &Command,
    refusal: &Refusal,
) -> Option<Leaf> {
    let detail = match refusal {
        Refusal::Denied(denied) => denied.detail.clone(),
        Refusal::SelfApproval(_) | Refusal::RoleTooNew(_) | Refusal::InstallationFrozen(_) => {
            refusal.to_string()
        }
        _ => return None,
    };
    let what = What {
        object: task.id.to_string(),
        action: command.kind().action().as_str().to_owned(),
        from: Some(task.state.as_str().to_owned()),
        to: None,
        revision: Some(task.revision),
        digest: Some(task.content.digest),
    };
    let why = Why { reason: Some(detail), ticket: None };
    Some(leaf_of(tx, caller, Kind::Refusal, what, why))
}

/// Somebody asked for what they may not do: that alone is kept.
pub(super) async fn refuse(
    mut tx: Tx,
    caller: &Caller,
    action: &str,
    object: String,
    denied: &Denied,
) -> Result<(), Error> {
    let what = What::new(object, action);
    let why = Why { reason: Some(denied.detail.clone()), ticket: None };
    let leaf = leaf_of(&tx, caller, Kind::Refusal, what, why);
    audit::append(&mut tx, &[leaf]).await?;
    Ok(tx.commit().await?)
}

/// Only people do such things, whatever a token opens.
pub(super) fn person(caller: &Caller) -> Result<UserId, Error> {
    match caller.actor {
        Actor::User { id, .. } => Ok(id),
        Actor::Agent { .. } | Actor::System { .. } => Err(Refusal::PersonRequired.into()),
    }
}

/// Asks the rules with the roles that the book gives the human behind the actor.
pub fn permit(
    app: &App,
    book: &Rulebook,
    actor: &Actor,
    action: Action,
    object: Object,
) -> Result<(), Denied> {
    let nobody = BTreeSet::new();
    let person = actor.human().and_then(|id| book.directory.person(id));
    let is_active = person.is_some_and(|person| person.active);
    let active = match actor {
        Actor::User { .. } => is_active,
        Actor::Agent { .. } => is_active && agent_facts(book, actor, "").is_active,
        Actor::System { .. } => true,
    };
    let roles = person.map_or(&nobody, |person| &person.roles);
    app.access.check(&Question { actor, roles, active, action, object })
}
