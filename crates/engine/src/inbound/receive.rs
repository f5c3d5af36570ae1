//! Receives a message of another system. Until its signature is verified, every response is the
//! same and takes the same work; after that it is a proposal by the agent that the source names,
//! once per message id.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_api::tasks::NewTask;
use ade_core::access::Scope;
use ade_core::actor::Actor;
use ade_core::audit::Where;
use ade_core::change::{self, Digest};
use ade_core::ids::{InboundId, TenantId};
use ade_core::limits::{INBOUND_MESSAGE_ID_MAX_BYTES, INBOUND_PER_MINUTE, INBOUND_TOLERANCE};
use ade_store::inbound::{self, Source};
use ade_store::{TenantLock, Tx, agents};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use super::check_type;
use crate::app::App;
use crate::caller::{Caller, IdempotentRequest};
use crate::command::Reply;
use crate::error::Error;
use crate::tasks;

const WORKER: &str = "inbound";
const MINUTE: Duration = Duration::from_mins(1);
/// A sender may send several signatures; at most this many are tried.
const SIGNATURES_MAX: usize = 8;

/// A message as it was received, verbatim.
#[derive(Debug, Clone)]
pub struct Arrived<'a> {
    pub tenant: &'a str,
    pub source: &'a str,
    pub id: &'a str,
    pub timestamp: &'a str,
    pub signature: &'a str,
    /// The body; `None` if it was too long or incomplete.
    pub body: Option<&'a [u8]>,
    pub place: Where,
    /// Wall-clock time, in seconds since 1970.
    pub now: u64,
}

/// Receives a message. Returns `None` if it cannot be authenticated: its source is unknown, it is
/// unsigned, old or too large, or its id was used with another body.
pub async fn receive(app: &App, arrived: &Arrived<'_>) -> Result<Option<Reply>, Error> {
    let received = recognise(app, arrived).await?;
    let Some((tenant, source, body)) = received else {
        metrics::counter!("ade_inbound_refused_total").increment(1);
        return Ok(None);
    };
    let caller = caller(app, arrived, tenant, &source).await?;
    let attempt = IdempotentRequest {
        route: format!("inbound {}", source.id),
        key: Some(arrived.id.to_owned()),
        body: Digest::of(body),
    };
    // People look at what another system sends before it is submitted.
    let new = NewTask { submit: false, ..task_of(&source, body)? };
    check_type(app, "body", &new)?;
    match tasks::create(app, &caller, &attempt, new).await {
        // A repeated message gets the response to the first one, and counts as received.
        Ok(reply) | Err(Error::Replayed(reply)) => {
            metrics::counter!("ade_inbound_taken_total").increment(1);
            Ok(Some(reply))
        }
        Err(Error::KeyReused) => {
            metrics::counter!("ade_inbound_refused_total").increment(1);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

async fn recognise<'a>(
    app: &App,
    arrived: &Arrived<'a>,
) -> Result<Option<(TenantId, Source, &'a [u8])>, Error> {
    let named = arrived.tenant.parse::<TenantId>().ok();
    let id = arrived.source.parse::<InboundId>().ok();
    let source = match named.zip(id) {
        Some((tenant, id)) => find(app, tenant, id).await?,
        None => None,
    };
    // The comparison is made even without a source, so that the response time reveals nothing.
    let tenant = named.unwrap_or(TenantId::from_u128(0));
    let keys = keys(app, tenant, source.as_ref());
    let body = arrived.body.unwrap_or_default();
    let is_signed = is_signed(&keys, arrived, body);
    let is_fresh = is_fresh(arrived.timestamp, arrived.now);
    let is_named = (1..=INBOUND_MESSAGE_ID_MAX_BYTES).contains(&arrived.id.len())
        && arrived.id.bytes().all(|byte| byte.is_ascii_graphic());
    let is_good = is_signed && is_fresh && is_named && arrived.body.is_some();
    Ok(source.filter(|_| is_good).map(|source| (tenant, source, body)))
}

/// The caller of an authenticated message. It is rate-limited before anything else is done.
async fn caller(
    app: &App,
    arrived: &Arrived<'_>,
    tenant: TenantId,
    source: &Source,
) -> Result<Caller, Error> {
    let mut tx = begin(app, tenant).await?;
    let count = inbound::count_message(&mut tx, source.id).await?;
    let agent = agents::get(&mut tx, source.profile.agent).await?;
    tx.commit().await?;
    if count > INBOUND_PER_MINUTE {
        return Err(Error::TooOften { what: "messages from this source", wait: MINUTE });
    }
    let agent = agent.ok_or(Error::NotFound { what: "agent" })?;
    let place = arrived.place.in_service(WORKER);
    Ok(Caller {
        tenant,
        actor: Actor::agent(agent.id, agent.owner),
        scopes: BTreeSet::from([Scope::Propose]),
        place,
    })
}

async fn begin(app: &App, tenant: TenantId) -> Result<Tx, Error> {
    Ok(Tx::begin(&app.pools.api, tenant, Actor::system(WORKER), TenantLock::None).await?)
}

async fn find(app: &App, tenant: TenantId, id: InboundId) -> Result<Option<Source>, Error> {
    let mut tx = begin(app, tenant).await?;
    let found = inbound::get(&mut tx, id).await?;
    let now = tx.now();
    tx.roll_back().await;
    let current = |mut source: Source| {
        source.old_salt = source.old_salt.filter(|(_, until)| now < *until);
        source
    };
    Ok(found.filter(|source| source.profile.is_active).map(current))
}

fn keys(app: &App, tenant: TenantId, source: Option<&Source>) -> Vec<[u8; 32]> {
    let unknown_source = (InboundId::from_u128(0), [0; 32], None);
    let (id, salt, old) = source.map_or(unknown_source, |source| {
        (source.id, source.salt, source.old_salt.map(|(salt, _)| salt))
    });
    let salts = [Some(salt), old].into_iter().flatten();
    salts.filter_map(|salt| app.pepper.inbound_key(tenant, id, &salt)).collect()
}

fn is_fresh(timestamp: &str, now: u64) -> bool {
    let at = timestamp.parse::<u64>();
    at.is_ok_and(|at| at.abs_diff(now) <= INBOUND_TOLERANCE.as_secs())
}

/// Whether any of the signatures is valid under any of the current keys (Standard Webhooks).
fn is_signed(keys: &[[u8; 32]], arrived: &Arrived<'_>, body: &[u8]) -> bool {
    let given = arrived.signature.split(' ').take(SIGNATURES_MAX);
    let given = given.filter_map(|one| STANDARD.decode(one.strip_prefix("v1,")?).ok());
    let given: Vec<Vec<u8>> = given.collect();
    let mut is_signed = false;
    for key in keys {
        for signature in &given {
            let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { continue };
            mac.update(format!("{}.{}.", arrived.id, arrived.timestamp).as_bytes());
            mac.update(body);
            is_signed |= mac.verify_slice(signature).is_ok();
        }
    }
    is_signed
}

/// The task produced by the template; errors are returned to the sender, who is authenticated by
/// now.
fn task_of(source: &Source, body: &[u8]) -> Result<NewTask, Error> {
    change::check(body).map_err(|error| Error::invalid("body", error))?;
    let event: Value =
        serde_json::from_slice(body).map_err(|error| Error::invalid("body", error))?;
    let filled = source.profile.template.fill(&event);
    let filled = filled.map_err(|error| Error::invalid("body", error))?;
    serde_json::from_value(filled).map_err(|error| {
        Error::invalid("body", format!("the message does not produce a valid task: {error}"))
    })
}
