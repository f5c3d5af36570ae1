//! Turns a proposal into the content that is decided on: previewed, hashed and assessed for risk.
//! The preview runs before any transaction begins; the assessment reads the registry inside it.

use std::collections::{BTreeMap, BTreeSet};

use ade_core::actor::Actor;
use ade_core::audit::{EntryKind, What, Why};
use ade_core::change::{Digest, Effect, PreviewVersions, content_digest, content_shape};
use ade_core::ids::{TaskId, TenantId, UserId};
use ade_core::limits::{
    CHANGE_SPLITTING_WINDOW, NAME_MAX_BYTES, PREVIEW_RETRY_AFTER, TASK_TAGS_MAX,
};
use ade_core::policy::{AuthorKind, Subject};
use ade_core::resource::ResourceRef;
use ade_core::risk::{self, Assessment, ResourceFacts, assess};
use ade_core::task::Content;
use ade_store::tasks::{self, RevisionContent};
use ade_store::tenant_config::TenantConfig;
use ade_store::{TenantLock, Tx, audit, resources, tallies};

use super::permission::{audit_entry, look};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::services::executors::{
    Executor, PlanExecutor, Preview, PreviewError, Proposal, TooManyPreviews,
};

/// The content of a task, with the parts that only the database needs.
#[derive(Debug, Clone)]
pub struct Rated {
    pub content: Content,
    pub body: RevisionContent,
}

/// The author for whom a content is assessed.
#[derive(Debug, Clone, Copy)]
pub struct Author {
    pub id: UserId,
    pub kind: AuthorKind,
}

impl Author {
    pub fn of(actor: &Actor) -> Option<Self> {
        match actor {
            Actor::User { id, .. } => Some(Self { id: *id, kind: AuthorKind::User }),
            Actor::Agent { on_behalf_of, .. } => {
                Some(Self { id: *on_behalf_of, kind: AuthorKind::Agent })
            }
            Actor::System { .. } => None,
        }
    }
}

/// The task that is assessed, and its author.
#[derive(Debug, Clone, Copy)]
pub struct Whose {
    pub task: TaskId,
    pub author: Author,
}

/// A proposal with its preview, ready to be assessed.
#[derive(Debug)]
pub struct Previewed<'a> {
    pub proposal: &'a Proposal,
    pub tags: BTreeSet<String>,
    pub preview: Preview,
}

/// Previews a proposal for the caller. No transaction is open meanwhile, because a target may be
/// slow.
pub async fn preview(app: &App, caller: &Caller, proposal: &Proposal) -> Result<Preview, Error> {
    let tenant = caller.tenant;
    let Chosen { executor, target, live } = choose(app, tenant, proposal).await?;
    let _slot = match target {
        Some(target) => {
            let entered = app.executors.preview_slots().enter(tenant, target).await;
            Some(entered.map_err(|TooManyPreviews| Error::TooOften {
                what: "previews in progress",
                wait: PREVIEW_RETRY_AFTER,
            })?)
        }
        None => None,
    };
    if let Some(resource) = live {
        record(app, caller, &resource, proposal).await?;
    }
    executor.preview(tenant, proposal).await.map_err(|error| match error {
        PreviewError::Invalid { field, problem } => Error::Invalid { field, problem },
        PreviewError::Effect(error) => Error::invalid("effect", error),
        PreviewError::Unavailable { problem } => {
            Error::PreviewFailed { problem, executor: executor.name() }
        }
    })
}

/// Records a preview on a live target before it runs, with the digest of its parameters.
async fn record(
    app: &App,
    caller: &Caller,
    resource: &ResourceRef,
    proposal: &Proposal,
) -> Result<(), Error> {
    let mut tx = look(app, caller).await?;
    let parameters = serde_json::to_vec(&proposal.parameters);
    let parameters = parameters.map_err(|error| Error::invalid("parameters", error))?;
    let digest = Some(Digest::of(&parameters));
    let what = What { digest, ..What::new(resource.to_string(), "preview.run") };
    let entry = audit_entry(&tx, caller, EntryKind::Disclosure, what, Why::default());
    audit::append(&mut tx, &[entry]).await?;
    Ok(tx.commit().await?)
}

/// The executor that serves a proposal in the tenant.
pub(super) struct Chosen<'a> {
    pub executor: &'a dyn Executor,
    /// The target that its preview uses.
    target: Option<String>,
    /// The same target, if applications use it.
    live: Option<ResourceRef>,
}

pub(super) async fn choose<'a>(
    app: &'a App,
    tenant: TenantId,
    proposal: &Proposal,
) -> Result<Chosen<'a>, Error> {
    if !app.executors.has_any(&proposal.task_type) {
        return Ok(Chosen { executor: &PlanExecutor, target: None, live: None });
    }
    let actor = Actor::system("preview");
    let mut tx = Tx::begin(&app.pools.api, tenant, actor, TenantLock::None).await?;
    let book = app.books.current(&mut tx).await?;
    tx.roll_back().await;
    let executor = app.executors.of(&book.tenant).for_type(&proposal.task_type);
    Ok(Chosen {
        executor,
        target: executor.preview_target(&book.tenant, proposal),
        live: executor.live_resource(&book.tenant, proposal),
    })
}

pub fn check_tags(tags: &BTreeSet<String>) -> Result<(), Error> {
    let is_bad = |tag: &String| tag.trim().is_empty() || tag.len() > NAME_MAX_BYTES;
    if tags.len() > TASK_TAGS_MAX || tags.iter().any(is_bad) {
        let problem =
            format!("must be at most {TASK_TAGS_MAX} tags of 1 to {NAME_MAX_BYTES} bytes each");
        return Err(Error::invalid("tags", problem));
    }
    Ok(())
}

/// Assesses and hashes the previewed content.
pub async fn rate(
    app: &App,
    tx: &mut Tx,
    book: &TenantConfig,
    whose: Whose,
    previewed: Previewed<'_>,
) -> Result<Rated, Error> {
    let Previewed { proposal, tags, preview: Preview { effect, versions } } = previewed;
    let Whose { author, .. } = whose;
    let modes = || proposal.resources.iter().map(|(resource, mode)| (resource, mode.as_deref()));
    let (task_type, parameters) = (&proposal.task_type, &proposal.parameters);
    let invalid = |error| Error::invalid("resources", error);
    let digest = content_digest(task_type, parameters, modes(), &effect).map_err(invalid)?;
    let shape = content_shape(task_type, parameters, modes(), &effect).map_err(invalid)?;
    let assessment = assessment(app, tx, book, whose, proposal, &effect).await?;
    let roles = book.directory.person(author.id).map(|person| person.roles.clone());
    let subject = Subject {
        task_type: task_type.clone(),
        resources: proposal.resources.keys().cloned().collect(),
        tags,
        risk: assessment.score,
        author_kind: author.kind,
        author_roles: roles.unwrap_or_default(),
        origin: effect.origin(),
    };
    let content = Content { digest, shape, subject, level: assessment.level };
    let body = body_of(proposal, effect, versions, assessment);
    Ok(Rated { content, body })
}

fn body_of(
    proposal: &Proposal,
    effect: Effect,
    versions: PreviewVersions,
    risk: Assessment,
) -> RevisionContent {
    let modes: BTreeMap<ResourceRef, String> = proposal
        .resources
        .iter()
        .filter_map(|(resource, mode)| Some((resource.clone(), mode.clone()?)))
        .collect();
    RevisionContent { parameters: proposal.parameters.clone(), effect, versions, modes, risk }
}

async fn assessment(
    app: &App,
    tx: &mut Tx,
    book: &TenantConfig,
    Whose { task, author }: Whose,
    proposal: &Proposal,
    effect: &Effect,
) -> Result<Assessment, Error> {
    let human = book.directory.human(author.id);
    let accounts: Vec<UserId> = book
        .directory
        .people()
        .map(|person| person.id)
        .filter(|id| book.directory.human(*id) == human)
        .collect();
    let since = tx.now().minus(CHANGE_SPLITTING_WINDOW);
    let recent = tasks::recent(tx, &accounts, since).await?;
    let others: Vec<&tasks::Recent> = recent.iter().filter(|other| other.task != task).collect();
    let own = proposal.resources.keys().collect();
    let related = risk::connected(own, others, |other| other.resources.iter().collect());
    let measured = tasks::measured(tx, &related).await?;
    let named: BTreeSet<ResourceRef> = related
        .iter()
        .flat_map(|other| other.resources.iter().cloned())
        .chain(proposal.resources.keys().cloned())
        .collect();
    let named: Vec<ResourceRef> = named.into_iter().collect();
    let entries = resources::facts(tx, &named).await?;
    let facts_of = |resource: &ResourceRef| {
        let entry = entries.get(resource);
        ResourceFacts {
            resource: resource.clone(),
            criticality: entry.and_then(|entry| entry.criticality),
            pattern_default: book.risk.as_ref().and_then(|rules| rules.pattern_default(resource)),
            dependents: entry.map(|entry| entry.dependents.clone()),
        }
    };
    let recent: Vec<risk::RecentTask> = related
        .iter()
        .map(|other| risk::RecentTask {
            task: other.task,
            author: human,
            at: other.submitted_at,
            resources: other.resources.iter().map(facts_of).collect(),
            counts: measured.get(&other.task).copied(),
        })
        .collect();
    let touched: Vec<ResourceRef> = proposal.resources.keys().cloned().collect();
    let history = tallies::history(tx, &proposal.task_type, &touched).await?;
    let named: Vec<ResourceFacts> = touched.iter().map(facts_of).collect();
    let facts = risk::RiskFacts {
        task,
        author: human,
        resources: &named,
        effect: Some(effect),
        history: Some(history),
        recent: &recent,
    };
    let settings = book.risk.as_ref().map_or(&app.risk, risk::RiskRules::settings);
    Ok(assess(&facts, settings, tx.now()))
}
