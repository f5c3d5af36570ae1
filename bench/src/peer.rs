//! Other programs that do a part of the same job. They are downloaded into a directory once,
//! receive the address of their server, and print one figure. A program that is not installed and
//! cannot be fetched is named and left out.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use ade_testkit::port::free_redis_port;
use ade_testkit::signal::poll_until;
use anyhow::{Context as _, Result, ensure};
use tokio::net::TcpStream;
use tokio::process::Command;

const STARTS_WITHIN: Duration = Duration::from_secs(20);

/// A script and the packages that it needs.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    pub name: &'static str,
    pub script: &'static str,
    pub packages: &'static [&'static str],
}

impl Peer {
    /// Prepares the peer. Prints the reason and returns `None` if it is not available.
    pub async fn fetch(self) -> Option<Fetched> {
        let fetched = self.try_fetch().await;
        fetched.inspect_err(|why| eprintln!("no row for {}: {why:#}", self.name)).ok()
    }

    async fn try_fetch(self) -> Result<Fetched> {
        let folder = std::env::temp_dir().join("ade-bench-peers").join(self.name);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("peer.mjs"), self.script)?;
        if !folder.join("node_modules").exists() {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&folder);
            npm.args(self.packages).stdout(Stdio::null()).stderr(Stdio::null());
            let ended = npm.status().await.context("npm cannot be started")?;
            ensure!(ended.success(), "npm gave nothing");
        }
        Ok(Fetched { folder })
    }
}

#[derive(Debug)]
pub struct Fetched {
    folder: PathBuf,
}

impl Fetched {
    /// Runs the peer, and returns its operations per second.
    pub async fn rate(&self, args: &[String]) -> Result<f64> {
        let mut node = Command::new("node");
        node.arg("peer.mjs").args(args).current_dir(&self.folder).stderr(Stdio::inherit());
        let output = node.output().await.context("node cannot be started")?;
        ensure!(output.status.success(), "it ended with {}", output.status);
        String::from_utf8(output.stdout)?.trim().parse().context("it printed no figure")
    }
}

/// A server that a peer needs and the product does not; it ends when it is dropped.
#[derive(Debug)]
pub struct PeerServer {
    child: Child,
    pub port: u16,
    folder: PathBuf,
}

impl PeerServer {
    /// Starts the server with options that contain its port and its own directory.
    pub async fn start(name: &str, options: impl FnOnce(u16, &str) -> Vec<String>) -> Result<Self> {
        let port = free_redis_port()?;
        let folder = std::env::temp_dir().join(format!("ade-bench-{name}-{port}"));
        std::fs::create_dir_all(&folder)?;
        let mut command = std::process::Command::new(name);
        command.args(options(port, &folder.to_string_lossy())).stdout(Stdio::null());
        let child = command.stderr(Stdio::null()).spawn();
        let child = child.with_context(|| format!("{name} cannot be started"))?;
        let program = Self { child, port, folder };
        let listens = async || TcpStream::connect(("127.0.0.1", port)).await.map(drop);
        poll_until("it listens", STARTS_WITHIN, listens).await?;
        Ok(program)
    }
}

impl Drop for PeerServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
