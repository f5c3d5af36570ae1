//! From the queue to an endpoint and back into the record. What is taken up is ours until a
//! deadline; then anybody may take it, so a process that dies costs a repetition and no event.

use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::audit::{Kind, Leaf, What, Where, Who, Why};
use ade_core::ids::{TenantId, WebhookId};
use ade_core::limits::{
    WEBHOOK_DELIVERY_MAX_AGE, WEBHOOK_LOOK_PERIOD, WEBHOOK_SENDING_MAX,
    WEBHOOK_SENDING_PER_ENDPOINT, WEBHOOK_SENDING_PER_TENANT, WORKER_BATCH,
};
use ade_core::time::Timestamp;
use ade_core::webhook::{Answer, Circuit, Next, Room, Verdict, judge, next};
use ade_store::webhooks::{self, Claimed, Ended, Endpoint, Recorded, SEND};
use ade_store::{Gate, Pool, Tx, audit, due};
use reqwest::Client;
use uuid::Uuid;

use crate::app::App;
use crate::error::Error;
use crate::secret;
use crate::webhooks::{Letter, Told, keys_of, send};

const WORKER: &str = "webhook_sender";
const TOO_OLD: &str = "it could not be delivered in time";
const GONE: &str = "it answered with 410: it wants nothing more";

/// A delivery on its way, with all that is needed to send it and to tell of it, but not the
/// process it was taken up in.
#[derive(Debug)]
pub struct Parcel {
    pool: Pool,
    client: Client,
    service: String,
    tenant: TenantId,
    endpoint: WebhookId,
    sender: Uuid,
    claimed: Claimed,
    /// Or why it cannot be sent at all.
    letter: Result<Letter, String>,
}

/// At most so many deliveries to one endpoint, as many as all bounds leave room for.
pub async fn take_up(
    app: &App,
    tenant: TenantId,
    id: WebhookId,
    most: u32,
) -> Result<Vec<Parcel>, Error> {
    let mut tx = begin(&app.pools.worker, tenant).await?;
    webhooks::queue_up(&mut tx).await?;
    let Some(endpoint) = webhooks::get(&mut tx, id).await?.filter(Endpoint::is_active) else {
        due::clear(&mut tx, SEND, id.uuid()).await?;
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

/// How many may go now, and until when the rest of them rests.
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
    // Whoever ends says so; this is for one that does not.
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
    // The settings may have changed since it was entered.
    let letter = app.webhooks.checked(&endpoint.profile.url).map(|url| Letter {
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
    /// Sends it and records what came of it. What cannot be recorded is sent again when its
    /// deadline is over: the receiver may hear it twice, under one id.
    pub async fn deliver(self) {
        let told = match &self.letter {
            Ok(letter) => send(&self.client, letter).await,
            Err(problem) => Told::closed(problem),
        };
        if let Err(error) = self.record(&told).await {
            let Self { tenant, endpoint, claimed, .. } = &self;
            tracing::warn!(%tenant, %endpoint, delivery = %claimed.id, %error, "not recorded");
            count("unrecorded", 1);
        }
    }

    async fn record(&self, told: &Told) -> Result<(), Error> {
        let Self { endpoint, claimed, .. } = self;
        let verdict = judge(told.answer);
        let mut tx = begin(&self.pool, self.tenant).await?;
        webhooks::queue_up(&mut tx).await?;
        let now = tx.now();
        let ended = match next(verdict, claimed.tries, now, dice()?) {
            Next::Delivered => Ended::Delivered,
            Next::Dead => Ended::Dead,
            Next::Again { at } => Ended::Again { at },
        };
        let status = match told.answer {
            Answer::Status { status, .. } => Some(status),
            Answer::None | Answer::Closed => None,
        };
        let recorded = Recorded {
            ended,
            status,
            excerpt: told.excerpt.as_deref(),
            problem: told.problem.as_deref(),
        };
        if !webhooks::record(&mut tx, *endpoint, claimed, self.sender, &recorded).await? {
            tx.roll_back().await;
            count("late", 1);
            return Ok(());
        }
        let circuit = self.judged(&mut tx, verdict, told).await?;
        let rest_until = match circuit.room(now) {
            Room::Until(until) => until,
            Room::Free | Room::One => now,
        };
        if verdict == Verdict::Gone {
            self.disable(&mut tx).await?;
        } else {
            webhooks::look_again(&mut tx, *endpoint, rest_until).await?;
        }
        tx.commit().await?;
        self.tell(ended, now.since(claimed.created_at));
        Ok(())
    }

    async fn judged(&self, tx: &mut Tx, verdict: Verdict, told: &Told) -> Result<Circuit, Error> {
        let before = webhooks::circuit(tx, self.endpoint).await?;
        let circuit = match verdict {
            // Not a failure of its: it has said what it wants.
            Verdict::Delivered | Verdict::Gone => Circuit::default(),
            Verdict::Failed { retry_after } => before.failed(tx.now(), retry_after, dice()?),
        };
        if circuit != before || before.failures > 0 {
            let problem = told.problem.as_deref();
            webhooks::set_circuit(tx, self.endpoint, circuit, problem).await?;
        }
        Ok(circuit)
    }

    async fn disable(&self, tx: &mut Tx) -> Result<(), Error> {
        due::clear(tx, SEND, self.endpoint.uuid()).await?;
        if webhooks::disable(tx, self.endpoint, GONE).await? {
            let what = What {
                from: Some("active".to_owned()),
                to: Some("disabled".to_owned()),
                ..What::new(self.endpoint.to_string(), "webhook.disable")
            };
            let who = Who::from(&Actor::system(WORKER));
            let service = self.service.clone();
            let place = Where { address: None, user_agent: None, service };
            let why = Why { reason: Some(GONE.to_owned()), ticket: None };
            let leaf = Leaf::new(self.tenant, Kind::Change, who, what, tx.now(), place, why);
            audit::append(tx, &[leaf]).await?;
        }
        Ok(())
    }

    fn tell(&self, ended: Ended, age: Duration) {
        match ended {
            Ended::Delivered => {
                count("delivered", 1);
                metrics::histogram!("ade_webhook_delivery_lag_seconds").record(age.as_secs_f64());
            }
            Ended::Dead => {
                let Self { tenant, endpoint, claimed, .. } = self;
                tracing::warn!(%tenant, %endpoint, delivery = %claimed.id, "a dead letter");
                count("dead", 1);
            }
            Ended::Again { .. } => count("failed", 1),
        }
    }
}

async fn begin(pool: &Pool, tenant: TenantId) -> Result<Tx, Error> {
    Ok(Tx::begin(pool, tenant, Actor::system(WORKER), Gate::Unasked).await?)
}

fn dice() -> Result<u64, Error> {
    Ok(u64::from_be_bytes(secret::random()?))
}

fn count(outcome: &'static str, items: usize) {
    let items = u64::try_from(items).unwrap_or(u64::MAX);
    metrics::counter!("ade_webhook_deliveries_total", "outcome" => outcome).increment(items);
}
