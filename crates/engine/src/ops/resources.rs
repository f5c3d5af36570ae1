//! The registry of resources. Risk is rated by it, so only admins write it.

use ade_api::resources::{Resource, ResourceEntry};
use ade_core::access::Action;
use ade_core::limits::{NAME_MAX_BYTES, RESOURCE_DEPENDENTS_MAX, TASK_TAGS_MAX};
use ade_core::resource::ResourceRef;
use ade_core::risk::Score;
use ade_store::resources::{self, About};

use super::act::{Act, Begun, Deed, look};
use super::{Paged, Reply, Span, paged};
use crate::app::App;
use crate::caller::{Attempt, Caller};
use crate::error::Error;

pub async fn put(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    name: &ResourceRef,
    entry: ResourceEntry,
) -> Result<Reply, Error> {
    let about = about_of(entry)?;
    let mut act = match Act::begin(app, caller, attempt, Some(Action::EditResource)).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    if about.owner.is_some_and(|owner| act.book.directory.person(owner).is_none()) {
        return Err(Error::invalid("owner", "there is no such user"));
    }
    let wanted: Vec<ResourceRef> = about.dependents.iter().cloned().collect();
    let known = resources::facts(&mut act.tx, &wanted).await?;
    if let Some(stranger) = wanted.iter().find(|wanted| !known.contains_key(wanted)) {
        let problem = format!("{stranger} has no entry yet: put it first");
        return Err(Error::invalid("dependents", problem));
    }
    if about.dependents.contains(name) {
        return Err(Error::invalid("dependents", "nothing hangs on itself"));
    }
    resources::put(&mut act.tx, name, &about).await?;
    let kept = resources::get(&mut act.tx, name).await?;
    let kept = shown(kept.ok_or(Error::NotFound { what: "resource" })?);
    act.finish(Deed { object: name.to_string(), action: "resource.put" }, 200, &kept).await
}

pub async fn get(app: &App, caller: &Caller, name: &ResourceRef) -> Result<Resource, Error> {
    let mut tx = look(app, caller).await?;
    let found = resources::get(&mut tx, name).await?;
    Ok(shown(found.ok_or(Error::NotFound { what: "resource" })?))
}

pub async fn list(
    app: &App,
    caller: &Caller,
    span: Span<ResourceRef>,
) -> Result<Paged<Resource, ResourceRef>, Error> {
    let mut tx = look(app, caller).await?;
    let limit = span.limit.saturating_add(1);
    let found = resources::list(&mut tx, span.after.as_ref(), limit).await?;
    let items = found.into_iter().map(shown).collect();
    Ok(paged(items, span.limit, |item: &Resource| item.resource.clone()))
}

fn about_of(entry: ResourceEntry) -> Result<About, Error> {
    if entry.criticality.is_some_and(|points| points > Score::MAX.points()) {
        return Err(Error::invalid("criticality", "0 to 100"));
    }
    if entry.environment.as_ref().is_some_and(|name| name.is_empty() || name.len() > NAME_MAX_BYTES)
    {
        return Err(Error::invalid("environment", format!("1 to {NAME_MAX_BYTES} bytes")));
    }
    if entry.tags.len() > TASK_TAGS_MAX || entry.tags.iter().any(|tag| tag.len() > NAME_MAX_BYTES) {
        let problem = format!("at most {TASK_TAGS_MAX} of {NAME_MAX_BYTES} bytes");
        return Err(Error::invalid("tags", problem));
    }
    if entry.dependents.len() > RESOURCE_DEPENDENTS_MAX {
        return Err(Error::invalid("dependents", format!("at most {RESOURCE_DEPENDENTS_MAX}")));
    }
    Ok(About {
        criticality: entry.criticality.map(Score::new),
        environment: entry.environment,
        tags: entry.tags,
        owner: entry.owner,
        blocks_on_unknown: entry.block_on_unknown,
        dependents: entry.dependents,
    })
}

fn shown(resource: resources::Resource) -> Resource {
    let about = resource.about;
    Resource {
        resource: resource.name,
        criticality: about.criticality.map(Score::points),
        environment: about.environment,
        tags: about.tags,
        owner: about.owner,
        block_on_unknown: about.blocks_on_unknown,
        dependents: about.dependents,
        updated_at: resource.updated_at,
    }
}
