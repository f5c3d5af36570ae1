//! The same job by others: take a lock that nobody else wants and give it back, fifty callers at
//! once. A peer that is not there and cannot be fetched is named and left out.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;

use super::place::{Place, acquire_alone, release, spread};
use crate::figure::{Goal, print_ratio};

const CALLERS: usize = 50;
const REDLOCK: &str = include_str!("../../peers/redlock.mjs");
const PACKAGES: [&str; 2] = ["redlock@5.0.0-beta.2", "ioredis@5"];
/// Gives back what is still one's own, as every lock on a bare key must.
const COMPARE_AND_DELETE: &str = "#!lua
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0";

pub async fn run(place: &Place, rounds: usize, pairs: usize) -> Result<()> {
    let redlock = Redlock::fetch().await;
    if let Err(why) = &redlock {
        eprintln!("no row for redlock: {why:#}");
    }
    let (mut ours, mut bare, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let mut rates = [our_pairs(place, pairs).await?, bare_pairs(place, pairs).await?, 0.0];
        if let Ok(redlock) = &redlock {
            rates[2] = redlock.pairs(place, pairs).await?;
        }
        // The first round warms up.
        if round > 0 {
            let [our_rate, bare_rate, their_rate] = rates;
            ours.push(our_rate);
            bare.push(bare_rate);
            theirs.push(their_rate);
        }
    }
    print_ratio("peer.setnx_pairs", "1/s", &ours, &bare, Goal::None);
    if redlock.is_ok() {
        print_ratio("peer.redlock_pairs", "1/s", &ours, &theirs, Goal::AtLeast(1.0));
    }
    Ok(())
}

async fn our_pairs(place: &Place, pairs: usize) -> Result<f64> {
    let (first, locks, space) = (place.reserve(pairs), place.locks.clone(), place.space);
    rate(
        pairs,
        spread(pairs, CALLERS, move |number| {
            let (locks, number) = (locks.clone(), first + number as u64);
            async move {
                acquire_alone(&locks, space, number).await?;
                release(&locks, space, number).await
            }
        }),
    )
    .await
}

async fn bare_pairs(place: &Place, pairs: usize) -> Result<f64> {
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
                ensure!(taken.is_some(), "somebody has {key}");
                let mut give_back = redis::cmd("EVALSHA");
                give_back.arg(&digest).arg(1).arg(&key).arg(mine);
                let count: i64 = give_back.query_async(&mut bare).await?;
                ensure!(count == 1, "somebody took {key}");
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

/// Its packages, fetched once into a folder of their own.
struct Redlock {
    folder: PathBuf,
}

impl Redlock {
    async fn fetch() -> Result<Self> {
        let folder = std::env::temp_dir().join("ade-bench-peers");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("redlock.mjs"), REDLOCK)?;
        if !folder.join("node_modules/redlock").exists() {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--prefix"])
                .arg(&folder)
                .args(PACKAGES);
            let ended = npm.stdout(Stdio::null()).stderr(Stdio::null()).status().await;
            ensure!(ended.context("npm cannot be started")?.success(), "npm gave nothing");
        }
        Ok(Self { folder })
    }

    async fn pairs(&self, place: &Place, pairs: usize) -> Result<f64> {
        let mut node = Command::new("node");
        node.arg("redlock.mjs").current_dir(&self.folder);
        node.arg(place.master.port().to_string()).arg(place.space.tenant.to_string());
        node.arg(pairs.to_string()).arg(CALLERS.to_string());
        let told =
            node.stderr(Stdio::inherit()).output().await.context("node cannot be started")?;
        String::from_utf8(told.stdout)?.trim().parse().context("redlock told no figure")
    }
}
