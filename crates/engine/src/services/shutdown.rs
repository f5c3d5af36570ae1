//! The signal that this process is shutting down. Waits end early once it is given, as if their
//! time had passed, so that an idle long poll does not delay the exit.

use tokio::sync::watch;

#[derive(Debug)]
pub struct Shutdown(watch::Sender<bool>);

impl Default for Shutdown {
    fn default() -> Self {
        Self(watch::channel(false).0)
    }
}

impl Shutdown {
    /// Ends the waits in progress and all later ones.
    pub fn begin(&self) {
        self.0.send_replace(true);
    }

    pub fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when the shutdown begins.
    pub async fn begun(&self) {
        // The sender lives as long as this call, so the channel cannot close.
        let _ = self.0.subscribe().wait_for(|has_begun| *has_begun).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn shutdown_ends_waits_before_and_after_it_begins() {
        let shutdown = Shutdown::default();
        assert!(!shutdown.has_begun());
        let begin = async {
            tokio::task::yield_now().await;
            shutdown.begin();
        };
        tokio::join!(shutdown.begun(), begin);
        assert!(shutdown.has_begun());
        shutdown.begun().await;
    }
}
