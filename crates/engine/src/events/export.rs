//! Events that leave the installation, with a checksum of what left.

use ade_store::consumers::Exported;
use ade_store::events::Numbered;
use sha2::{Digest as _, Sha256};

use crate::app::App;
use crate::services::export::Trouble;

pub(crate) async fn send(app: &App, events: &[Numbered]) -> Result<Exported, Trouble> {
    let Some(sink) = &app.sink else {
        return Err(Trouble::away("no sink is configured: set `export.sink`"));
    };
    let bytes = sink.take(events).await?;
    Ok(Exported { sink: sink.to_string(), sha256: Sha256::digest(&bytes).into() })
}
