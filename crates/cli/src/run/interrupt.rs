//! Interrupt signals as values: their meaning depends on the phase of a run.

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
    /// Installs the handlers; from then on these signals no longer end the process.
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

    /// Returns the result of the work, or the signal that came first and dropped it.
    pub async fn during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Signal> {
        tokio::select! {
            biased;
            signal = self.next() => Err(signal),
            done = work => Ok(done),
        }
    }
}

/// Returns the exit code that a shell reports for a signal.
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
