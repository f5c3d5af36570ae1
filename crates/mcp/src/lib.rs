//! The nine tools of an agent, for both transports: `/mcp` of the server and `ade mcp` over
//! standard input. A tool makes a few API calls as the caller, and the API checks permissions. No
//! tool decides on a task: its scope is read, propose or execute, and [`agent_api`] has no other
//! calls. Only [`protocol`] and its submodules use the SDK.

mod agent_api;
mod answer;
mod arguments;
mod changes;
mod keep_alive;
mod output;
mod protocol;
mod schema;
mod tool;
mod work;

pub use protocol::{HttpAnswer, HttpDoor, HttpQuestion, serve_stdio};
pub use tool::{Tool, ToolClass};
pub use work::Tools;
