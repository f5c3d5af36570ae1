//! The registry of resources. Risk is rated by it, so only admins write it.

use std::collections::{BTreeMap, BTreeSet};

use ade_api::resources::{
    Resource, ResourceEntry, ResourceImport, ResourceImportItem, ResourcesImported,
};
use ade_core::access::Action;
use ade_core::limits::{
    NAME_MAX_BYTES, REGISTRY_IMPORT_MAX, RESOURCE_DEPENDENTS_MAX, TASK_TAGS_MAX,
};
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

/// All or none. An entry that says what is known already is left alone; each of the others has
/// a leaf of its own.
pub async fn import(
    app: &App,
    caller: &Caller,
    attempt: &Attempt,
    import: ResourceImport,
) -> Result<Reply, Error> {
    if import.items.is_empty() || import.items.len() > REGISTRY_IMPORT_MAX {
        return Err(Error::invalid("items", format!("1 to {REGISTRY_IMPORT_MAX}")));
    }
    let entries = entries_of(import.items)?;
    let mut act = match Act::begin(app, caller, attempt, Some(Action::EditResource)).await? {
        Begun::Act(act) => act,
        Begun::Repeated(reply) => return Ok(reply),
    };
    let directory = &act.book.directory;
    let is_nobody = |about: &About| about.owner.is_some_and(|id| directory.person(id).is_none());
    if let Some((name, _)) = entries.iter().find(|(_, about)| is_nobody(about)) {
        return Err(Error::invalid("items", format!("{name}: there is no such owner")));
    }
    let hanging: BTreeSet<&ResourceRef> =
        entries.values().flat_map(|about| &about.dependents).collect();
    let named: Vec<ResourceRef> = entries.keys().chain(hanging.iter().copied()).cloned().collect();
    let known = resources::get_all(&mut act.tx, &named).await?;
    let is_stranger =
        |name: &&&ResourceRef| !known.contains_key(**name) && !entries.contains_key(**name);
    if let Some(stranger) = hanging.iter().find(is_stranger) {
        let problem = format!("{stranger} has no entry and is not in this import");
        return Err(Error::invalid("items", problem));
    }
    let told = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let total = entries.len();
    let new: Vec<(ResourceRef, About)> =
        entries.into_iter().filter(|(name, about)| known.get(name) != Some(about)).collect();
    let created = new.iter().filter(|(name, _)| !known.contains_key(name)).count();
    let answer = ResourcesImported {
        created: told(created),
        changed: told(new.len() - created),
        unchanged: told(total - new.len()),
    };
    if !new.is_empty() {
        resources::put_all(&mut act.tx, &new).await?;
        let put = |(name, _): &(ResourceRef, About)| Deed {
            object: name.to_string(),
            action: "resource.put",
        };
        act.also(new.iter().map(put)).await?;
    }
    let deed = Deed { object: caller.tenant.to_string(), action: "resource.import" };
    act.finish(deed, 200, &answer).await
}

fn entries_of(items: Vec<ResourceImportItem>) -> Result<BTreeMap<ResourceRef, About>, Error> {
    let mut entries = BTreeMap::new();
    for item in items {
        let name = item.resource.clone();
        let wrong = |problem: String| Error::invalid("items", format!("{name}: {problem}"));
        let about = about_of(entry_of(item)).map_err(|error| wrong(error.to_string()))?;
        if about.dependents.contains(&name) {
            return Err(wrong("nothing hangs on itself".to_owned()));
        }
        if entries.insert(name.clone(), about).is_some() {
            return Err(wrong("it is in the list twice".to_owned()));
        }
    }
    Ok(entries)
}

fn entry_of(item: ResourceImportItem) -> ResourceEntry {
    ResourceEntry {
        criticality: item.criticality,
        environment: item.environment,
        tags: item.tags,
        owner: item.owner,
        block_on_unknown: item.block_on_unknown,
        dependents: item.dependents,
    }
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
