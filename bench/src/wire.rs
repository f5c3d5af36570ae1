//! Counts round trips between the server and PostgreSQL: a proxy that passes bytes on and counts
//! each time the client of a connection sends after its server has sent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

const BUFFER_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub struct Wire {
    pub port: u16,
    trips: Arc<AtomicU64>,
}

impl Wire {
    pub async fn to(server: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let trips = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&trips);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(join(client, server, Arc::clone(&counted)));
            }
        });
        Ok(Self { port, trips })
    }

    pub fn trips(&self) -> u64 {
        self.trips.load(Ordering::Acquire)
    }
}

async fn join(client: TcpStream, server: u16, trips: Arc<AtomicU64>) -> Result<()> {
    let server = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], server))).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let is_clients_turn = Arc::new(AtomicBool::new(true));
    let turn = Arc::clone(&is_clients_turn);
    let up = pump(from_client, to_server, move || {
        if turn.swap(false, Ordering::AcqRel) {
            trips.fetch_add(1, Ordering::AcqRel);
        }
    });
    let down = pump(from_server, to_client, move || is_clients_turn.store(true, Ordering::Release));
    let _ = tokio::join!(up, down);
    Ok(())
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    seen: impl Fn(),
) -> std::io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let length = from.read(&mut buffer).await?;
        let Some(bytes) = buffer.get(..length).filter(|bytes| !bytes.is_empty()) else {
            return to.shutdown().await;
        };
        seen();
        to.write_all(bytes).await?;
    }
}
