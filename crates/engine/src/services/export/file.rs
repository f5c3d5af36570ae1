//! Exports to a file with one event per line. The file is opened for every batch, so that it can be
//! rotated at any time. A batch counts once it is on disk.

use std::fs::OpenOptions;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use ade_store::events::Numbered;

use super::Trouble;
use crate::services::event_hub::written;

pub async fn append(path: PathBuf, events: &[Numbered]) -> Result<Vec<u8>, Trouble> {
    let mut lines = String::new();
    for event in events {
        lines.push_str(&written(event));
        lines.push('\n');
    }
    let bytes = lines.into_bytes();
    let writing = tokio::task::spawn_blocking(move || write(&path, &bytes).map(|()| bytes));
    let written = writing.await.map_err(Trouble::away)?;
    written.map_err(|error| Trouble::away(format!("writing to the file failed: {error}")))
}

/// Appends in one call. A partial line left by a crashed writer is terminated, so that only this
/// line is damaged; its event is written again.
fn write(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    if has_half_a_line(&mut file)? {
        let mut ended = vec![b'\n'];
        ended.extend_from_slice(lines);
        file.write_all(&ended)?;
    } else {
        file.write_all(lines)?;
    }
    file.sync_data()
}

fn has_half_a_line(file: &mut std::fs::File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use ade_core::ids::{EventId, TenantId};
    use ade_core::time::Timestamp;

    use super::*;

    fn event(seq: u64) -> Numbered {
        Numbered {
            id: EventId::from_u128(seq.into()),
            tenant: TenantId::from_u128(1),
            seq,
            kind: "task.created".to_owned(),
            object: "task_1".to_owned(),
            version: Some(1),
            actor: None,
            at: Timestamp::from_micros(0),
            data: "{}".to_owned(),
        }
    }

    #[tokio::test]
    async fn export_file_partial_line_leaves_other_lines_intact() {
        let path = std::env::temp_dir().join(format!("ade-export-{}.jsonl", std::process::id()));
        append(path.clone(), &[event(1)]).await.unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"id\":\"evt_").unwrap();
        append(path.clone(), &[event(2), event(3)]).await.unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let read = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).ok()?;
            line["seq"].as_u64()
        };
        let seqs: Vec<Option<u64>> = text.lines().map(read).collect();
        assert_eq!(seqs, [Some(1), None, Some(2), Some(3)]);
    }

    #[tokio::test]
    async fn export_file_unwritable_is_not_blamed_on_the_event() {
        let trouble = append("/nowhere/at/all".into(), &[event(1)]).await.unwrap_err();
        assert_eq!(trouble.fault, ade_core::consumer::ConsumerFault::Away);
    }
}
