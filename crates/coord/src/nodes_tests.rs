//! Redis over TLS: which certificates are accepted on both sides, and which are refused.

use std::time::Duration;

use ade_testkit::authority::put;
use ade_testkit::port::{BUS_OFFSET, free_redis_port};
use ade_testkit::{Authority, Certificate, OwnedCluster, eventually};
use redis::Value;

use super::*;
use crate::cluster::Cluster;
use crate::script::Script;

const SOON: Duration = Duration::from_mins(1);

#[test]
fn connection_is_guarded_if_local_or_by_tls() {
    let (guarded, open) = (Some(true), Some(false));
    for (url, expected) in [
        ("redis://127.0.0.1:7000", guarded),
        ("redis://user:word@[::1]:7000", guarded),
        ("redis://localhost:7000", guarded),
        ("redis://10.0.0.7:7000", open),
        ("redis://cache.example:7000", open),
        ("redis://localhost.example:7000", open),
        ("rediss://cache.example:7000", guarded),
        ("nowhere", None),
    ] {
        assert_eq!(is_guarded(url).ok(), expected, "{url}");
    }
    // A URL that turns off certificate checks is never guarded, even if the driver accepts it.
    assert_ne!(is_guarded("rediss://cache.example:7000/#insecure").ok(), guarded);
}

/// Enables TLS on every node, on a port of its own, for clients that the authority has signed.
async fn guard(servers: &OwnedCluster, authority: &Authority) -> Vec<String> {
    let mut urls = Vec::new();
    for node in servers.nodes() {
        let Certificate { certificate, key } = authority.sign(&["127.0.0.1"]);
        let file = |name, text: &str| put(&node.dir(), name, text).display().to_string();
        let bus = node.port() + BUS_OFFSET;
        let mut command = redis::cmd("CONFIG");
        command
            .arg("SET")
            .arg(&["tls-cert-file", &file("certificate", &certificate)])
            .arg(&["tls-key-file", &file("key", &key)])
            .arg(&["tls-ca-cert-file", &file("authority", &authority.pem())])
            .arg(&["tls-auth-clients", "yes"])
            .arg(&["tls-cluster", "yes", "tls-replication", "yes"]);
        // Another port is tried if this one was taken meanwhile.
        let port = eventually("a port for TLS", SOON, async || {
            let port = free_redis_port()?;
            let mut command = command.clone();
            node.ask::<()>(command.arg(&["tls-port", &port.to_string()])).await.map(|()| port)
        })
        .await;
        // The address that the node announces to others.
        let mut command = redis::cmd("CONFIG");
        command
            .arg("SET")
            .arg(&["cluster-announce-port", &node.port().to_string()])
            .arg(&["cluster-announce-tls-port", &port.to_string()])
            .arg(&["cluster-announce-bus-port", &bus.to_string()]);
        node.ask::<()>(&command).await.unwrap();
        urls.push(format!("rediss://127.0.0.1:{port}"));
    }
    urls
}

/// Writes keys on every node.
async fn use_all(cluster: &Cluster) -> Result<(), CoordError> {
    let script = Script::new("test", "#!lua\nreturn redis.call('INCR', KEYS[1])".to_owned());
    for at in 0..24 {
        let counted: Value = cluster.run(&script, &[format!("{{{at}}}:count")], &[]).await?;
        assert!(matches!(counted, Value::Int(_)), "{counted:?}");
    }
    Ok(())
}

#[tokio::test]
async fn nodes_are_reached_by_mutual_tls() {
    let servers = ade_testkit::Cluster::owned_with(5_000).await;
    let (authority, stranger) = (Authority::default(), Authority::default());
    let urls = guard(&servers, &authority).await;
    let trusting = |authority: &Authority, own: Option<Certificate>| {
        let own = own.map(|Certificate { certificate, key }| Own {
            certificate: certificate.into_bytes(),
            key: key.into_bytes(),
        });
        Nodes::from(urls.clone()).trusting(Some(authority.pem().into_bytes()), own)
    };
    let own = || Some(authority.sign(&["ade"]));

    let known = Cluster::open(&trusting(&authority, own())).unwrap();
    eventually("all nodes are reached by TLS", SOON, async || use_all(&known).await).await;

    for (why, nodes) in [
        ("its nodes were signed by another authority", trusting(&stranger, own())),
        ("the nodes do not know it", trusting(&authority, Some(stranger.sign(&["ade"])))),
        ("it presents no certificate", trusting(&authority, None)),
        ("it does not speak TLS", {
            let plain = |url: &String| url.replacen("rediss", "redis", 1);
            urls.iter().map(plain).collect::<Vec<_>>().into()
        }),
    ] {
        let refused = use_all(&Cluster::open(&nodes).unwrap()).await;
        assert!(refused.is_err(), "although {why}");
    }
    eventually("the nodes are still reachable", SOON, async || use_all(&known).await).await;
}
