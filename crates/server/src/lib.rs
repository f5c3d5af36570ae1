//! The server: HTTP in front of the engine, with its settings, logs and metrics. It decides
//! nothing about tasks; it finds out who calls, reads what they say, and answers.

#![expect(unused_qualifications, reason = "the descriptions of routes write paths out in full")]

pub mod assemble;
pub mod config;
mod forwarded;
pub mod http;
pub mod installation;
pub mod keys;
mod log_line;
pub mod policy_test;
pub mod read_models;
pub mod run;
pub mod serve;
pub mod telemetry;
pub mod tls;

/// For everything that serves, also in tests and benches.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
