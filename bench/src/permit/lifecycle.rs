//! Full task lifecycles on one machine: created, submitted, opened by the worker, approved by two
//! reviewers, claimed, started and finished.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Bench, BenchAgent, part, queues};
use crate::client::Client;
use crate::figure::{Goal, millis, print_plain};
use crate::installation::Server;
use crate::seed::{Person, text};

const LANES: usize = 64;
const STEPS: [&str; 5] = ["propose", "hand in", "wait for review", "approve", "apply"];

/// The total time of each step over all lifecycles.
type Times = [Duration; STEPS.len()];

struct Lane {
    client: Client,
    agent: BenchAgent,
    reviewers: Vec<Person>,
    resource: String,
}

pub async fn run(bench: &Bench, rounds: usize, lasts: Duration) -> Result<()> {
    let redis = ade_testkit::Cluster::owned().await;
    let more = [
        ("ADE__REDIS__URLS", redis.urls().join(",")),
        ("ADE__LOCKS__BACKEND", "redis".to_owned()),
        ("ADE__LOG__LEVEL", "warn,ade_server=info".to_owned()),
    ];
    let server = Server::start_with(&bench.at, bench.at.postgres.port(), true, &more).await?;
    let (mut rates, mut all, mut times) = (Vec::new(), 0, Times::default());
    // The first round warms up.
    for round in 0..=rounds {
        let began = Instant::now();
        let mut lanes = JoinSet::new();
        for nth in 0..LANES {
            let mut lane = Lane {
                client: Client::connect(&server.address).await?,
                agent: bench.agents.get(nth).context("no agent")?.clone(),
                reviewers: bench.seed.reviewers.clone(),
                resource: format!("vault:lane-{nth}"),
            };
            lanes.spawn(async move {
                let (mut lived, mut times) = (0_u32, Times::default());
                while began.elapsed() < lasts {
                    lane.live(&mut times).await?;
                    lived += 1;
                }
                Ok::<_, anyhow::Error>((lived, times))
            });
        }
        let mut lived = 0;
        while let Some(lane) = lanes.join_next().await {
            let (more, took) = lane??;
            lived += more;
            for (all, took) in times.iter_mut().zip(took) {
                *all += took;
            }
        }
        all += lived;
        if round > 0 {
            rates.push(f64::from(lived) / began.elapsed().as_secs_f64() * 60.0);
        }
    }
    print_plain("lifecycle.per_min", "1/min", &rates, Goal::AtLeast(30_000.0));
    for (step, took) in STEPS.iter().zip(times) {
        eprintln!("of one life, to {step}: {:.1} ms", millis(took) / f64::from(all.max(1)));
    }
    eprintln!("processor of the server: {:.1} s in all", server.cpu_seconds());
    drop((server, redis));
    let per_second: Vec<f64> = rates.iter().map(|rate| rate / 60.0).collect();
    queues::run(bench, &per_second).await
}

impl Lane {
    /// Runs one lifecycle as the agent, on behalf of a person.
    async fn live(&mut self, times: &mut Times) -> Result<()> {
        let [proposing, handing_in, waiting, approving, applying] = times;
        let mut began = Instant::now();
        let mut note = |of: &mut Duration| {
            *of += began.elapsed();
            began = Instant::now();
        };
        let wanted = json!({
            "title": "Rotate a secret", "type": "secret.rotate",
            "parameters": { "name": self.resource },
            "resources": [{ "resource": self.resource, "mode": "exclusive" }],
            "plan": { "changes": [{
                "resource": self.resource, "action": "change", "irreversible": false,
                "summary": "a new secret"
            }] }
        });
        let token = self.agent.token.clone();
        let draft = self.client.ask("POST", "/v1/tasks", &token, Some(&wanted), "").await?;
        note(proposing);
        let path = format!("/v1/tasks/{}", text(&draft, "id")?);
        let version = |task: &Value| part(task, "version").as_u64().unwrap_or_default();
        let matching = format!("if-match: \"{}\"\r\n", version(&draft));
        let submit = format!("{path}/submit");
        let mut task = self.client.ask("POST", &submit, &token, None, &matching).await?;
        note(handing_in);
        while part(&task, "state") != "REVIEWING" {
            if part(&task, "state") != "SUBMITTED" {
                bail!("it has become {}", part(&task, "state"));
            }
            let wait = format!("{path}?wait=10s&since_version={}", version(&task));
            task = self.client.ask("GET", &wait, &token, None, "").await?;
        }
        note(waiting);
        self.approve(&path, &task).await?;
        note(approving);
        self.apply(&draft).await?;
        note(applying);
        Ok(())
    }

    async fn approve(&mut self, path: &str, task: &Value) -> Result<()> {
        let seen = json!({ "revision": part(task, "revision"), "digest": part(task, "digest") });
        let path = format!("{path}/approve");
        for reviewer in &self.reviewers {
            self.client.ask("POST", &path, &reviewer.token, Some(&seen), "").await?;
        }
        Ok(())
    }

    async fn apply(&mut self, task: &Value) -> Result<()> {
        let token = self.agent.token.clone();
        let path = format!("/v1/agents/{}/claim?wait=10s", self.agent.id);
        let wanted = json!({ "task_id": part(task, "id") });
        let claimed = self.client.ask("POST", &path, &token, Some(&wanted), "").await?;
        let permit = part(&claimed, "permit");
        let execution = part(permit, "execution_id").as_str().context("no permit")?;
        let body = json!({ "lease_id": part(permit, "lease_id") });
        for verb in ["begin", "finish"] {
            let path = format!("/v1/executions/{execution}/{verb}");
            self.client.ask("POST", &path, &token, Some(&body), "").await?;
        }
        Ok(())
    }
}
