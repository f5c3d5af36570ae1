//! Full task lifecycles next to the jobs of queues: added, taken and done. A job is less than a
//! task: it has no approval, no lock on its resource, no fencing token and no audit entry, and
//! `BullMQ` answers before anything is on disk. The ratios show the cost of all of that together,
//! and have no goal.

use anyhow::Result;

use super::Bench;
use crate::figure::{Goal, print_ratio};
use crate::peer::{Peer, PeerServer};

const JOBS: usize = 5_000;
const CALLERS: usize = 24;
const BULLMQ: Peer = Peer {
    name: "bullmq",
    script: include_str!("../../peers/bullmq.mjs"),
    packages: &["bullmq@5"],
};
const IN_POSTGRES: [(&str, Peer); 2] = [
    (
        "peer.graphile_worker_jobs",
        Peer {
            name: "graphile-worker",
            script: include_str!("../../peers/graphile.mjs"),
            packages: &["graphile-worker@0.16"],
        },
    ),
    (
        "peer.pg_boss_jobs",
        Peer {
            name: "pg-boss",
            script: include_str!("../../peers/pg-boss.mjs"),
            packages: &["pg-boss@10"],
        },
    ),
];

pub async fn run(bench: &Bench, lives_per_second: &[f64]) -> Result<()> {
    if let Some(bullmq) = BULLMQ.fetch().await {
        let redis = PeerServer::start("redis-server", |port, folder| {
            let options = [("port", port.to_string()), ("dir", folder.to_owned())];
            let named = options.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]);
            named.chain(["--save".to_owned(), String::new()]).collect()
        })
        .await?;
        let mut rates = Vec::new();
        for _ in lives_per_second {
            rates.push(bullmq.rate(&args(redis.port.to_string())).await?);
        }
        print_ratio("peer.bullmq_jobs", "1/s", lives_per_second, &rates, Goal::None);
    }
    for (row, peer) in IN_POSTGRES {
        let Some(fetched) = peer.fetch().await else { continue };
        let database = peer.name.replace('-', "_");
        ade_testkit::database::ensure(&bench.at.postgres, &database).await?;
        let url = bench.at.postgres.url(&database);
        let mut rates = Vec::new();
        for _ in lives_per_second {
            rates.push(fetched.rate(&args(url.clone())).await?);
        }
        print_ratio(row, "1/s", lives_per_second, &rates, Goal::None);
    }
    Ok(())
}

fn args(place: String) -> [String; 3] {
    [place, JOBS.to_string(), CALLERS.to_string()]
}
