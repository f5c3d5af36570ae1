//! Describes the caller: identity, roles and scopes.

use ade_api::users::Me;
use ade_core::access::Scope;
use ade_core::actor::Actor;

use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::look;
use crate::error::Error;

pub async fn get(app: &App, caller: &Caller) -> Result<Me, Error> {
    let mut tx = look(app, caller).await?;
    let book = app.books.current(&mut tx).await?;
    let name = match &caller.actor {
        Actor::User { id, .. } => book.names.get(id).cloned(),
        Actor::Agent { id, .. } => book.agents.get(id).map(|agent| agent.name.clone()),
        Actor::System { worker } => Some(worker.clone()),
    };
    let person = caller.actor.human().and_then(|id| book.directory.person(id));
    let roles = person.map(|person| person.roles.iter().map(|role| role.as_str().to_owned()));
    Ok(Me {
        tenant_id: caller.tenant,
        actor: serde_json::to_value(&caller.actor)
            .map_err(|error| Error::invalid("actor", error))?,
        name: name.unwrap_or_default(),
        roles: roles.map(Iterator::collect).unwrap_or_default(),
        scopes: caller.scopes.iter().copied().map(Scope::as_str).map(str::to_owned).collect(),
        tenant_in_setup: book.is_in_setup,
    })
}
