//! `ade-server keys` creates the keys that sign receipts.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::ExitCode;

use ade_engine::services::receipts::Signer;
use anyhow::{Context as _, Result};
use pem::Pem;

/// The file mode: readable only by the owner.
const MODE: u32 = 0o600;

pub fn new(file: &Path) -> Result<ExitCode> {
    let key = Signer::generate()?;
    let id = Signer::from_pkcs8(&key)?.public().id.clone();
    let mut made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(file)
        .with_context(|| format!("cannot create {}", file.display()))?;
    made.write_all(pem::encode(&Pem::new("PRIVATE KEY", key)).as_bytes())?;
    made.sync_all()?;
    println!("key {id} written to {}", file.display());
    println!("put the file first in `receipts.key_files` and restart every process");
    Ok(ExitCode::SUCCESS)
}
