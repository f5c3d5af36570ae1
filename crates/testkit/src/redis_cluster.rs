//! A real Redis Cluster of three masters and three replicas. A whole test run shares one cluster,
//! and each test has its own tenants. A test that breaks things owns a cluster whose processes end
//! with it. Settings that are visible to the product have Redis's defaults.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ade_core::ids::TenantId;

use crate::failure::{Failure, or_fail};
use crate::ledger::{Ledger, write_whole};
use crate::port::random_u128;
use crate::redis_node::Node;
use crate::run::Run;
use crate::signal::poll_until;
use crate::topology::{SLOTS, Topology};

pub const MASTERS: u16 = 3;
pub const NODES: u16 = 2 * MASTERS;
pub const NODE_TIMEOUT_MS_DEFAULT: u32 = 2_000;
/// No test breaks the shared cluster, so a slow node must not be replaced.
const NODE_TIMEOUT_MS_SHARED: u32 = 10_000;
const FORM_DEADLINE: Duration = Duration::from_mins(1);
static OWNED: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug, Clone)]
pub struct Cluster {
    nodes: Vec<Node>,
    timeout_ms: u32,
}

impl Cluster {
    /// Returns the cluster that this test run shares; the first test that calls this starts it.
    pub async fn shared() -> Self {
        let start = async {
            let run = Run::shared()?;
            let _guard = run.ledger().lock("redis").await?;
            Self::ensure(run.ledger(), "redis", NODE_TIMEOUT_MS_SHARED).await
        };
        or_fail(start.await)
    }

    pub async fn owned() -> OwnedCluster {
        Self::owned_with(NODE_TIMEOUT_MS_DEFAULT).await
    }

    pub async fn owned_with(timeout_ms: u32) -> OwnedCluster {
        let prefix = format!("redis-{}", OWNED.fetch_add(1, Ordering::Relaxed));
        let start = async {
            let run = Run::own()?;
            let cluster = Self::ensure(run.ledger(), &prefix, timeout_ms).await?;
            Ok(OwnedCluster { cluster })
        };
        or_fail(start.await)
    }

    /// Starts the cluster unless it runs: with its known nodes if there are any, otherwise as a new
    /// one.
    pub async fn ensure(ledger: &Ledger, prefix: &str, timeout_ms: u32) -> Result<Self, Failure> {
        if let Some(mut cluster) = Self::load(ledger, prefix) {
            cluster.timeout_ms = timeout_ms;
            let down: Vec<&Node> = cluster.nodes.iter().filter(|node| !node.is_running()).collect();
            if !down.is_empty() {
                for node in down {
                    node.kill();
                    node.start(timeout_ms).await?;
                }
                cluster.until_ok(FORM_DEADLINE).await?;
            }
            return Ok(cluster);
        }
        let mut nodes = Vec::new();
        for index in 0..NODES {
            nodes.push(Node::create(ledger, &format!("{prefix}-{index}"), timeout_ms).await?);
        }
        let cluster = Self { nodes, timeout_ms };
        cluster.form().await?;
        write_whole(&formed_path(ledger, prefix), "")?;
        Ok(cluster)
    }

    /// Loads what an earlier `ensure` recorded; the nodes may be down.
    pub fn load(ledger: &Ledger, prefix: &str) -> Option<Self> {
        if !formed_path(ledger, prefix).exists() {
            return None;
        }
        let load = |index| Node::load(ledger, &format!("{prefix}-{index}"));
        let nodes = (0..NODES).map(load).collect::<Option<_>>()?;
        Some(Self { nodes, timeout_ms: NODE_TIMEOUT_MS_DEFAULT })
    }

    async fn form(&self) -> Result<(), Failure> {
        let count = usize::from(MASTERS);
        let (masters, replicas) = self.nodes.split_at_checked(count).unwrap_or_default();
        let mut epoch = 0;
        for node in &self.nodes {
            epoch += 1;
            let mut command = redis::cmd("CLUSTER");
            node.ask::<()>(command.arg("SET-CONFIG-EPOCH").arg(epoch)).await?;
        }
        for (share, node) in (0..MASTERS).zip(masters) {
            let first = SLOTS / MASTERS * share;
            let last = if share + 1 == MASTERS { SLOTS } else { SLOTS / MASTERS * (share + 1) } - 1;
            let mut command = redis::cmd("CLUSTER");
            node.ask::<()>(command.arg("ADDSLOTSRANGE").arg(first).arg(last)).await?;
        }
        for node in &self.nodes {
            for other in self.nodes.iter().filter(|other| other.port() != node.port()) {
                let mut command = redis::cmd("CLUSTER");
                command.arg("MEET").arg("127.0.0.1").arg(other.port());
                node.ask::<()>(&command).await?;
            }
        }
        poll_until("all nodes have met", FORM_DEADLINE, async || {
            for node in &self.nodes {
                require_met(&node.topology().await?, node)?;
            }
            Ok::<_, Failure>(())
        })
        .await?;
        for (master, replica) in masters.iter().zip(replicas) {
            let id: String = master.ask(redis::cmd("CLUSTER").arg("MYID")).await?;
            let mut command = redis::cmd("CLUSTER");
            replica.ask::<()>(command.arg("REPLICATE").arg(id)).await?;
        }
        self.until_ok(FORM_DEADLINE).await
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Node::url).collect()
    }

    /// Waits until the cluster is healthy, and fails the test at the deadline.
    pub async fn wait_until_ok(&self, deadline: Duration) {
        or_fail(self.until_ok(deadline).await);
    }

    async fn until_ok(&self, deadline: Duration) -> Result<(), Failure> {
        poll_until("the cluster is ok", deadline, async || self.check().await).await
    }

    /// Succeeds when every running node is ok, all agree on the owners of the slots and
    /// on the replicas, and every running replica is in sync with its master. Paused and killed
    /// nodes are skipped.
    pub async fn check(&self) -> Result<(), Failure> {
        let mut views = BTreeSet::new();
        for node in self.nodes.iter().filter(|node| node.is_running()) {
            let what = format!("{} on port {}", node.label(), node.port());
            let state = node.fact(redis::cmd("CLUSTER").arg("INFO"), "cluster_state").await?;
            if state != "ok" {
                return Err(Failure::new(what, format!("cluster_state is {state}")));
            }
            let topology = node.topology().await?;
            if topology.covered_slots() != usize::from(SLOTS) {
                let why = format!("{} slots are served", topology.covered_slots());
                return Err(Failure::new(what, why));
            }
            let follows = topology.member_at(node.port()).is_some_and(|me| me.master.is_some());
            let replication = redis::cmd("INFO").arg("replication").to_owned();
            if follows && node.fact(&replication, "master_link_status").await? != "up" {
                return Err(Failure::new(what, "is not in step with its master"));
            }
            let copies: Vec<Option<String>> = self
                .nodes
                .iter()
                .filter(|node| node.is_running())
                .map(|node| topology.member_at(node.port())?.master.clone())
                .collect();
            views.insert((topology.owners().into_iter().collect::<Vec<_>>(), copies));
        }
        match views.len() {
            1 => Ok(()),
            0 => Err(Failure::new("check the cluster", "no node runs")),
            _ => {
                Err(Failure::new("check the cluster", "nodes disagree on who owns or copies what"))
            }
        }
    }

    /// Returns the topology as the first node that answers sees it.
    pub async fn topology(&self) -> Result<Topology, Failure> {
        let mut outcome = Err(Failure::new("look at the cluster", "no node runs"));
        for node in self.nodes.iter().filter(|node| node.is_running()) {
            outcome = node.topology().await;
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    fn node_at(&self, port: u16) -> Result<&Node, Failure> {
        let known = self.nodes.iter().find(|node| node.port() == port);
        known.ok_or_else(|| Failure::new("look at the cluster", format!("stranger at {port}")))
    }

    pub async fn slot_of(&self, key: &str) -> u16 {
        let mut outcome = Err(Failure::new("hash a key", "no node runs"));
        for node in self.nodes.iter().filter(|node| node.is_running()) {
            outcome = node.ask(redis::cmd("CLUSTER").arg("KEYSLOT").arg(key)).await;
            if outcome.is_ok() {
                break;
            }
        }
        or_fail(outcome)
    }

    async fn find_master(&self, slot: u16) -> Result<&Node, Failure> {
        let topology = self.topology().await?;
        let missing =
            || Failure::new(format!("find the master of slot {slot}"), "no node serves it");
        let master = topology.master_of(slot).ok_or_else(missing)?;
        self.node_at(master.port)
    }

    pub async fn master_of(&self, slot: u16) -> &Node {
        or_fail(self.find_master(slot).await)
    }

    /// Replaces the value of every key with this hash tag by one of another type, so that
    /// operations on these keys fail and no others do.
    pub async fn spoil(&self, tag: &str) {
        let tag = format!("{{{tag}}}");
        let master = self.master_of(self.slot_of(&tag).await).await;
        let found = master.ask(redis::cmd("KEYS").arg(format!("*{tag}*"))).await;
        let keys: Vec<String> = or_fail(found);
        assert!(!keys.is_empty(), "{tag} has no keys");
        for key in keys {
            let spoilt = master.ask(redis::cmd("SET").arg(key).arg("spoilt")).await;
            or_fail::<String>(spoilt);
        }
    }

    /// Returns the running nodes that report themselves as masters.
    async fn masters(&self) -> Vec<&Node> {
        let mut masters = Vec::new();
        for node in self.nodes.iter().filter(|node| node.is_running()) {
            if or_fail(node.role().await).starts_with("master") {
                masters.push(node);
            }
        }
        masters
    }

    /// Returns everything that the masters hold now.
    pub async fn contents(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for master in self.masters().await {
            all.extend(or_fail(master.contents().await));
        }
        all
    }

    pub async fn replicas_of(&self, slot: u16) -> Vec<&Node> {
        let find = async {
            let topology = self.topology().await?;
            let replicas = topology.replicas_of(slot);
            replicas.iter().map(|member| self.node_at(member.port)).collect()
        };
        or_fail(find.await)
    }
}

fn formed_path(ledger: &Ledger, prefix: &str) -> std::path::PathBuf {
    ledger.dir().join(format!("{prefix}.formed"))
}

fn require_met(topology: &Topology, node: &Node) -> Result<(), Failure> {
    let met = |member: &&crate::topology::Member| member.is_linked && !member.is_unsure;
    let count = topology.members.iter().filter(met).count();
    if count == usize::from(NODES) && topology.members.len() == count {
        return Ok(());
    }
    Err(Failure::new(node.label(), format!("knows {count} of {NODES} nodes")))
}

/// A cluster to be broken; it is killed and removed when it is dropped.
#[derive(Debug)]
pub struct OwnedCluster {
    cluster: Cluster,
}

impl OwnedCluster {
    /// Kills a node with SIGKILL, so that it notifies no other node.
    pub fn kill(&self, node: &Node) {
        node.kill();
    }

    /// Stops a node with SIGSTOP: its sockets stay open and silent.
    pub fn pause(&self, node: &Node) {
        if let Some(process) = node.process() {
            process.pause();
        }
    }

    pub fn resume(&self, node: &Node) {
        if let Some(process) = node.process() {
            process.resume();
        }
    }

    /// Restarts the node on its port, without its data.
    pub async fn restart_empty(&self, node: &Node) {
        node.kill();
        or_fail(node.start(self.cluster.timeout_ms).await);
    }

    /// Deletes all data of every master, and of its replicas with it.
    pub async fn flush(&self) {
        for master in self.cluster.masters().await {
            or_fail::<String>(master.ask(&redis::cmd("FLUSHALL")).await);
        }
    }

    /// Returns the node that took the slot over from `old`, once all running nodes agree on it.
    pub async fn wait_for_new_master(&self, slot: u16, old: &Node, deadline: Duration) -> &Node {
        let what = format!("slot {slot} has another master than port {}", old.port());
        let promoted = poll_until(&what, deadline, async || {
            let master = self.cluster.find_master(slot).await?;
            if master.port() == old.port() {
                return Err(Failure::new(&what, "not yet"));
            }
            self.cluster.check().await?;
            Ok(master)
        });
        or_fail(promoted.await)
    }
}

impl Deref for OwnedCluster {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl Drop for OwnedCluster {
    fn drop(&mut self) {
        // All nodes are killed at once: otherwise the remaining ones would fail over for nothing.
        self.cluster.nodes.iter().for_each(Node::kill);
        self.cluster.nodes.iter().for_each(Node::remove);
    }
}

/// Tenants that no other test of the run has, so that the keys of two tests never collide.
#[derive(Debug)]
pub struct Namespace {
    base: u128,
    made: AtomicUsize,
}

impl Namespace {
    pub fn fresh() -> Self {
        // The low half is a counter.
        let base = or_fail(random_u128()) >> 64 << 64;
        let made = AtomicUsize::new(0);
        Self { base, made }
    }

    /// Returns another tenant with every call.
    pub fn tenant(&self) -> TenantId {
        let next = self.made.fetch_add(1, Ordering::Relaxed);
        TenantId::from_u128(self.base | next as u128)
    }
}
