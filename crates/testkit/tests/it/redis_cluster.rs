//! Tests of the real cluster: it fails over, loses its data, and recovers.

use std::collections::BTreeSet;
use std::time::Duration;

use ade_testkit::topology::SLOTS;
use ade_testkit::{Cluster, Namespace};
use redis::AsyncCommands;
use redis::cluster::ClusterClient;

use crate::child::SOON;

#[tokio::test]
async fn cluster_serves_every_slot_with_a_replica() {
    let cluster = Cluster::shared().await;
    let mut masters = BTreeSet::new();
    for slot in [0, 5_460, 5_461, 5_462, 10_921, 10_922, 10_923, SLOTS - 1] {
        let master = cluster.master_of(slot).await;
        let replicas = cluster.replicas_of(slot).await;
        assert_eq!(replicas.len(), 1, "{slot}");
        assert_ne!(replicas[0].port(), master.port());
        masters.insert(master.port());
    }
    assert_eq!(masters.len(), 3);
    let again = Cluster::shared().await;
    assert_eq!(again.urls(), cluster.urls(), "the run shares one cluster");
}

#[tokio::test]
async fn cluster_client_reads_its_own_writes_under_each_tenant() {
    let cluster = Cluster::shared().await;
    let client = ClusterClient::new(cluster.urls()).unwrap();
    let mut connection = client.get_async_connection().await.unwrap();
    let (mine, yours) = (Namespace::fresh(), Namespace::fresh());
    let tenants = [mine.tenant(), mine.tenant(), yours.tenant()];
    assert_eq!(BTreeSet::from(tenants).len(), 3);
    for tenant in tenants {
        let key = format!("test:{{{tenant}}}:who");
        let _: () = connection.set(&key, tenant.to_string()).await.unwrap();
        let slot = cluster.slot_of(&key).await;
        assert_eq!(slot, cluster.slot_of(&format!("{{{tenant}}}")).await, "slot of the tag");
    }
    for tenant in tenants {
        let read: String = connection.get(format!("test:{{{tenant}}}:who")).await.unwrap();
        assert_eq!(read, tenant.to_string());
    }
}

#[tokio::test]
async fn cluster_replaces_a_killed_master_that_returns_as_replica() {
    let cluster = Cluster::owned().await;
    let slot = cluster.slot_of("{lost}").await;
    let old = cluster.master_of(slot).await.clone();
    cluster.kill(&old);
    assert!(old.process().is_none());
    assert!(cluster.check().await.is_err(), "not ok while no node serves the slot");
    let began = std::time::Instant::now();
    let new = cluster.wait_for_new_master(slot, &old, SOON).await;
    println!("failover after {:?}", began.elapsed());
    assert_ne!(new.port(), old.port());
    cluster.restart_empty(&old).await;
    cluster.wait_until_ok(SOON).await;
    assert_eq!(cluster.master_of(slot).await.port(), new.port());
    let replicas = cluster.replicas_of(slot).await;
    assert_eq!(replicas.iter().map(|node| node.port()).collect::<Vec<_>>(), [old.port()]);
}

#[tokio::test]
async fn cluster_replaces_a_paused_master_that_resumes_as_replica() {
    let cluster = Cluster::owned_with(1_000).await;
    let old = cluster.master_of(0).await.clone();
    cluster.pause(&old);
    assert!(old.process().is_some() && !old.is_running());
    let new = cluster.wait_for_new_master(0, &old, SOON).await;
    cluster.resume(&old);
    cluster.wait_until_ok(SOON).await;
    assert!(old.is_running());
    assert_eq!(cluster.master_of(0).await.port(), new.port());
}

#[tokio::test]
async fn cluster_restarted_empty_is_healthy_and_has_no_keys() {
    let cluster = Cluster::owned_with(5_000).await;
    let client = ClusterClient::new(cluster.urls()).unwrap();
    let mut connection = client.get_async_connection().await.unwrap();
    let _: () = connection.set("{x}", 1).await.unwrap();
    for node in cluster.nodes() {
        cluster.kill(node);
    }
    assert!(cluster.topology().await.is_err(), "no node runs");
    for node in cluster.nodes() {
        cluster.restart_empty(node).await;
    }
    cluster.wait_until_ok(SOON).await;
    let client = ClusterClient::new(cluster.urls()).unwrap();
    let mut connection = client.get_async_connection().await.unwrap();
    let read: Option<i32> = connection.get("{x}").await.unwrap();
    assert_eq!(read, None);
}

#[tokio::test]
async fn cluster_dropped_leaves_no_process_and_no_directory() {
    let cluster = Cluster::owned().await;
    let left: Vec<_> =
        cluster.nodes().iter().map(|node| (node.process().unwrap(), node.dir())).collect();
    assert_eq!(left.len(), 6);
    drop(cluster);
    for (process, dir) in left {
        assert!(!process.is_alive());
        assert!(!dir.exists());
    }
}

#[tokio::test]
async fn cluster_is_shared_by_concurrent_callers() {
    let (one, two) = tokio::join!(Cluster::shared(), Cluster::shared());
    assert_eq!(one.urls(), two.urls());
    one.wait_until_ok(Duration::from_secs(5)).await;
}
