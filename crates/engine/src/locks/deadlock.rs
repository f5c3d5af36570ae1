//! The refusal of a request whose wait was ended because of a deadlock, with the cycle. The request
//! that closed the cycle records it, possibly in another process and a moment later.

use std::time::Duration;

use ade_api::locks::LeaseView;
use ade_core::change::Digest;
use ade_core::ids::LeaseId;
use ade_core::limits::LOCK_DEADLOCKS_SHOWN_MAX;
use ade_store::locks::deadlocks;

use super::views;
use crate::app::App;
use crate::caller::Caller;
use crate::command::permission::look;
use crate::error::Error;

/// How often, and at which interval, the record of a deadlock is looked for.
const LOOKS: usize = 10;
const PAUSE: Duration = Duration::from_millis(50);

/// Returns the refusal of this lease. The cycle shows what every member of the tenant may see of
/// its locks.
pub(super) async fn refusal(app: &App, caller: &Caller, lease: LeaseId) -> Error {
    let lease = views::hash(&lease);
    for turn in 0..LOOKS {
        if turn > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        match cycle(app, caller, &lease).await {
            Ok(None) => {}
            Ok(Some(cycle)) => return Error::Deadlock { lease, cycle },
            Err(error) => {
                tracing::warn!(%error, "failed to read the cycle of a deadlock");
                break;
            }
        }
    }
    Error::Deadlock { lease, cycle: Vec::new() }
}

async fn cycle(
    app: &App,
    caller: &Caller,
    victim: &Digest,
) -> Result<Option<Vec<LeaseView>>, Error> {
    let mut tx = look(app, caller).await?;
    let found = deadlocks::list(&mut tx, LOCK_DEADLOCKS_SHOWN_MAX).await?;
    tx.roll_back().await;
    let victim = victim.to_string();
    let own = found.into_iter().find(|found| found.victim == victim);
    Ok(own.and_then(|own| serde_json::from_value(own.cycle).ok()))
}
