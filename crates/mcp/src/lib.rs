//! The eleven tools of an agent, once, for both doors: `/mcp` of the server and `ade mcp` over
//! standard input. A tool is a few calls of the API as the caller; who may do what is decided
//! there. No tool decides about a task: its class can only be read, propose or execute, and what
//! tools reach ([`reach`]) holds no other call. Only [`protocol`] and its parts know the SDK.

mod answer;
mod arguments;
mod protocol;
mod reach;
mod schema;
mod tool;
mod work;

pub use protocol::{HttpAnswer, HttpDoor, HttpQuestion, serve_stdio};
pub use tool::{Tool, ToolClass};
pub use work::Tools;
