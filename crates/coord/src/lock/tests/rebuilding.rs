//! A rebuild of more holds than fit in one call: callers are refused before its last page, there is
//! one builder at a time, and a page whose reply was lost may be sent again.

use ade_core::limits::{LOCK_REBUILD_PAGE, LOCK_REBUILD_PAUSE_MAX};
use ade_core::lock::{Arrival, Epoch, FencingToken, LiveHold, LockRefusal};

use super::rig::{Bench, LockCall};
use super::traps::ask;

type Outcome = Result<(), String>;

fn hold(number: u128) -> LiveHold {
    LiveHold {
        request: ask(number, number, &format!("r{number} x")),
        token: FencingToken::new(Epoch::FIRST, u64::try_from(number).unwrap()).unwrap(),
        deadline: ade_core::time::Timestamp::from_micros(1_900_000_000_000_000),
    }
}

fn must(holds: bool, what: &str) -> Outcome {
    if holds { Ok(()) } else { Err(format!("not so: {what}")) }
}

/// These cases also run on every mutant.
pub async fn all(bench: &Bench) -> Outcome {
    many_holds_come_in_pages(bench).await?;
    callers_are_refused_before_the_last_page(bench).await?;
    a_builder_that_stops_is_replaced(bench).await
}

async fn many_holds_come_in_pages(bench: &Bench) -> Outcome {
    let mut rig = bench.space();
    let count = u128::try_from(2 * LOCK_REBUILD_PAGE + 1).unwrap();
    let holds: Vec<LiveHold> = (1..=count).map(hold).collect();
    rig.call_compared(&LockCall::Rebuild(holds, None)).await?;
    rig.clear().await;
    Ok(())
}

async fn callers_are_refused_before_the_last_page(bench: &Bench) -> Outcome {
    let mut rig = bench.space();
    rig.epoch = Epoch::new(3).unwrap();
    let (first, second) = ([hold(1)], [hold(2)]);
    must(rig.page(7, 1, false, &first).await == Ok(1), "the first page")?;
    let refused = rig.alone(&ask(9, 9, "free x"), Arrival::New).await;
    let stored = Epoch::new(2);
    must(refused == Err(LockRefusal::Rebuild { stored }), "a space that is no longer empty")?;
    let stale = Err(LockRefusal::StaleEpoch { stored: rig.epoch });
    must(rig.page(8, 1, true, &second).await == stale, "another builder")?;
    must(rig.page(7, 3, true, &second).await == stale, "a page too far")?;
    must(rig.page(7, 1, false, &first).await == Ok(1), "the first page again")?;
    must(rig.page(7, 2, false, &second).await == Ok(1), "the second page")?;
    must(rig.page(7, 1, false, &first).await == Ok(1), "an old page, late")?;
    must(rig.page(7, 3, true, &[]).await == Ok(0), "the last page")?;
    must(rig.page(7, 3, true, &[]).await == stale, "the last page again")?;
    rig.model.rebuild(rig.epoch, [hold(1), hold(2)], None).answer.unwrap();
    rig.call(&LockCall::Acquire(ask(9, 9, "free x"), Arrival::New)).await?;
    rig.call(&LockCall::Acquire(ask(10, 10, "r1 x r2 x"), Arrival::New)).await?;
    rig.clear().await;
    Ok(())
}

async fn a_builder_that_stops_is_replaced(bench: &Bench) -> Outcome {
    let mut rig = bench.space();
    must(rig.page(7, 1, false, &[hold(1)]).await == Ok(1), "the first page")?;
    rig.pass(u64::try_from(LOCK_REBUILD_PAUSE_MAX.as_micros()).unwrap());
    must(rig.page(8, 1, false, &[hold(1)]).await == Ok(1), "another builder begins again")?;
    let stale = Err(LockRefusal::StaleEpoch { stored: rig.epoch });
    must(rig.page(7, 2, true, &[hold(2)]).await == stale, "the first builder is refused")?;
    // A builder of a later epoch does not have to wait.
    rig.epoch = Epoch::new(2).unwrap();
    must(rig.page(9, 1, true, &[hold(3)]).await == Ok(1), "a later epoch")?;
    rig.model.rebuild(rig.epoch, [hold(3)], None).answer.unwrap();
    rig.call(&LockCall::Acquire(ask(9, 9, "r3 x r1 x"), Arrival::New)).await?;
    rig.clear().await;
    Ok(())
}

#[tokio::test]
async fn rebuild_in_pages_refuses_callers_and_has_one_builder() {
    let bench = Bench::open().await;
    all(&bench).await.unwrap_or_else(|message| panic!("{message}"));
}
