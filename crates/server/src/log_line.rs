//! What goes into the log. Much of it was written by somebody else: it is shown as it is and acts
//! out nothing, one event stays one line, and no token leaves that way, whoever put it there.

use std::io::{self, Write};

use ade_core::token::redacted;
use ade_core::visible::visible;

/// Takes one event at a time, as the subscriber writes them.
#[derive(Debug)]
pub(crate) struct LogLine<W>(pub W);

impl<W: Write> Write for LogLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = visible(text.trim_end_matches('\n'));
        // In one piece, so that no other process writes into the middle of it.
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

    use ade_core::token::{KeyId, Kind, Secret, Token};
    use ade_core::visible::is_hidden;
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

    /// What the log has of these events, in both of its formats.
    fn told(tell: impl Fn()) -> [String; 2] {
        let [json, text] = [Kept::default(), Kept::default()];
        let lines = || tracing_subscriber::fmt().with_ansi(false);
        let as_json = lines().json().flatten_event(true).with_writer(json.clone()).finish();
        tracing::subscriber::with_default(as_json, &tell);
        tracing::subscriber::with_default(lines().with_writer(text.clone()).finish(), &tell);
        [json, text].map(|kept| String::from_utf8(kept.0.lock().unwrap().clone()).unwrap())
    }

    #[test]
    fn whatever_others_wrote_is_one_line_with_nothing_hidden_in_it() {
        let samples: Vec<[String; 2]> = serde_json::from_str(SAMPLES).unwrap();
        assert!(samples.len() >= 200);
        for [sample, _] in &samples {
            let logs = told(|| tracing::warn!(title = %sample, "{sample}"));
            for log in &logs {
                let line = log.strip_suffix('\n').unwrap();
                let hidden = line.chars().filter(|c| is_hidden(*c) && *c != '\u{200d}');
                assert_eq!(hidden.collect::<String>(), "", "{sample:?} in {line:?}");
            }
            let told: Value = serde_json::from_str(&logs[0]).unwrap();
            assert!(told["title"].is_string(), "{told}");
        }
    }

    #[test]
    fn no_token_leaves_by_the_log() {
        let (key_id, secret) = (KeyId::from_bytes([1; 11]), Secret::from_bytes([2; 32]));
        let token = Token { kind: Kind::Agent, key_id, secret }.reveal();
        for log in told(|| tracing::warn!(asked = ?token, "with {token}, and {token}")) {
            assert!(!log.contains(&token[30..]), "{log}");
            assert_eq!(log.matches(&token[..24]).count(), 3, "who it was is told: {log}");
        }
    }
}
