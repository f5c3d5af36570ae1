//! On-call duties: set by operators, visible to everyone. Notifications of a role go to the people
//! on duty first; a duty grants no permission.

use ade_api::on_call::{Duties, Duty, NewDuty, OnDuty};
use ade_core::access::Action;
use ade_core::actor::Role;
use ade_core::ids::DutyId;
use ade_core::limits::DUTIES_MAX;
use ade_store::on_call;
use uuid::Uuid;

use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::command::admin_command::{AdminCommand, AuditAction};
use crate::command::permission::{look, person};
use crate::error::Error;

/// Lists the duties that are not over, and whom each of their roles reaches now.
pub async fn list(app: &App, caller: &Caller) -> Result<Duties, Error> {
    let mut tx = look(app, caller).await?;
    let items: Vec<Duty> = on_call::list(&mut tx).await?.into_iter().map(shown).collect();
    let mut roles: Vec<String> = items.iter().map(|duty| duty.role.clone()).collect();
    roles.sort();
    roles.dedup();
    let mut now = Vec::new();
    for role in roles {
        let people = on_call::reached(&mut tx, &role).await?;
        now.push(OnDuty { role, user_ids: people });
    }
    Ok(Duties { items, now })
}

pub async fn create(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    new: NewDuty,
) -> Result<Reply, Error> {
    let mut act = AdminCommand::begin(app, caller, attempt, Some(Action::EditOnCall)).await?;
    if new.ends_at <= act.tx.now() {
        return Err(Error::invalid("ends_at", "must be in the future"));
    }
    if new.ends_at <= new.starts_at {
        return Err(Error::invalid("ends_at", "must be after `starts_at`"));
    }
    let Some(found) = act.book.directory.person(new.user_id) else {
        return Err(Error::invalid("user_id", "no such person"));
    };
    if !found.active || !found.roles.contains(&Role::new(new.role.as_str())) {
        let problem = format!(
            "the person does not have the role `{}`, and a duty does not grant it",
            new.role
        );
        return Err(Error::invalid("user_id", problem));
    }
    if on_call::list(&mut act.tx).await?.len() >= DUTIES_MAX {
        return Err(Error::TooMany { what: "duties", most: DUTIES_MAX });
    }
    let duty = on_call::Duty {
        id: DutyId::from_uuid(Uuid::now_v7()),
        role: new.role,
        user: new.user_id,
        starts_at: new.starts_at,
        ends_at: new.ends_at,
    };
    on_call::insert(&mut act.tx, &duty, person(caller)?).await?;
    let action = AuditAction { object: duty.id.to_string(), action: "on_call.create" };
    act.finish(action, 201, &shown(duty)).await
}

pub async fn delete(
    app: &App,
    caller: &Caller,
    attempt: &IdempotentRequest,
    id: DutyId,
) -> Result<Reply, Error> {
    let mut act = AdminCommand::begin(app, caller, attempt, Some(Action::EditOnCall)).await?;
    let found = on_call::get(&mut act.tx, id).await?;
    let duty = found.ok_or(Error::NotFound { what: "on-call duty" })?;
    on_call::delete(&mut act.tx, id).await?;
    act.finish(AuditAction { object: id.to_string(), action: "on_call.delete" }, 200, &shown(duty))
        .await
}

fn shown(duty: on_call::Duty) -> Duty {
    Duty {
        id: duty.id,
        role: duty.role,
        user_id: duty.user,
        starts_at: duty.starts_at,
        ends_at: duty.ends_at,
    }
}
