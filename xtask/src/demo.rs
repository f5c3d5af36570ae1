//! `cargo xtask demo`: the built server with the dashboard, on its own stack, with people, policies
//! and agents that keep submitting tasks. `web/e2e/demo.mjs` defines the data; the browser tests
//! use the same people and tasks.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::{shell, web};

/// Builds everything and replaces this process with the demo, so that Ctrl-C reaches only the demo.
pub fn run(root: &Path) -> Result<()> {
    let Some(node) = web::node()? else {
        bail!("the pages need node {}: install it, then try again", web::least());
    };
    if !root.join("web").join("node_modules").is_dir() {
        shell::succeed(web::npm(root, &node)?.args(["ci", "--no-audit", "--no-fund"]))?;
    }
    shell::succeed(web::npm(root, &node)?.args(["run", "--silent", "build"]))?;
    shell::programs(root)?;
    let mut demo = Command::new(node.join("node"));
    let error = demo.arg("e2e/demo.mjs").current_dir(root.join("web")).exec();
    Err(error).context("cannot start the demo")
}
