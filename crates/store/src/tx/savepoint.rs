//! A point within a transaction to which it can return.

use super::Tx;
use crate::error::StoreError;

/// A point within a transaction, with what had been written until then.
#[derive(Debug)]
pub struct Savepoint {
    has_written: bool,
    leaves: usize,
}

impl Tx {
    /// Marks the point to which [`Self::roll_back_to`] returns.
    pub async fn savepoint(&mut self) -> Result<Savepoint, StoreError> {
        let done = sqlx::raw_sql("SAVEPOINT change").execute(self.connection()?).await;
        self.noted(done)?;
        Ok(Savepoint { has_written: self.has_written, leaves: self.leaves })
    }

    /// Undoes everything since the savepoint, also a failed statement or guard.
    pub async fn roll_back_to(&mut self, point: Savepoint) -> Result<(), StoreError> {
        let text = "ROLLBACK TO SAVEPOINT change";
        sqlx::raw_sql(text).execute(self.connection()?).await?;
        self.has_written = point.has_written;
        self.leaves = point.leaves;
        self.has_conflict = false;
        self.has_failed = false;
        Ok(())
    }
}
