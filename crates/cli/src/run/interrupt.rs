//! Ctrl-C and its relatives, as values: what they mean depends on how far a run has come.

use std::future::Future;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

use crate::exit::Exit;
use crate::failure::Failure;

#[derive(Debug)]
pub struct Interrupts {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hang_up: unix::Signal,
}

impl Interrupts {
    /// From here on these signals end nothing by themselves.
    pub fn listen() -> Result<Self, Failure> {
        let listen = |kind: SignalKind| {
            unix::signal(kind).map_err(|error| {
                Failure::new(Exit::Failed, format!("cannot listen for signals: {error}"))
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.terminate.recv() => Signal::TERM,
            _ = self.hang_up.recv() => Signal::HUP,
        }
    }

    /// The work's answer, or the signal that came first; the work is then dropped.
    pub async fn during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Signal> {
        tokio::select! {
            biased;
            signal = self.next() => Err(signal),
            done = work => Ok(done),
        }
    }
}

/// As a shell would tell it.
pub fn exit(signal: Signal) -> Exit {
    Exit::Signalled(u8::try_from(signal.as_raw()).unwrap_or_default())
}

pub const fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::INT => "SIGINT",
        Signal::TERM => "SIGTERM",
        Signal::HUP => "SIGHUP",
        _ => "a signal",
    }
}
