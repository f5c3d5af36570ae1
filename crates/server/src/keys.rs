//! `ade-server keys`: makes what receipts are signed with.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::ExitCode;

use ade_engine::receipts::Signer;
use anyhow::{Context as _, Result};
use pem::Pem;

/// Only for its owner.
const MODE: u32 = 0o600;

pub fn new(file: &Path) -> Result<ExitCode> {
    let key = Signer::generate()?;
    let id = Signer::from_pkcs8(&key)?.public().id.clone();
    let mut made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(file)
        .with_context(|| format!("cannot make {}", file.display()))?;
    made.write_all(pem::encode(&Pem::new("PRIVATE KEY", key)).as_bytes())?;
    made.sync_all()?;
    println!("key {id} is in {}", file.display());
    println!("put the file first in `receipts.key_files` and restart every process");
    Ok(ExitCode::SUCCESS)
}
