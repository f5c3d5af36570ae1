//! Whatever can be spoken to in the one protocol is an executor with all four verbs.

use std::fmt;

use ade_core::limits::EXECUTOR_PREVIEW_DEADLINE;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::protocol::{self, Call, Silence, Verb};
use super::work::{Applies, Doing, Leash, Outcome, Stash, Unstashed, Work};
use super::{Executor, Preview, PreviewError, Previewing, Proposal};

pub trait Speak: fmt::Debug + Send + Sync {
    const NAME: &'static str;

    fn audience(&self) -> Option<&str> {
        None
    }

    /// Within the leash; dropped, it ends at once.
    fn call<'a>(
        &'a self,
        call: &'a Call<'a>,
        leash: &'a Leash,
    ) -> Doing<'a, Result<Vec<u8>, Silence>>;
}

async fn observe<T: Speak>(target: &T, proposal: &Proposal) -> Result<Preview, PreviewError> {
    protocol::require_no_plan(proposal)?;
    let (_abort, abort) = watch::channel(false);
    // Nobody listens to the log of a preview.
    let (lines, _) = mpsc::channel(1);
    let deadline = Instant::now() + EXECUTOR_PREVIEW_DEADLINE;
    let leash = Leash { deadline, abort, lines };
    protocol::preview(proposal, target.call(&Call::preview(proposal), &leash).await)
}

impl<T: Speak> Executor for T {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn preview<'a>(&'a self, proposal: &'a Proposal) -> Previewing<'a> {
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
        work: &'a Work,
        leash: &'a Leash,
    ) -> Doing<'a, Result<Stash, Unstashed>> {
        Box::pin(async move {
            protocol::stash(self.call(&Call::of(Verb::Stash, work, None, leash), leash).await)
        })
    }

    fn apply<'a>(&'a self, work: &'a Work, leash: &'a Leash) -> Doing<'a, Outcome> {
        Box::pin(async move {
            protocol::outcome(self.call(&Call::of(Verb::Apply, work, None, leash), leash).await)
        })
    }

    fn roll_back<'a>(
        &'a self,
        work: &'a Work,
        stash: &'a Stash,
        leash: &'a Leash,
    ) -> Doing<'a, Outcome> {
        Box::pin(async move {
            let call = Call::of(Verb::RollBack, work, Some(stash), leash);
            protocol::outcome(self.call(&call, leash).await)
        })
    }
}
