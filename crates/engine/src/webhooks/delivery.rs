//! Sends deliveries from the queue to an endpoint, and records the result in PostgreSQL. A claimed
//! delivery is reserved until a deadline; then any process may claim it, so a process that dies
//! causes a repetition and no loss.

use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::audit::{AuditEntry, EntryKind, What, Where, Who, Why};
use ade_core::ids::{TenantId, WebhookId};
use ade_core::limits::{
    WEBHOOK_DELIVERY_MAX_AGE, WEBHOOK_SENDING_MAX, WEBHOOK_SENDING_PER_ENDPOINT,
    WEBHOOK_SENDING_PER_TENANT, WORKER_BATCH,
};
use ade_core::time::Timestamp;
use ade_core::webhook::{
    Circuit, DeliveryResponse, DeliveryStep, DeliveryVerdict, Room, judge, next,
};
use ade_store::webhooks::{self, Claimed, DeliveryOutcome, Endpoint, Recorded, SEND};
use ade_store::{Pool, TenantLock, Tx, audit, scheduled_jobs};
use reqwest::Client;
use uuid::Uuid;

use crate::app::App;
use crate::error::Error;
use crate::services::secrets;
use crate::services::webhook_client::{SendResult, WebhookRequest, keys_of, send};

/// Maximum delay before an endpoint is checked again.
const WEBHOOK_LOOK_PERIOD: Duration = Duration::from_secs(1);

const WORKER: &str = "webhook_sender";
const TOO_OLD: &str = "not delivered in time";
const GONE: &str = "the endpoint responded with 410 Gone";

/// A claimed delivery, with everything that is needed to send it and to record the result.
#[derive(Debug)]
pub struct Parcel {
    pool: Pool,
    client: Client,
    service: String,
    tenant: TenantId,
    endpoint: WebhookId,
    sender: Uuid,
    claimed: Claimed,
    /// The request, or why it cannot be sent at all.
    letter: Result<WebhookRequest, String>,
}

/// Claims deliveries to one endpoint, at most `most` and within all limits.
pub async fn take_up(
    app: &App,
    tenant: TenantId,
    id: WebhookId,
    most: u32,
) -> Result<Vec<Parcel>, Error> {
    let mut tx = begin(&app.pools.worker, tenant).await?;
    webhooks::queue_up(&mut tx).await?;
    let Some(endpoint) = webhooks::get(&mut tx, id).await?.filter(Endpoint::is_active) else {
        scheduled_jobs::clear(&mut tx, SEND, id.uuid()).await?;
        tx.commit().await?;
        return Ok(Vec::new());
    };
    webhooks::release_silent(&mut tx).await?;
    let until = tx.now().minus(WEBHOOK_DELIVERY_MAX_AGE);
    let buried = webhooks::bury_old(&mut tx, id, until, TOO_OLD, WORKER_BATCH).await?;
    count("dead", buried);
    let (room, rest_until) = room(&mut tx, id, most).await?;
    let sender = Uuid::new_v4();
    let claimed = match room {
        0 => Vec::new(),
        room => webhooks::claim(&mut tx, id, sender, WEBHOOK_SENDING_MAX, room).await?,
    };
    webhooks::look_again(&mut tx, id, rest_until).await?;
    let now = tx.now();
    tx.commit().await?;
    claimed.into_iter().map(|one| parcel(app, tenant, &endpoint, sender, one, now)).collect()
}

/// Returns the number of deliveries that may be sent now, and the time of the next check of the
/// endpoint.
async fn room(tx: &mut Tx, id: WebhookId, most: u32) -> Result<(u32, Timestamp), Error> {
    let now = tx.now();
    let circuit = webhooks::circuit(tx, id).await?;
    let sending = webhooks::sending(tx, id).await?;
    let to_endpoint = match circuit.room(now) {
        Room::Until(until) => return Ok((0, until)),
        Room::One => 1,
        Room::Free => WEBHOOK_SENDING_PER_ENDPOINT,
    };
    let room = most
        .min(to_endpoint.saturating_sub(sending.to_endpoint))
        .min(WEBHOOK_SENDING_PER_TENANT.saturating_sub(sending.of_tenant));
    // A finished delivery wakes the next round; this is the fallback for one that does not finish.
    Ok((room, now.plus(WEBHOOK_LOOK_PERIOD)))
}

fn parcel(
    app: &App,
    tenant: TenantId,
    endpoint: &Endpoint,
    sender: Uuid,
    claimed: Claimed,
    now: Timestamp,
) -> Result<Parcel, Error> {
    let keys = keys_of(&app.pepper, tenant, endpoint, now)?;
    // The settings may have changed since the URL was entered.
    let letter = app.webhooks.checked(&endpoint.profile.url).map(|url| WebhookRequest {
        url,
        id: claimed.event_id.clone(),
        body: claimed.body.clone(),
        keys,
    });
    Ok(Parcel {
        pool: app.pools.worker.clone(),
        client: app.webhooks.client(),
        service: app.service.clone(),
        tenant,
        endpoint: endpoint.id,
        sender,
        claimed,
        letter: letter.map_err(|error| error.to_string()),
    })
}

impl Parcel {
    /// Sends the delivery and records the result. If the result cannot be recorded, the delivery is
    /// sent again after its deadline: the receiver may get it twice, with one id.
    pub async fn deliver(self) {
        let result = match &self.letter {
            Ok(letter) => send(&self.client, letter).await,
            Err(problem) => SendResult::closed(problem),
        };
        if let Err(error) = self.record(&result).await {
            let Self { tenant, endpoint, claimed, .. } = &self;
            tracing::warn!(
                %tenant, %endpoint, delivery = %claimed.id, %error,
                "failed to record webhook delivery attempt"
            );
            count("unrecorded", 1);
        }
    }

    async fn record(&self, result: &SendResult) -> Result<(), Error> {
        let Self { endpoint, claimed, .. } = self;
        let verdict = judge(result.answer);
        let mut tx = begin(&self.pool, self.tenant).await?;
        webhooks::queue_up(&mut tx).await?;
        let now = tx.now();
        let ended = match next(verdict, claimed.tries, now, dice()?) {
            DeliveryStep::Delivered => DeliveryOutcome::Delivered,
            DeliveryStep::Dead => DeliveryOutcome::Dead,
            DeliveryStep::Again { at } => DeliveryOutcome::Again { at },
        };
        let status = match result.answer {
            DeliveryResponse::Status { status, .. } => Some(status),
            DeliveryResponse::None | DeliveryResponse::Closed => None,
        };
        let recorded = Recorded {
            ended,
            status,
            excerpt: result.excerpt.as_deref(),
            problem: result.problem.as_deref(),
        };
        if !webhooks::record(&mut tx, *endpoint, claimed, self.sender, &recorded).await? {
            tx.roll_back().await;
            count("late", 1);
            return Ok(());
        }
        let circuit = self.judged(&mut tx, verdict, result).await?;
        let rest_until = match circuit.room(now) {
            Room::Until(until) => until,
            Room::Free | Room::One => now,
        };
        if verdict == DeliveryVerdict::Gone {
            self.disable(&mut tx).await?;
        } else {
            webhooks::look_again(&mut tx, *endpoint, rest_until).await?;
        }
        tx.commit().await?;
        self.tell(ended, now.since(claimed.created_at));
        Ok(())
    }

    async fn judged(
        &self,
        tx: &mut Tx,
        verdict: DeliveryVerdict,
        result: &SendResult,
    ) -> Result<Circuit, Error> {
        let before = webhooks::circuit(tx, self.endpoint).await?;
        let circuit = match verdict {
            // A 410 is not a failure: the endpoint asks for no further deliveries.
            DeliveryVerdict::Delivered | DeliveryVerdict::Gone => Circuit::default(),
            DeliveryVerdict::Failed { retry_after } => {
                before.failed(tx.now(), retry_after, dice()?)
            }
        };
        if circuit != before || before.failures > 0 {
            let problem = result.problem.as_deref();
            webhooks::set_circuit(tx, self.endpoint, circuit, problem).await?;
        }
        Ok(circuit)
    }

    async fn disable(&self, tx: &mut Tx) -> Result<(), Error> {
        scheduled_jobs::clear(tx, SEND, self.endpoint.uuid()).await?;
        if webhooks::disable(tx, self.endpoint, GONE).await? {
            let what = What {
                from: Some("active".to_owned()),
                to: Some("disabled".to_owned()),
                ..What::new(self.endpoint.to_string(), "webhook.disable")
            };
            let who = Who::from(&Actor::system(WORKER));
            let service = self.service.clone();
            let place = Where::service(service);
            let why = Why { reason: Some(GONE.to_owned()), ticket: None };
            let entry =
                AuditEntry::new(self.tenant, EntryKind::Change, who, what, tx.now(), place, why);
            audit::append(tx, &[entry]).await?;
        }
        Ok(())
    }

    fn tell(&self, ended: DeliveryOutcome, age: Duration) {
        match ended {
            DeliveryOutcome::Delivered => {
                count("delivered", 1);
                metrics::histogram!("ade_webhook_delivery_lag_seconds").record(age.as_secs_f64());
            }
            DeliveryOutcome::Dead => {
                let Self { tenant, endpoint, claimed, .. } = self;
                tracing::warn!(
                    %tenant, %endpoint, delivery = %claimed.id,
                    "webhook delivery dead-lettered"
                );
                count("dead", 1);
            }
            DeliveryOutcome::Again { .. } => count("failed", 1),
        }
    }
}

async fn begin(pool: &Pool, tenant: TenantId) -> Result<Tx, Error> {
    Ok(Tx::begin(pool, tenant, Actor::system(WORKER), TenantLock::None).await?)
}

fn dice() -> Result<u64, Error> {
    Ok(u64::from_be_bytes(secrets::random()?))
}

fn count(outcome: &'static str, items: usize) {
    let items = u64::try_from(items).unwrap_or(u64::MAX);
    metrics::counter!("ade_webhook_deliveries_total", "outcome" => outcome).increment(items);
}
