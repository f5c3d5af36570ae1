//! Other lock implementations: fifty concurrent callers acquire and release uncontended locks. A
//! peer that is not installed and cannot be fetched is named and left out.

use std::time::Instant;

use ade_testkit::port::free_redis_port;
use anyhow::{Result, ensure};

use super::place::{LockCluster, acquire_alone, release, spread};
use crate::figure::{Goal, print_ratio};
use crate::peer::{Peer, PeerServer};

const CALLERS: usize = 50;
/// Etcd waits for the disk with every pair, so a fraction of the pairs is enough.
const ETCD_SHARE: usize = 10;
const REDLOCK: Peer = Peer {
    name: "redlock",
    script: include_str!("../../peers/redlock.mjs"),
    packages: &["redlock@5.0.0-beta.2", "ioredis@5"],
};
const ETCD: Peer =
    Peer { name: "etcd", script: include_str!("../../peers/etcd.mjs"), packages: &["etcd3@1"] };
/// Deletes a key only if the caller still owns it, as every lock on a bare key must.
const COMPARE_AND_DELETE: &str = "#!lua
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0";

pub async fn run(place: &LockCluster, rounds: usize, pairs: usize) -> Result<()> {
    let redlock = REDLOCK.fetch().await;
    let etcd = start_etcd().await.inspect_err(|why| eprintln!("no row for etcd: {why:#}")).ok();
    let their_etcd = if etcd.is_some() { ETCD.fetch().await } else { None };
    let (mut ours, mut bare, mut reds, mut etcds) = (vec![], vec![], vec![], vec![]);
    // The first round warms up.
    for round in 0..=rounds {
        let (our_rate, bare_rate) =
            (our_pairs(place, pairs, CALLERS).await?, bare_pairs(place, pairs).await?);
        if round > 0 {
            ours.push(our_rate);
            bare.push(bare_rate);
        }
        if let Some(redlock) = &redlock {
            let at = [place.master.port().to_string(), place.space.tenant.to_string()];
            let rate = redlock.rate(&[&at[..], &[pairs.to_string(), callers()]].concat()).await?;
            reds.extend((round > 0).then_some(rate));
        }
        if let (Some(etcd), Some(theirs)) = (&etcd, &their_etcd) {
            let some = (pairs / ETCD_SHARE).to_string();
            let rate = theirs.rate(&[etcd.port.to_string(), some, callers()]).await?;
            etcds.extend((round > 0).then_some(rate));
        }
    }
    print_ratio("peer.setnx_pairs", "1/s", &ours, &bare, Goal::None);
    if redlock.is_some() {
        print_ratio("peer.redlock_pairs", "1/s", &ours, &reds, Goal::AtLeast(1.0));
    }
    if their_etcd.is_some() {
        print_ratio("peer.etcd_pairs", "1/s", &ours, &etcds, Goal::AtLeast(10.0));
    }
    Ok(())
}

fn callers() -> String {
    CALLERS.to_string()
}

pub async fn our_pairs(place: &LockCluster, pairs: usize, callers: usize) -> Result<f64> {
    let (first, locks, space) = (place.reserve(pairs), place.locks.clone(), place.space);
    rate(
        pairs,
        spread(pairs, callers, move |number| {
            let (locks, number) = (locks.clone(), first + number as u64);
            async move {
                acquire_alone(&locks, space, number).await?;
                release(&locks, space, number).await
            }
        }),
    )
    .await
}

async fn bare_pairs(place: &LockCluster, pairs: usize) -> Result<f64> {
    let mut connection = place.bare.clone();
    let mut load = redis::cmd("SCRIPT");
    let digest: String =
        load.arg("LOAD").arg(COMPARE_AND_DELETE).query_async(&mut connection).await?;
    let (first, bare, tag) = (place.reserve(pairs), place.bare.clone(), place.key(0));
    rate(
        pairs,
        spread(pairs, CALLERS, move |number| {
            let (mut bare, digest) = (bare.clone(), digest.clone());
            let (key, mine) = (format!("{tag}:{number}"), first + number as u64);
            async move {
                let mut set = redis::cmd("SET");
                set.arg(&key).arg(mine).arg("NX").arg("PX").arg(30_000);
                let taken: Option<String> = set.query_async(&mut bare).await?;
                ensure!(taken.is_some(), "{key} is held already");
                let mut give_back = redis::cmd("EVALSHA");
                give_back.arg(&digest).arg(1).arg(&key).arg(mine);
                let count: i64 = give_back.query_async(&mut bare).await?;
                ensure!(count == 1, "{key} was taken by another caller");
                Ok(())
            }
        }),
    )
    .await
}

async fn rate(pairs: usize, work: impl Future<Output = Result<()>>) -> Result<f64> {
    let began = Instant::now();
    work.await?;
    Ok(f64::from(u32::try_from(pairs)?) / began.elapsed().as_secs_f64())
}

async fn start_etcd() -> Result<PeerServer> {
    let peers = format!("http://127.0.0.1:{}", free_redis_port()?);
    PeerServer::start("etcd", |port, folder| {
        let clients = format!("http://127.0.0.1:{port}");
        let options = [
            ("data-dir", folder),
            ("listen-client-urls", clients.as_str()),
            ("advertise-client-urls", clients.as_str()),
            ("listen-peer-urls", peers.as_str()),
            ("initial-advertise-peer-urls", peers.as_str()),
            ("initial-cluster", &format!("default={peers}")),
        ];
        options.map(|(name, value)| format!("--{name}={value}")).to_vec()
    })
    .await
}
