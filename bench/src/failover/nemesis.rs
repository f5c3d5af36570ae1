//! Injects faults into the servers and the holders, one after the other, in an order chosen by the
//! seed. Each fault leaves the cluster healthy before the next one.

use std::time::{Duration, Instant};

use ade_core::ids::TenantId;
use ade_testkit::lock_history::InjectedFault;
use ade_testkit::process::Process;
use ade_testkit::redis_node::Node;
use ade_testkit::signal::poll_until;
use ade_testkit::{Failure, OwnedCluster};
use anyhow::{Context as _, Result};
use tokio::time::sleep;

use super::{KILL, moment};

/// The time without disturbance before the next fault.
const CALM: Duration = Duration::from_millis(1_500);
/// A replica that is stopped for this long has missed writes.
const STALL: Duration = Duration::from_millis(400);
/// Longer than any lease of the holders.
const FREEZE: Duration = Duration::from_millis(1_800);
const SOON: Duration = Duration::from_mins(1);
const MIGRATE_MS: u32 = 5_000;
/// Longer than a node can be busy with one command, including a migration.
const PATIENCE: Duration = Duration::from_secs(10);
const TRY: Duration = Duration::from_secs(7);
const TRIES: usize = 5;

#[derive(Debug, Clone, Copy)]
enum Kind {
    StallAndKill,
    TakeOver,
    FailOver,
    Flush,
    Reshard,
    Freeze,
}

const KINDS: [Kind; 6] =
    [Kind::StallAndKill, Kind::TakeOver, Kind::FailOver, Kind::Flush, Kind::Reshard, Kind::Freeze];

pub struct Nemesis<'a> {
    servers: &'a OwnedCluster,
    slot: u16,
    holders: &'a [Process],
    dice: u64,
}

impl<'a> Nemesis<'a> {
    pub async fn new(
        servers: &'a OwnedCluster,
        tenant: TenantId,
        holders: &'a [Process],
        seed: u64,
    ) -> Self {
        let slot = servers.slot_of(&format!("{{{tenant}}}")).await;
        Self { servers, slot, holders, dice: seed }
    }

    /// Injects faults until the end: each kind once per round, in another order each time.
    pub async fn rage(mut self, end: Instant) -> Result<Vec<InjectedFault>> {
        let mut faults = Vec::new();
        let mut left = Vec::new();
        while Instant::now() < end {
            sleep(CALM).await;
            if left.is_empty() {
                left = KINDS.to_vec();
            }
            let next = left.swap_remove(self.below(left.len()));
            faults.extend(self.inject(next).await?);
            self.servers.wait_until_ok(SOON).await;
        }
        Ok(faults)
    }

    fn below(&mut self, end: usize) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        usize::try_from(self.dice >> 33).unwrap_or_default() % end.max(1)
    }

    async fn inject(&mut self, kind: Kind) -> Result<Vec<InjectedFault>> {
        let fault = |name: &str, at| InjectedFault { at, name: name.to_owned() };
        let (master, replica) = self.pair().await?;
        Ok(match kind {
            Kind::StallAndKill => {
                self.servers.pause(&replica);
                sleep(STALL).await;
                let at = moment();
                self.servers.kill(&master);
                self.servers.resume(&replica);
                self.servers.wait_for_new_master(self.slot, &master, SOON).await;
                let elected = moment();
                self.servers.restart_empty(&master).await;
                vec![fault(KILL, at), fault("elected", elected)]
            }
            Kind::TakeOver => {
                let at = self.move_to(&replica, &master, &["FAILOVER", "TAKEOVER"]).await?;
                vec![fault("takeover", at)]
            }
            Kind::FailOver => {
                let at = self.move_to(&replica, &master, &["FAILOVER"]).await?;
                vec![fault("failover", at)]
            }
            Kind::Flush => {
                let at = moment();
                master.ask_within::<()>(&redis::cmd("FLUSHALL"), PATIENCE).await?;
                vec![fault("flush", at)]
            }
            Kind::Reshard => {
                let at = moment();
                self.reshard(&master).await?;
                vec![fault("reshard", at)]
            }
            Kind::Freeze => {
                let chosen = self.below(self.holders.len());
                let holder = self.holders.get(chosen).context("no holder")?;
                let at = moment();
                holder.pause();
                sleep(FREEZE).await;
                holder.resume();
                vec![fault("freeze", at)]
            }
        })
    }

    /// Requests a failover, and requests it again if nothing happens, because a replica that has
    /// fallen behind under load gives up. Returns the time of the last request.
    async fn move_to(&self, replica: &Node, from: &Node, words: &[&str]) -> Result<u64> {
        let mut outcome = Ok(());
        let mut at = moment();
        for _ in 0..TRIES {
            at = moment();
            // The request is refused while the replica has not heard from its master again.
            let asked = replica.ask_within::<()>(redis::cmd("CLUSTER").arg(words), PATIENCE).await;
            if asked.is_err() {
                outcome = asked;
                sleep(TRY / 10).await;
                continue;
            }
            let has_moved = async || {
                let topology = self.servers.topology().await?;
                let master = topology.master_of(self.slot).map(|member| member.port);
                let is_other = master.is_some_and(|port| port != from.port());
                is_other.then_some(()).ok_or_else(|| Failure::new("move the slot", "not yet"))
            };
            outcome = poll_until("the replica has taken over", TRY, has_moved).await;
            if outcome.is_ok() {
                break;
            }
        }
        outcome?;
        Ok(at)
    }

    async fn pair(&self) -> Result<(Node, Node)> {
        let master = self.servers.master_of(self.slot).await.clone();
        let replicas = self.servers.replicas_of(self.slot).await;
        let replica = (*replicas.first().context("the master has no replica")?).clone();
        Ok((master, replica))
    }

    /// Moves the slot of the namespace, with all its keys, to another master.
    async fn reshard(&self, from: &Node) -> Result<()> {
        let mut masters = Vec::new();
        for node in self.servers.nodes() {
            if node.role().await?.starts_with("master") {
                masters.push(node);
            }
        }
        let to = masters.iter().find(|node| node.port() != from.port());
        let to = *to.context("there is but one master")?;
        let id = async |node: &Node| node.ask::<String>(redis::cmd("CLUSTER").arg("MYID")).await;
        let (from_id, to_id) = (id(from).await?, id(to).await?);
        let set = |words: [&str; 2]| {
            let mut command = redis::cmd("CLUSTER");
            command.arg("SETSLOT").arg(self.slot).arg(&words);
            command
        };
        to.ask::<()>(&set(["IMPORTING", &from_id])).await?;
        from.ask::<()>(&set(["MIGRATING", &to_id])).await?;
        loop {
            let mut list = redis::cmd("CLUSTER");
            let list = list.arg("GETKEYSINSLOT").arg(self.slot).arg(10);
            let keys: Vec<String> = from.ask_within(list, PATIENCE).await?;
            if keys.is_empty() {
                break;
            }
            let mut migrate = redis::cmd("MIGRATE");
            migrate.arg("127.0.0.1").arg(to.port()).arg("").arg(0).arg(MIGRATE_MS);
            from.ask_within::<()>(migrate.arg("KEYS").arg(keys), PATIENCE).await?;
        }
        to.ask::<()>(&set(["NODE", &to_id])).await?;
        for node in masters.iter().filter(|node| node.port() != to.port()) {
            node.ask::<()>(&set(["NODE", &to_id])).await?;
        }
        Ok(())
    }
}
