//! The server: the HTTP API of the engine, with its settings, logs and metrics. It authenticates
//! callers, parses requests and writes responses, but makes no decisions about tasks.

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

/// The allocator of all programs that contain the server, including tests and benches.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
