//! A TCP proxy on loopback whose behaviour a test changes while it runs: delay, silence, loss,
//! refusal, resets, corruption, and a cut at a chosen byte sequence. It knows no protocol. Every
//! random choice comes from the seed.

mod flow;
mod trap;

use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use flow::Flow;
use flow::{Flows, pump};

use crate::random::Random;
pub use trap::Trap;

use crate::failure::{Failure, or_fail};
use crate::signal::poll_until;

const BACKLOG: u32 = 1_024;
/// A connection that is asked to end does so in microseconds.
const CUT_DEADLINE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    ToServer,
    ToClient,
}

#[derive(Debug)]
struct Shared {
    upstream: Mutex<SocketAddr>,
    flows: watch::Sender<Flows>,
    traps: watch::Sender<Vec<Trap>>,
    /// Incremented by every cut; connections of an earlier era are reset.
    era: watch::Sender<u64>,
    /// The number of open connections.
    open: watch::Sender<usize>,
    /// The number of connections accepted so far; each connection has its number.
    accepted: AtomicU64,
    /// Connections with a lower number carry nothing any more.
    silent_below: watch::Sender<u64>,
    random: Mutex<Random>,
}

impl Shared {
    fn upstream(&self) -> SocketAddr {
        *self.upstream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn random<T>(&self, draw: impl FnOnce(&mut Random) -> T) -> T {
        draw(&mut self.random.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// A socket that is bound but does not listen, to keep the port while connections are refused.
    _port: TcpSocket,
    accepting: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy that passes everything until its settings change.
    pub fn start(upstream: SocketAddr, seed: u64) -> Self {
        let bind = || {
            let port = bind_socket(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
            let address = port.local_addr()?;
            Ok((port, address))
        };
        let (port, address) =
            or_fail(bind().map_err(|error: std::io::Error| Failure::new("bind the proxy", error)));
        let mut proxy = Self {
            shared: Arc::new(Shared {
                upstream: Mutex::new(upstream),
                flows: watch::Sender::new(Flows::default()),
                traps: watch::Sender::new(Vec::new()),
                era: watch::Sender::new(0),
                open: watch::Sender::new(0),
                accepted: AtomicU64::new(0),
                silent_below: watch::Sender::new(0),
                random: Mutex::new(Random::new(seed)),
            }),
            address,
            _port: port,
            accepting: None,
        };
        proxy.accept();
        proxy
    }

    /// Starts a proxy to a port on this machine.
    pub fn to_port(port: u16, seed: u64) -> Self {
        Self::start(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), seed)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn connections(&self) -> usize {
        *self.shared.open.borrow()
    }

    /// Sets the flow of a direction, for open connections as well, from the next byte on.
    pub fn set(&self, direction: Direction, flow: Flow) {
        self.shared.flows.send_modify(|flows| flows.set(direction, flow));
    }

    pub fn set_both(&self, flow: Flow) {
        self.set(Direction::ToServer, flow);
        self.set(Direction::ToClient, flow);
    }

    /// Sends new connections to another address; open ones stay where they are.
    pub fn repoint(&self, upstream: SocketAddr) {
        *self.shared.upstream.lock().unwrap_or_else(PoisonError::into_inner) = upstream;
    }

    /// Turns every open connection into a black hole: it stays open but carries nothing any more,
    /// not even its end. New connections work.
    pub fn silence_open(&self) {
        self.shared.silent_below.send_replace(self.shared.accepted.load(Ordering::SeqCst));
    }

    /// Resets every open connection on both sides; new ones are accepted.
    pub async fn reset(&self) {
        self.shared.era.send_modify(|era| *era += 1);
        let mut open = self.shared.open.subscribe();
        let none_open = open.wait_for(|open| *open == 0);
        let waited = tokio::time::timeout(CUT_DEADLINE, none_open).await;
        or_fail(
            waited
                .map(drop)
                .map_err(|_| Failure::new("reset the proxy's connections", "some are still open")),
        );
    }

    /// Resets every open connection and refuses new ones, as if the server did not listen.
    pub async fn cut(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
            // The listener is closed only after that.
            let _ = accepting.await;
        }
        self.reset().await;
    }

    /// Passes everything and accepts connections again. Swallowed bytes stay lost.
    pub fn heal(&mut self) {
        self.set_both(Flow::Pass);
        if self.accepting.is_none() {
            self.accept();
        }
    }

    /// Resets the connection that carries the `nth` occurrence of `pattern`, counted over all
    /// connections from now on. What came before it is passed on; of the pattern itself at most
    /// what arrived in an earlier read, so the other side never sees it whole.
    pub fn cut_after(&self, direction: Direction, pattern: &[u8], nth: usize) -> Trap {
        let trap = Trap::new(direction, pattern, nth);
        self.shared.traps.send_modify(|traps| traps.push(trap.clone()));
        trap
    }

    fn accept(&mut self) {
        let listen = || bind_socket(self.address)?.listen(BACKLOG);
        let listener = or_fail(
            listen().map_err(|error| Failure::new(format!("listen on {}", self.address), error)),
        );
        let shared = Arc::clone(&self.shared);
        self.accepting = Some(tokio::spawn(accept_all(listener, shared)));
    }

    /// Returns once this many connections are open.
    pub async fn wait_for_connections(&self, count: usize, deadline: Duration) {
        let what = format!("{count} connections go through the proxy");
        let reached = poll_until(&what, deadline, async || match self.connections() {
            open if open == count => Ok(()),
            open => Err(format!("{open} are open")),
        });
        or_fail(reached.await);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
        }
        self.shared.era.send_modify(|era| *era += 1);
    }
}

/// Binds a socket that shares its port, because the placeholder and the listener both use it.
fn bind_socket(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}

async fn accept_all(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        let era = *shared.era.borrow();
        let number = shared.accepted.fetch_add(1, Ordering::SeqCst);
        shared.open.send_modify(|open| *open += 1);
        tokio::spawn(async move {
            carry(client, &shared, era, number).await;
            shared.open.send_modify(|open| *open -= 1);
        });
    }
}

/// Carries one connection. It ends with an orderly close if both sides closed, and otherwise with a
/// reset of both.
async fn carry(mut client: TcpStream, shared: &Shared, era: u64, number: u64) {
    let mut eras = shared.era.subscribe();
    let mut is_over = pin!(async { drop(eras.wait_for(|now| *now != era).await) });
    let mut silent_below = shared.silent_below.subscribe();
    let is_silent = async { drop(silent_below.wait_for(|below| number < *below).await) };
    let Ok(mut server) = TcpStream::connect(shared.upstream()).await else {
        let _ = client.set_zero_linger();
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let (client_read, client_write) = client.split();
    let (server_read, server_write) = server.split();
    let closed = tokio::select! {
        carried = async { tokio::try_join!(
            pump(client_read, server_write, Direction::ToServer, shared),
            pump(server_read, client_write, Direction::ToClient, shared),
        ) } => carried.is_ok(),
        () = &mut is_over => false,
        () = is_silent => {
            is_over.await;
            false
        }
    };
    if !closed {
        let _ = client.set_zero_linger();
        let _ = server.set_zero_linger();
    }
}
