//! Log lines. Much of their content comes from callers: it is escaped, every event stays on one
//! line, and tokens are redacted.

use std::io::{self, Write};

use ade_core::sanitize_display::visible;
use ade_core::token::redacted;

/// A writer that takes one event per call, as the subscriber writes them.
#[derive(Debug)]
pub(crate) struct LogLine<W>(pub W);

impl<W: Write> Write for LogLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = visible(text.trim_end_matches('\n'));
        // One write per line, so that no other process writes into the middle of it.
        self.0.write_all(format!("{}\n", redacted(&line)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use ade_core::sanitize_display::is_hidden;
    use ade_core::token::{KeyId, Secret, Token, TokenKind};
    use serde_json::Value;
    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    const SAMPLES: &str = include_str!("../../core/samples/spoofing.json");

    #[derive(Debug, Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Kept {
        type Writer = LogLine<Self>;

        fn make_writer(&'a self) -> LogLine<Self> {
            LogLine(self.clone())
        }
    }

    /// Returns the log of these events in both formats.
    fn logged(emit: impl Fn()) -> [String; 2] {
        let [json, text] = [Kept::default(), Kept::default()];
        let lines = || tracing_subscriber::fmt().with_ansi(false);
        let as_json = lines().json().flatten_event(true).with_writer(json.clone()).finish();
        tracing::subscriber::with_default(as_json, &emit);
        tracing::subscriber::with_default(lines().with_writer(text.clone()).finish(), &emit);
        [json, text].map(|kept| String::from_utf8(kept.0.lock().unwrap().clone()).unwrap())
    }

    #[test]
    fn log_event_is_one_line_without_hidden_characters() {
        let samples: Vec<[String; 2]> = serde_json::from_str(SAMPLES).unwrap();
        assert!(samples.len() >= 200);
        for [sample, _] in &samples {
            let logs = logged(|| tracing::warn!(title = %sample, "{sample}"));
            for log in &logs {
                let line = log.strip_suffix('\n').unwrap();
                let hidden = line.chars().filter(|c| is_hidden(*c) && *c != '\u{200d}');
                assert_eq!(hidden.collect::<String>(), "", "{sample:?} in {line:?}");
            }
            let event: Value = serde_json::from_str(&logs[0]).unwrap();
            assert!(event["title"].is_string(), "{event}");
        }
    }

    #[test]
    fn log_redacts_tokens() {
        let (key_id, secret) = (KeyId::from_bytes([1; 11]), Secret::from_bytes([2; 32]));
        let token = Token { kind: TokenKind::Agent, key_id, secret }.reveal();
        for log in logged(|| tracing::warn!(asked = ?token, "with {token}, and {token}")) {
            assert!(!log.contains(&token[30..]), "{log}");
            assert_eq!(log.matches(&token[..24]).count(), 3, "the key id stays readable: {log}");
        }
    }
}
