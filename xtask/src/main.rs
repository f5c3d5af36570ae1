//! The one entry for developers: `cargo xtask <command>`.

fn main() {}
