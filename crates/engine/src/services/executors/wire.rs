//! Implements an executor with all four verbs for every backend of the JSON protocol.

use std::fmt;

use ade_core::ids::TenantId;
use ade_core::limits::EXECUTOR_PREVIEW_DEADLINE;
use ade_store::tenants::TenantIdentity;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::job::{Applies, Doing, ExecutorOutcome, Leash, PermittedAttempt, Stash, Unstashed};
use super::protocol::{self, ExecutorCall, Silence, Verb};
use super::{Executor, Preview, PreviewError, Previewing, Proposal};

pub trait Speak: fmt::Debug + Send + Sync {
    const NAME: &'static str;

    fn audience(&self) -> Option<&str> {
        None
    }

    /// Returns the program or the URL, which identifies the backend.
    fn target(&self) -> String;

    /// Calls the backend within the limits of the leash. Dropping the future ends the call at once.
    fn call<'a>(
        &'a self,
        call: &'a ExecutorCall<'a>,
        leash: &'a Leash,
    ) -> Doing<'a, Result<Vec<u8>, Silence>>;
}

async fn observe<T: Speak>(target: &T, proposal: &Proposal) -> Result<Preview, PreviewError> {
    protocol::require_no_plan(proposal)?;
    let (_abort, abort) = watch::channel(false);
    // The log of a preview is discarded.
    let (lines, _) = mpsc::channel(1);
    let deadline = Instant::now() + EXECUTOR_PREVIEW_DEADLINE;
    let leash = Leash { deadline, abort, lines };
    protocol::preview(proposal, target.call(&ExecutorCall::preview(proposal), &leash).await)
}

impl<T: Speak> Executor for T {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn preview_target(&self, _: &TenantIdentity, _: &Proposal) -> Option<String> {
        Some(self.target())
    }

    fn preview<'a>(&'a self, _: TenantId, proposal: &'a Proposal) -> Previewing<'a> {
        Box::pin(observe(self, proposal))
    }

    fn applies(&self) -> Option<&dyn Applies> {
        Some(self)
    }
}

impl<T: Speak> Applies for T {
    fn audience(&self) -> Option<&str> {
        Speak::audience(self)
    }

    fn stash<'a>(
        &'a self,
        work: &'a PermittedAttempt,
        leash: &'a Leash,
    ) -> Doing<'a, Result<Stash, Unstashed>> {
        Box::pin(async move {
            protocol::stash(
                self.call(&ExecutorCall::of(Verb::Stash, work, None, leash), leash).await,
            )
        })
    }

    fn apply<'a>(
        &'a self,
        work: &'a PermittedAttempt,
        leash: &'a Leash,
    ) -> Doing<'a, ExecutorOutcome> {
        Box::pin(async move {
            protocol::outcome(
                self.call(&ExecutorCall::of(Verb::Apply, work, None, leash), leash).await,
            )
        })
    }

    fn roll_back<'a>(
        &'a self,
        work: &'a PermittedAttempt,
        stash: &'a Stash,
        leash: &'a Leash,
    ) -> Doing<'a, ExecutorOutcome> {
        Box::pin(async move {
            let call = ExecutorCall::of(Verb::RollBack, work, Some(stash), leash);
            protocol::outcome(self.call(&call, leash).await)
        })
    }
}
