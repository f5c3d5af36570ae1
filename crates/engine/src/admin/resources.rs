//! The registry of resources. Risk depends on it, so only admins write it.

use std::collections::{BTreeMap, BTreeSet};

use ade_api::resources::{
    Resource, ResourceEntry, ResourceImport, ResourceImportItem, ResourcesImported,
};
use ade_core::limits::{
    NAME_MAX_BYTES, REGISTRY_IMPORT_MAX, RESOURCE_DEPENDENTS_MAX, RISK_CRITICALITY_DEFAULT,
    TASK_TAGS_MAX,
};
use ade_core::resource::ResourceRef;
use ade_core::risk::Score;
use ade_core::rule_change::{RegistryRules, RuleFinding, compare_entries};
use ade_store::resources::{self, About};

use crate::app::App;
use crate::caller::Caller;
use crate::command::admin_command::{AdminCommand, Applied, AuditAction};
use crate::command::permission::look;
use crate::command::{Paged, Span, paged};
use crate::error::Error;

pub(crate) async fn put(
    act: &mut AdminCommand<'_>,
    name: &ResourceRef,
    entry: ResourceEntry,
) -> Result<Applied, Error> {
    let about = about_of(entry)?;
    if about.owner.is_some_and(|owner| act.book.directory.person(owner).is_none()) {
        return Err(Error::invalid("owner_id", "no such user"));
    }
    let wanted: Vec<ResourceRef> = about.dependents.iter().cloned().collect();
    let known = resources::facts(&mut act.tx, &wanted).await?;
    if let Some(stranger) = wanted.iter().find(|wanted| !known.contains_key(wanted)) {
        let problem = format!("{stranger} is not in the registry: add it first");
        return Err(Error::invalid("dependents", problem));
    }
    if about.dependents.contains(name) {
        return Err(Error::invalid("dependents", "a resource cannot depend on itself"));
    }
    let before = resources::get(&mut act.tx, name).await?.map(|before| before.about);
    let findings = compared(act, name, before.as_ref(), &about);
    resources::put(&mut act.tx, name, &about).await?;
    let kept = resources::get(&mut act.tx, name).await?;
    let kept = shown(kept.ok_or(Error::NotFound { what: "resource" })?);
    let action = AuditAction { object: name.to_string(), action: "resource.put" };
    Ok(Applied::new(action, 200, &kept)?.with_findings(findings))
}

/// Imports entries, all or none. Unchanged entries are skipped; each of the others gets an audit
/// entry.
pub(crate) async fn import(
    act: &mut AdminCommand<'_>,
    import: ResourceImport,
) -> Result<Applied, Error> {
    if import.items.is_empty() || import.items.len() > REGISTRY_IMPORT_MAX {
        return Err(Error::invalid("items", format!("must be 1 to {REGISTRY_IMPORT_MAX} entries")));
    }
    let entries = entries_of(import.items)?;
    let directory = &act.book.directory;
    let is_unknown_owner =
        |about: &About| about.owner.is_some_and(|id| directory.person(id).is_none());
    if let Some((name, _)) = entries.iter().find(|(_, about)| is_unknown_owner(about)) {
        return Err(Error::invalid("items", format!("{name}: no such owner")));
    }
    let hanging: BTreeSet<&ResourceRef> =
        entries.values().flat_map(|about| &about.dependents).collect();
    let named: Vec<ResourceRef> = entries.keys().chain(hanging.iter().copied()).cloned().collect();
    let known = resources::get_all(&mut act.tx, &named).await?;
    let is_stranger =
        |name: &&&ResourceRef| !known.contains_key(**name) && !entries.contains_key(**name);
    if let Some(stranger) = hanging.iter().find(is_stranger) {
        let problem = format!("{stranger} is not in the registry and not in this import");
        return Err(Error::invalid("items", problem));
    }
    let as_u32 = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let total = entries.len();
    let new: Vec<(ResourceRef, About)> =
        entries.into_iter().filter(|(name, about)| known.get(name) != Some(about)).collect();
    let created = new.iter().filter(|(name, _)| !known.contains_key(name)).count();
    let answer = ResourcesImported {
        created: as_u32(created),
        changed: as_u32(new.len() - created),
        unchanged: as_u32(total - new.len()),
    };
    let changed =
        |(name, about): &(ResourceRef, About)| compared(act, name, known.get(name), about);
    let findings = new.iter().flat_map(changed).collect();
    if !new.is_empty() {
        resources::put_all(&mut act.tx, &new).await?;
        let put = |(name, _): &(ResourceRef, About)| AuditAction {
            object: name.to_string(),
            action: "resource.put",
        };
        act.also(new.iter().map(put)).await?;
    }
    let tenant = act.tx.tenant().to_string();
    let action = AuditAction { object: tenant, action: "resource.import" };
    Ok(Applied::new(action, 200, &answer)?.with_findings(findings))
}

fn compared(
    act: &AdminCommand<'_>,
    name: &ResourceRef,
    before: Option<&About>,
    after: &About,
) -> Vec<RuleFinding> {
    let rules = |about: &About| RegistryRules {
        criticality: about.criticality,
        environment: about.environment.clone(),
        blocks_on_unknown: about.blocks_on_unknown,
        dependents: about.dependents.clone(),
    };
    let fallback = act.book.risk.as_ref().and_then(|risk| risk.pattern_default(name));
    let fallback = fallback.unwrap_or(Score::new(RISK_CRITICALITY_DEFAULT));
    compare_entries(name, before.map(rules).as_ref(), &rules(after), fallback)
}

fn entries_of(items: Vec<ResourceImportItem>) -> Result<BTreeMap<ResourceRef, About>, Error> {
    let mut entries = BTreeMap::new();
    for item in items {
        let name = item.resource.clone();
        let wrong = |problem: String| Error::invalid("items", format!("{name}: {problem}"));
        let about = about_of(entry_of(item)).map_err(|error| wrong(error.to_string()))?;
        if about.dependents.contains(&name) {
            return Err(wrong("a resource cannot depend on itself".to_owned()));
        }
        if entries.insert(name.clone(), about).is_some() {
            return Err(wrong("listed twice".to_owned()));
        }
    }
    Ok(entries)
}

fn entry_of(item: ResourceImportItem) -> ResourceEntry {
    ResourceEntry {
        criticality: item.criticality,
        environment: item.environment,
        tags: item.tags,
        owner_id: item.owner_id,
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
        return Err(Error::invalid("criticality", "must be 0 to 100"));
    }
    if entry.environment.as_ref().is_some_and(|name| name.is_empty() || name.len() > NAME_MAX_BYTES)
    {
        return Err(Error::invalid("environment", format!("must be 1 to {NAME_MAX_BYTES} bytes")));
    }
    if entry.tags.len() > TASK_TAGS_MAX || entry.tags.iter().any(|tag| tag.len() > NAME_MAX_BYTES) {
        let problem = format!("must be at most {TASK_TAGS_MAX} tags of {NAME_MAX_BYTES} bytes");
        return Err(Error::invalid("tags", problem));
    }
    if entry.dependents.len() > RESOURCE_DEPENDENTS_MAX {
        return Err(Error::invalid(
            "dependents",
            format!("must be at most {RESOURCE_DEPENDENTS_MAX} resources"),
        ));
    }
    Ok(About {
        criticality: entry.criticality.map(Score::new),
        environment: entry.environment,
        tags: entry.tags,
        owner: entry.owner_id,
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
        owner_id: about.owner,
        block_on_unknown: about.blocks_on_unknown,
        dependents: about.dependents,
        updated_at: resource.updated_at,
    }
}
