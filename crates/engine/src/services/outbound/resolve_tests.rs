//! Names whose owner changes the answer: the checked address must be the one connected to.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::super::{Connecting, client};
use super::*;

/// A resolver that changes its answer with each query, like an attacker who owns the name.
#[derive(Debug, Clone, Default)]
struct Changing(Arc<Mutex<(VecDeque<Vec<IpAddr>>, usize)>>);

impl Changing {
    fn new(answers: &[&[&str]]) -> Self {
        let parsed = answers.iter().map(|some| some.iter().map(|one| one.parse().unwrap()));
        let answers = parsed.map(Iterator::collect).collect();
        Self(Arc::new(Mutex::new((answers, 0))))
    }

    fn asked(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

impl Lookup for Changing {
    fn lookup<'a>(&'a self, _: &'a str) -> Looking<'a> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.1 += 1;
        let answer = kept.0.pop_front().unwrap_or_default();
        Box::pin(std::future::ready(answer))
    }
}

const CONNECTING: Connecting =
    Connecting { timeout: Duration::from_secs(5), idle: Duration::from_secs(5) };

/// Answers every request on an address of this machine, and counts them.
async fn listen(address: &str, port: u16) -> (u16, tokio::sync::watch::Receiver<usize>) {
    let listener = TcpListener::bind((address, port)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (counter, calls) = tokio::sync::watch::channel(0);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counter.send_modify(|calls| *calls += 1);
            let mut bytes = [0; 1024];
            let _ = stream.read(&mut bytes).await;
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(head.as_bytes()).await;
        }
    });
    (port, calls)
}

/// A name is resolved once for both the check and the connection, and again for the next call.
#[tokio::test]
async fn dns_answer_is_checked_where_it_is_used() {
    let (port, good) = listen("127.0.0.1", 0).await;
    let (_, bad) = listen("127.0.0.2", port).await;
    let changing = Changing::new(&[&["127.0.0.1"], &["10.0.0.1"], &["127.0.0.1", "10.0.0.1"]]);
    let client = client(AddressPolicy::Loopback, CONNECTING, changing.clone()).unwrap();
    let url = format!("http://rebind.example.com:{port}/");
    let first = client.get(&url).send().await.unwrap();
    assert_eq!((first.status().as_u16(), *good.borrow(), changing.asked()), (200, 1, 1));
    let second = client.get(&url).send().await.unwrap_err();
    assert_eq!(is_closed(&second), Some(Closed::Address));
    let third = client.get(&url).send().await.unwrap_err();
    assert_eq!(is_closed(&third), Some(Closed::Address), "one closed address refuses both");
    let gone = client.get(&url).send().await.unwrap_err();
    assert_eq!(is_closed(&gone), Some(Closed::Nothing));
    assert_eq!((*good.borrow(), *bad.borrow(), changing.asked()), (1, 0, 4));
}

#[tokio::test]
async fn dns_name_that_resolves_to_closed_address_is_refused() {
    for closed in [
        &["127.0.0.1"][..],
        &["::1"],
        &["::ffff:127.0.0.1"],
        &["169.254.169.254"],
        &["10.0.0.1"],
        &["fd00:ec2::254"],
        &["64:ff9b::7f00:1"],
        &["0.0.0.0"],
        &["8.8.8.8", "192.168.0.1"],
        &["2606:4700:4700::1111", "fe80::1"],
    ] {
        let client = client(AddressPolicy::Open, CONNECTING, Changing::new(&[closed])).unwrap();
        let refused = client.get("https://name.example.com/").send().await.unwrap_err();
        assert_eq!(is_closed(&refused), Some(Closed::Address), "{closed:?}");
    }
}

#[tokio::test]
async fn outbound_call_to_open_network_without_tls_is_refused() {
    let changing = Changing::new(&[&["8.8.8.8"]]);
    let client = client(AddressPolicy::Open, CONNECTING, changing.clone()).unwrap();
    let refused = client.get("http://name.example.com/").send().await.unwrap_err();
    assert!(refused.is_builder(), "{refused:?}");
    assert_eq!(changing.asked(), 0);
}

#[tokio::test]
async fn outbound_redirect_is_not_followed() {
    let (port, _) = listen("127.0.0.1", 0).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = [0; 1024];
            let _ = stream.read(&mut bytes).await;
            let to = format!("Location: http://127.0.0.1:{port}/");
            let head = format!("HTTP/1.1 307 Go\r\n{to}\r\nContent-Length: 0\r\n\r\n");
            let _ = stream.write_all(head.as_bytes()).await;
        }
    });
    let client = client(AddressPolicy::Loopback, CONNECTING, SystemLookup).unwrap();
    let answer = client.post(format!("http://{at}/")).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 307);
}
