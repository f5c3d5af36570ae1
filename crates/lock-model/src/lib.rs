//! Exact and simple reference models of locks, which tests use as oracles for the real ones.
//! `Space` models the queue (who is next), which Redis runs as scripts; `Fences` models the
//! authority (who may commit), which PostgreSQL runs as functions. Not part of the product.

mod admit;
mod expire;
pub mod fence;
mod promote;
mod queue;
mod rebuild;
mod table;
mod wait_for;

#[cfg(test)]
mod line_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod trap_tests;

pub use self::table::Space;
pub use self::wait_for::{may_have_cycle, wait_for};
