//! `cargo xtask demo`: the built server with the pages inside, over a stack of its own, with
//! people, rules and agents that keep asking. `web/e2e/demo.mjs` says what there is; the browser
//! tests have the same people and tasks.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::{shell, web};

/// Does not come back: this process becomes the demo, so that Ctrl-C reaches it and nothing else.
pub fn run(root: &Path) -> Result<()> {
    let Some(node) = web::node()? else {
        bail!("the pages need node {}: install it, then try again", web::least());
    };
    if !root.join("web").join("node_modules").is_dir() {
        shell::succeed(web::npm(root, &node)?.args(["ci", "--no-audit", "--no-fund"]))?;
    }
    shell::succeed(web::npm(root, &node)?.args(["run", "--silent", "build"]))?;
    shell::succeed(&mut shell::cargo(root, &["build", "--workspace", "--bins", "--locked"]))?;
    let mut demo = Command::new(node.join("node"));
    let error = demo.arg("e2e/demo.mjs").current_dir(root.join("web")).exec();
    Err(error).context("cannot start the demo")
}
