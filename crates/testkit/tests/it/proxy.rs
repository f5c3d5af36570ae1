//! Every mode of the proxy with a plain echo server, where each byte can be accounted for.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ade_testkit::{Direction, Flow, Proxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::child::SOON;

/// Long enough for bytes that do arrive on this machine, short enough to wait for.
const QUIET: Duration = Duration::from_millis(150);

/// Starts a server that sends everything back, and each closing too.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut reader, mut writer) = stream.split();
                let _ = tokio::io::copy(&mut reader, &mut writer).await;
                let _ = writer.shutdown().await;
            });
        }
    });
    address
}

async fn connected() -> (Proxy, TcpStream) {
    let proxy = Proxy::start(echo().await, 7);
    let stream = TcpStream::connect(proxy.address()).await.unwrap();
    (proxy, stream)
}

async fn hear(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    timeout(SOON, stream.read_exact(&mut bytes)).await.unwrap().unwrap();
    bytes
}

async fn say_and_hear(stream: &mut TcpStream, text: &[u8]) {
    stream.write_all(text).await.unwrap();
    assert_eq!(hear(stream, text.len()).await, text);
}

async fn is_quiet(stream: &mut TcpStream) -> bool {
    timeout(QUIET, stream.read_u8()).await.is_err()
}

async fn is_reset(stream: &mut TcpStream) -> bool {
    let outcome = timeout(SOON, stream.read_u8()).await.unwrap();
    outcome.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
}

#[tokio::test]
async fn proxy_passes_bytes_and_closing_in_both_directions() {
    let (proxy, mut stream) = connected().await;
    let text: Vec<u8> = (0..1_000_000_u32).map(|at| at.to_le_bytes()[0]).collect();
    let (mut reader, mut writer) = stream.split();
    let mut heard = Vec::new();
    let (sent, read) = tokio::join!(
        async {
            writer.write_all(&text).await?;
            writer.shutdown().await
        },
        reader.read_to_end(&mut heard),
    );
    sent.unwrap();
    read.unwrap();
    assert!(heard == text);
    proxy.wait_for_connections(0, SOON).await;
}

#[tokio::test]
async fn proxy_delay_holds_bytes_back_in_time_and_in_order() {
    let (proxy, mut stream) = connected().await;
    let fixed = Duration::from_millis(40);
    let jitter = Duration::from_millis(20);
    let [mut held, mut passed] = [Duration::MAX; 2];
    // The fastest of several rounds counts, because other load on the machine only adds to a time.
    for _ in 0..5 {
        proxy.set_both(Flow::Delay { fixed, jitter });
        let began = Instant::now();
        for number in 0..20 {
            stream.write_u8(number).await.unwrap();
            tokio::task::yield_now().await;
        }
        let expected: Vec<u8> = (0..20).collect();
        assert_eq!(hear(&mut stream, 20).await, expected);
        let took = began.elapsed();
        assert!(took >= 2 * fixed, "{took:?}");
        held = held.min(took);
        proxy.set_both(Flow::Pass);
        let began = Instant::now();
        say_and_hear(&mut stream, b"now").await;
        passed = passed.min(began.elapsed());
    }
    assert!(held < 10 * fixed, "{held:?}: chunks wait together, not one after the other");
    assert!(passed < fixed, "{passed:?}");
}

#[tokio::test]
async fn proxy_blackhole_loses_bytes_in_one_direction_only() {
    for direction in [Direction::ToServer, Direction::ToClient] {
        let (proxy, mut stream) = connected().await;
        say_and_hear(&mut stream, b"before").await;
        proxy.set(direction, Flow::Swallow);
        stream.write_all(b"lost").await.unwrap();
        assert!(is_quiet(&mut stream).await);
        proxy.set_both(Flow::Pass);
        say_and_hear(&mut stream, b"after").await;
    }
}

#[tokio::test]
async fn proxy_half_open_hides_that_the_peer_has_closed() {
    let (proxy, mut stream) = connected().await;
    say_and_hear(&mut stream, b"x").await;
    proxy.set(Direction::ToClient, Flow::Swallow);
    stream.shutdown().await.unwrap();
    assert!(is_quiet(&mut stream).await, "the close of the echo server is hidden");
    assert_eq!(proxy.connections(), 1);
    proxy.set_both(Flow::Pass);
    let end = timeout(SOON, stream.read(&mut [0; 1])).await.unwrap().unwrap();
    assert_eq!(end, 0);
}

#[tokio::test]
async fn proxy_held_bytes_pass_once_it_is_healed() {
    for direction in [Direction::ToServer, Direction::ToClient] {
        let (proxy, mut stream) = connected().await;
        proxy.set(direction, Flow::Hold);
        stream.write_all(b"late").await.unwrap();
        assert!(is_quiet(&mut stream).await);
        proxy.set_both(Flow::Pass);
        assert_eq!(hear(&mut stream, 4).await, b"late");
    }
}

#[tokio::test]
async fn proxy_cut_resets_and_refuses_connections_until_healed() {
    let (mut proxy, mut stream) = connected().await;
    say_and_hear(&mut stream, b"x").await;
    assert_eq!(proxy.connections(), 1);
    proxy.cut().await;
    assert_eq!(proxy.connections(), 0);
    assert!(is_reset(&mut stream).await);
    let refused = TcpStream::connect(proxy.address()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    proxy.heal();
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    say_and_hear(&mut stream, b"again").await;
    proxy.heal();
    say_and_hear(&mut stream, b"healing the healthy changes nothing").await;
}

#[tokio::test]
async fn proxy_reset_ends_open_connections_and_accepts_new_ones() {
    let (proxy, mut stream) = connected().await;
    say_and_hear(&mut stream, b"x").await;
    proxy.reset().await;
    assert!(is_reset(&mut stream).await);
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    say_and_hear(&mut stream, b"again").await;
}

#[tokio::test]
async fn proxy_dropped_closes_its_connections() {
    let (proxy, mut stream) = connected().await;
    say_and_hear(&mut stream, b"x").await;
    let address = proxy.address();
    drop(proxy);
    assert!(is_reset(&mut stream).await);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn proxy_trap_cuts_at_the_nth_pattern_after_passing_the_rest() {
    let (proxy, mut stream) = connected().await;
    let trap = proxy.cut_after(Direction::ToClient, b"STOP", 2);
    say_and_hear(&mut stream, b"STOP is the first").await;
    assert_eq!(trap.hits(), 1);
    let mut other = TcpStream::connect(proxy.address()).await.unwrap();
    say_and_hear(&mut other, b"unhurt").await;
    stream.write_all(b"STO").await.unwrap();
    assert_eq!(hear(&mut stream, 3).await, b"STO");
    stream.write_all(b"P!").await.unwrap();
    trap.wait(SOON).await;
    assert!(is_reset(&mut stream).await, "neither P nor ! came through");
    assert_eq!(trap.hits(), 2);
    say_and_hear(&mut other, b"STOP STOP: the trap is spent").await;
    assert_eq!(trap.hits(), 2);
}

#[tokio::test]
async fn proxy_trap_matches_in_its_own_direction_only() {
    let proxy = Proxy::start(upper_case().await, 7);
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    let trap = proxy.cut_after(Direction::ToServer, b"STOP", 1);
    stream.write_all(b"stop").await.unwrap();
    assert_eq!(hear(&mut stream, 4).await, b"STOP", "towards the client");
    assert_eq!(trap.hits(), 0);
    stream.write_all(b"aSTOP").await.unwrap();
    trap.wait(SOON).await;
}

#[tokio::test]
#[should_panic(expected = "for `never\\x00` ×1 ToClient: it was seen 0 times")]
async fn proxy_trap_that_is_not_sprung_reports_its_pattern() {
    let (proxy, _stream) = connected().await;
    let trap = proxy.cut_after(Direction::ToClient, b"never\0", 1);
    trap.wait(Duration::from_millis(20)).await;
}

#[tokio::test]
async fn proxy_corruption_flips_one_bit_chosen_by_the_seed() {
    let mut heard = Vec::new();
    for seed in [1, 1, 2] {
        let proxy = Proxy::start(echo().await, seed);
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        proxy.set(Direction::ToServer, Flow::Corrupt { percent: 100 });
        stream.write_all(&[0; 64]).await.unwrap();
        let bytes = hear(&mut stream, 64).await;
        let flipped: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
        assert_eq!(flipped, 1);
        proxy.set(Direction::ToServer, Flow::Corrupt { percent: 0 });
        say_and_hear(&mut stream, b"whole").await;
        heard.push(bytes);
    }
    assert_eq!(heard[0], heard[1]);
    assert_ne!(heard[0], heard[2]);
}

#[tokio::test]
async fn proxy_repointed_sends_new_connections_to_the_new_target() {
    let (proxy, mut stream) = connected().await;
    say_and_hear(&mut stream, b"x").await;
    proxy.repoint(upper_case().await);
    say_and_hear(&mut stream, b"stays").await;
    let mut fresh = TcpStream::connect(proxy.address()).await.unwrap();
    fresh.write_all(b"moved").await.unwrap();
    assert_eq!(hear(&mut fresh, 5).await, b"MOVED");
}

/// Starts an echo server whose answers differ from the requests.
async fn upper_case() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                while let Ok(byte) = stream.read_u8().await {
                    let _ = stream.write_u8(byte.to_ascii_uppercase()).await;
                }
            });
        }
    });
    address
}
