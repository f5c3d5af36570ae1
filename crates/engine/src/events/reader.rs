//! Brings events to the channels of this process: from the streams when a hint says that they have
//! grown, and from PostgreSQL when some are missing. Every process serves its own listeners and
//! shares nothing, so no lease is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ade_coord::streams::{Places, Streams};
use ade_core::ids::TenantId;
use ade_store::events;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::rights;
use crate::app::App;
use crate::error::Error;
use crate::services::event_hub::channel::{StreamedEvent, announce};
use crate::services::event_hub::subscribers::End;

/// Maximum delay of an event if hint and stream were lost, and the poll interval of streams.
const LIVE_POLL_PERIOD: Duration = Duration::from_secs(1);
/// The poll interval without Redis.
const LIVE_POLL_PERIOD_ALONE: Duration = Duration::from_millis(50);
/// Interval for renewing subscriptions, because a failover ends them silently.
const LIVE_HINT_HEARTBEAT: Duration = Duration::from_millis(250);
/// How often the permissions of all listeners are checked together.
const LIVE_CHECK_PERIOD: Duration = Duration::from_millis(400);
/// A listener whose permissions could not be checked for this long is disconnected.
const LIVE_UNCHECKED_MAX: Duration = Duration::from_secs(5);

type Stopped = watch::Receiver<bool>;

/// Reads the streams of one shard, as long as one of its tenants has listeners.
pub async fn read_shard(app: Arc<App>, shard: u8, mut stopped: Stopped) {
    let Some(streams) = app.live.streams.clone() else { return };
    let hub = Arc::clone(&app.live.hub);
    let Some(own) = hub.shard(shard) else { return };
    let mut places = None;
    while !*stopped.borrow() {
        let is_wanted = hub.wanted().contains(&shard);
        if is_wanted {
            let was_well = places.is_some();
            let outcome = read(&app, &streams, shard, &mut places).await;
            own.is_well.store(outcome.is_ok(), Ordering::Relaxed);
            if let Err(error) = outcome {
                tracing::debug!(
                    shard, %error,
                    "event stream read failed; reading from the database instead"
                );
                places = None;
            } else if !was_well {
                // Events from before the positions were known are read from PostgreSQL.
                hub.poke();
            }
        } else {
            places = None;
        }
        let pause = if is_wanted { LIVE_POLL_PERIOD } else { Duration::MAX };
        tokio::select! {
            () = own.grown.notified() => {}
            () = tokio::time::sleep(pause) => {}
            _ = stopped.changed() => {}
        }
    }
}

async fn read(
    app: &App,
    streams: &Streams,
    shard: u8,
    places: &mut Option<Places>,
) -> Result<(), ade_coord::CoordError> {
    let from = match places {
        Some(places) => places,
        None => places.insert(streams.ends(shard).await?),
    };
    loop {
        let page = streams.read(shard, from).await?;
        let mut tenants: BTreeMap<TenantId, Vec<StreamedEvent>> = BTreeMap::new();
        for entry in page.entries {
            tenants.entry(entry.tenant).or_default().push(StreamedEvent::from(entry));
        }
        for (tenant, entries) in tenants {
            let Some(channel) = app.live.hub.channel(tenant) else { continue };
            announce(&app.watch, tenant, &entries);
            if !channel.offer(entries)
                && let Err(error) = channel.fill(&app.pools.api, &app.watch).await
            {
                tracing::warn!(
                    %tenant, %error,
                    "event read failed; events are delayed until the database responds"
                );
            }
        }
        if !page.is_full {
            return Ok(());
        }
    }
}

/// Checks the heads of all tenants with listeners: rarely while streams work, often while they do
/// not.
pub async fn sweep(app: Arc<App>, mut stopped: Stopped) {
    let hub = Arc::clone(&app.live.hub);
    while !*stopped.borrow() {
        if let Err(error) = look(&app).await {
            tracing::warn!(%error, "event poll failed");
        }
        let is_well = |shard: &u8| {
            hub.shard(*shard).is_some_and(|shard| shard.is_well.load(Ordering::Relaxed))
        };
        let has_streams = app.live.streams.is_some() && hub.wanted().iter().all(is_well);
        let pause = if hub.wanted().is_empty() {
            Duration::MAX
        } else if has_streams {
            LIVE_POLL_PERIOD
        } else {
            LIVE_POLL_PERIOD_ALONE
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = hub.poked.notified() => {}
            _ = stopped.changed() => {}
        }
    }
}

async fn look(app: &Arc<App>) -> Result<(), Error> {
    let hub = &app.live.hub;
    let tenants: Vec<TenantId> = hub.channels().iter().map(|channel| channel.tenant).collect();
    if tenants.is_empty() {
        return Ok(());
    }
    let mut filling = JoinSet::new();
    for (tenant, head) in events::heads(&app.pools.worker, &tenants).await? {
        let Some(channel) = hub.channel(tenant).filter(|channel| channel.head() < head) else {
            continue;
        };
        let app = Arc::clone(app);
        filling.spawn(async move { channel.fill(&app.pools.api, &app.watch).await });
    }
    while let Some(filled) = filling.join_next().await {
        if let Ok(Err(error)) = filled {
            tracing::warn!(
                %error,
                "event read failed; events are delayed until the database responds"
            );
        }
    }
    Ok(())
}

/// Renews the subscriptions continuously; a renewal also serves as a heartbeat.
pub async fn follow(app: Arc<App>, mut stopped: Stopped) {
    let Some(streams) = app.live.streams.clone() else { return };
    let hub = Arc::clone(&app.live.hub);
    let mut followed: BTreeSet<u8> = BTreeSet::new();
    while !*stopped.borrow() {
        let wanted = hub.wanted();
        let mut joining = JoinSet::new();
        for shard in &wanted {
            let (streams, shard) = (streams.clone(), *shard);
            joining.spawn(async move { streams.follow(shard).await });
        }
        for left in followed.difference(&wanted) {
            let (streams, shard) = (streams.clone(), *left);
            joining.spawn(async move { streams.leave(shard).await });
        }
        while let Some(joined) = joining.join_next().await {
            if let Ok(Err(error)) = joined {
                tracing::debug!(%error, "event subscription failed; polling continues");
            }
        }
        for shard in wanted.difference(&followed) {
            hub.grown(*shard);
        }
        followed = wanted;
        let pause = if followed.is_empty() { Duration::MAX } else { LIVE_HINT_HEARTBEAT };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = hub.unfollowed.notified() => {}
            _ = stopped.changed() => {}
        }
    }
}

/// Checks the permissions of listeners. A listener that cannot be checked for too long is
/// disconnected.
pub async fn check(app: Arc<App>, mut stopped: Stopped) {
    let mut asked_at = Instant::now();
    while !*stopped.borrow() {
        let seated = app.live.hub.seats();
        let asked = tokio::time::timeout(LIVE_UNCHECKED_MAX, rights::look(&app, &seated)).await;
        match asked {
            Ok(Ok(())) => asked_at = Instant::now(),
            Ok(Err(error)) => tracing::warn!(%error, "listener permission check failed"),
            Err(_) => tracing::warn!("listener permission check timed out"),
        }
        if asked_at.elapsed() >= LIVE_UNCHECKED_MAX {
            for seat in &seated {
                seat.leave(End::Unchecked);
            }
        }
        tokio::select! {
            () = tokio::time::sleep(LIVE_CHECK_PERIOD) => {}
            _ = stopped.changed() => {}
        }
    }
}
