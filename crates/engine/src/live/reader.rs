//! Brings events to the channels of this process: from the streams where a hint says that they have
//! grown, from the record where something is missing. Every process does so for its own listeners;
//! there is nothing to share and so no lease.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ade_coord::streams::{Places, Streams};
use ade_core::ids::TenantId;
use ade_core::limits::{
    LIVE_CHECK_PERIOD, LIVE_HINT_HEARTBEAT, LIVE_POLL_PERIOD, LIVE_POLL_PERIOD_ALONE,
    LIVE_UNCHECKED_MAX,
};
use ade_store::events;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::attend::announce;
use super::channel::Told;
use super::seats::{self, End};
use crate::app::App;
use crate::error::Error;

type Stopped = watch::Receiver<bool>;

/// The streams of one shard, for as long as somebody listens to a tenant in it.
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
                tracing::debug!(shard, %error, "events are read from the record meanwhile");
                places = None;
            } else if !was_well {
                // What came before the places were known is in the record.
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
) -> Result<(), ade_coord::Error> {
    let from = match places {
        Some(places) => places,
        None => places.insert(streams.ends(shard).await?),
    };
    loop {
        let page = streams.read(shard, from).await?;
        let mut tenants: BTreeMap<TenantId, Vec<Told>> = BTreeMap::new();
        for entry in page.entries {
            tenants.entry(entry.tenant).or_default().push(Told::from(entry));
        }
        for (tenant, entries) in tenants {
            let Some(channel) = app.live.hub.channel(tenant) else { continue };
            announce(app, tenant, &entries);
            if !channel.offer(entries)
                && let Err(error) = channel.fill(app).await
            {
                tracing::warn!(%tenant, %error, "events are missing until the record answers");
            }
        }
        if !page.is_full {
            return Ok(());
        }
    }
}

/// Looks at the heads of all tenants that somebody listens to: seldom while streams work, often
/// while they do not.
pub async fn sweep(app: Arc<App>, mut stopped: Stopped) {
    let hub = Arc::clone(&app.live.hub);
    while !*stopped.borrow() {
        if let Err(error) = look(&app).await {
            tracing::warn!(%error, "cannot look for events");
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
        filling.spawn(async move { channel.fill(&app).await });
    }
    while let Some(filled) = filling.join_next().await {
        if let Ok(Err(error)) = filled {
            tracing::warn!(%error, "events are missing until the record answers");
        }
    }
    Ok(())
}

/// Subscribes anew all the time: where it stands already, that is its heartbeat.
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
                tracing::debug!(%error, "no subscription now: polls go on");
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

/// Asks whether those who listen still may. Whoever cannot be asked for too long listens no more.
pub async fn check(app: Arc<App>, mut stopped: Stopped) {
    let mut asked_at = Instant::now();
    while !*stopped.borrow() {
        let seated = app.live.hub.seats();
        let asked = tokio::time::timeout(LIVE_UNCHECKED_MAX, seats::look(&app, &seated)).await;
        match asked {
            Ok(Ok(())) => asked_at = Instant::now(),
            Ok(Err(error)) => tracing::warn!(%error, "cannot ask whether listeners still may"),
            Err(_) => tracing::warn!("no answer whether listeners still may"),
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
