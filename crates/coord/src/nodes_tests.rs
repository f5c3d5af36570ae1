//! Redis over TLS: whom it is spoken to with, and who is not.

use std::time::Duration;

use ade_testkit::authority::put;
use ade_testkit::port::{BUS_OFFSET, free_redis_port};
use ade_testkit::{Authority, Certificate, OwnedCluster, eventually};
use redis::Value;

use super::*;
use crate::cluster::Cluster;
use crate::script::Script;

const SOON: Duration = Duration::from_secs(30);

#[test]
fn only_tls_leaves_the_machine_guarded() {
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
    // Whoever asks for no checks is not taken for guarded, whatever the driver makes of it.
    assert_ne!(is_guarded("rediss://cache.example:7000/#insecure").ok(), guarded);
}

/// Lets every node speak TLS too, on a port of its own, and only to those whom the authority has
/// signed.
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
        // On another, if somebody took it meanwhile.
        let port = eventually("a port for TLS", SOON, async || {
            let port = free_redis_port()?;
            let mut command = command.clone();
            node.ask::<()>(command.arg(&["tls-port", &port.to_string()])).await.map(|()| port)
        })
        .await;
        // What it tells the others of itself.
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

/// Keys on every node.
async fn use_all(cluster: &Cluster) -> Result<(), Error> {
    let script = Script::new("test", "#!lua\nreturn redis.call('INCR', KEYS[1])".to_owned());
    for at in 0..24 {
        let counted: Value = cluster.run(&script, &[format!("{{{at}}}:count")], &[]).await?;
        assert!(matches!(counted, Value::Int(_)), "{counted:?}");
    }
    Ok(())
}

#[tokio::test]
async fn nodes_are_spoken_to_by_tls_with_certificates_on_both_sides() {
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
        ("its nodes were signed by somebody else", trusting(&stranger, own())),
        ("the nodes do not know it", trusting(&authority, Some(stranger.sign(&["ade"])))),
        ("it shows nothing", trusting(&authority, None)),
        ("it does not speak TLS", {
            let plain = |url: &String| url.replacen("rediss", "redis", 1);
            urls.iter().map(plain).collect::<Vec<_>>().into()
        }),
    ] {
        let refused = use_all(&Cluster::open(&nodes).unwrap()).await;
        assert!(refused.is_err(), "although {why}");
    }
    eventually("they are reached still", SOON, async || use_all(&known).await).await;
}
