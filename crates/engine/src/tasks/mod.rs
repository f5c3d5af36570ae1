//! Use cases of tasks: propose, change, submit, withdraw and read. There is one file per kind of
//! use case.

mod basis_checker;
mod evaluate;
mod permission;
mod propose;
mod read;
mod task_expirer;
mod task_watcher;
mod withdraw;
mod workers;

pub use ade_store::tasks::{TaskFilter, TaskOrder};
pub use evaluate::evaluate;
pub use propose::{amend, create, resubmit, submit};
pub use read::{
    approvals, comments, get, get_since, list, resolve, revision, revisions, risk, wait, wait_until,
};
pub use withdraw::{cancel, comment, delete, extend, retry};
pub(crate) use workers::{LOOPS, WORKERS};
