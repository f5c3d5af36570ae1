//! The part of a holder in PostgreSQL: it registers before it reads, asserts its hold at the start
//! of every transaction, and finds out when it was fenced.

use std::time::Duration;

use ade_core::actor::Actor;
use ade_core::audit::{AuditEntry, EntryKind, What as Done, Where, Who, Why};
use ade_core::ids::LeaseId;
use ade_core::lock::{FencingToken, Request};
use ade_store::{TenantLock, Tx, audit, locks};
use ade_testkit::lock_history::What;
use anyhow::{Context as _, Result};
use tokio::time::sleep;

use super::holder::{Holder, Registered};

impl Holder {
    pub(super) async fn register(
        &mut self,
        request: &Request,
        token: FencingToken,
    ) -> Result<Registered> {
        let mut tx = self.begin().await?;
        let outcome = locks::register(&mut tx, request, self.session, token).await;
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(refusal)) => {
                tx.roll_back().await;
                return Ok(Registered::No(refusal));
            }
            Err(error) if error.is_retriable() => return Ok(Registered::Busy),
            Err(error) => return Err(error.into()),
        }
        let mut believed = Vec::new();
        for resource in request.set().resources() {
            let value = sqlx::query_as("SELECT value FROM target WHERE resource = $1");
            let rows: Vec<(i64,)> = tx.read(value.bind(resource.to_string())).await?;
            believed.push(rows.first().context("no such target")?.0);
        }
        match self.keep(tx, "lock.register").await {
            Ok(()) => Ok(Registered::Yes(believed)),
            Err(error) if error.is_retriable() => Ok(Registered::Busy),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn work_on(
        &mut self,
        request: &Request,
        token: FencingToken,
        believed: &mut [i64],
    ) -> Result<()> {
        for _ in 0..=self.below(4) {
            // Some transactions last longer than the lease.
            let pause = if self.below(8) == 0 { 1_500 } else { 20 };
            sleep(Duration::from_millis(u64::try_from(self.below(pause))?)).await;
            match self.work(request, token, believed).await {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) if error.is_retriable() => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        // Some holders do not release their locks.
        if self.below(8) > 0 {
            let mut tx = self.begin().await?;
            let released = locks::release(&mut tx, request.lease()).await;
            match released {
                Ok(0) => tx.roll_back().await,
                Ok(_) => drop(self.keep(tx, "lock.release").await),
                Err(error) if error.is_retriable() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Runs one protected transaction, and returns whether the hold was still there.
    async fn work(
        &mut self,
        request: &Request,
        token: FencingToken,
        believed: &mut [i64],
    ) -> Result<bool, ade_store::StoreError> {
        let (lease, count) = (request.lease(), request.set().len());
        let mut tx = self.begin().await?;
        let is_held = if self.is_plain {
            is_held_at_a_glance(&mut tx, lease, token, count).await?
        } else {
            locks::assert_holds(&mut tx, lease, token, count).await?.is_ok()
        };
        if !is_held {
            let early = "SELECT bool_and(deadline > clock_timestamp()) FROM lock_hold
                WHERE lease_id = $1 AND released_at IS NULL";
            let rows: Vec<(Option<bool>,)> =
                tx.read(sqlx::query_as(early).bind(lease.uuid())).await?;
            tx.roll_back().await;
            let is_early = rows.first().and_then(|row| row.0).unwrap_or(false);
            self.tell_quietly(request, What::Fenced { is_early });
            return Ok(false);
        }
        let pause = if self.below(10) == 0 { 400 } else { 6 };
        sleep(Duration::from_millis(u64::try_from(self.below(pause)).unwrap_or_default())).await;
        let mut is_stale = false;
        for (resource, believed) in request.set().resources().zip(believed) {
            let write = "UPDATE target SET value = value + 1 WHERE resource = $1 RETURNING value";
            let write = sqlx::query_as(write).bind(resource.to_string());
            let rows: Vec<(i64,)> = tx.write_rows(write).await?;
            let value = rows.first().map_or(0, |row| row.0);
            is_stale |= value != *believed + 1;
            *believed = value;
        }
        self.keep(tx, "lock.work").await?;
        self.tell_quietly(request, What::Committed { is_stale });
        Ok(true)
    }

    pub(super) async fn begin(&self) -> Result<Tx, ade_store::StoreError> {
        Tx::begin(&self.pool, self.tenant, Actor::system("failover"), TenantLock::None).await
    }

    pub(super) async fn keep(&self, mut tx: Tx, action: &str) -> Result<(), ade_store::StoreError> {
        let what = Done {
            object: "db:a".to_owned(),
            action: action.to_owned(),
            from: None,
            to: None,
            revision: None,
            digest: None,
        };
        let place = Where::service("failover");
        let who = Who::System { worker: "failover".to_owned() };
        let now = tx.now();
        let entry =
            AuditEntry::new(self.tenant, EntryKind::Change, who, what, now, place, Why::default());
        audit::append(&mut tx, &[entry]).await?;
        tx.commit().await
    }
}

/// Checks the hold without locking it: a common check that is not sufficient, as positive control.
async fn is_held_at_a_glance(
    tx: &mut Tx,
    lease: LeaseId,
    token: FencingToken,
    count: usize,
) -> Result<bool, ade_store::StoreError> {
    let look = "SELECT count(*) FROM lock_hold WHERE lease_id = $1 AND token = $2
        AND fenced_by IS NULL AND released_at IS NULL";
    let token = i64::try_from(token.number()).unwrap_or_default();
    let rows: Vec<(i64,)> = tx.read(sqlx::query_as(look).bind(lease.uuid()).bind(token)).await?;
    Ok(rows.first().is_some_and(|row| usize::try_from(row.0) == Ok(count)))
}
