//! Parses server-sent events from a byte stream with arbitrary chunks. Messages that are too long
//! are rejected, so that a stream cannot fill the memory.

use ade_api::events::Message;
use ade_core::limits::CLIENT_MESSAGE_MAX_BYTES;

#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    /// The last byte was a carriage return, so a following line feed belongs to the same line end.
    was_return: bool,
    id: Option<String>,
    event: String,
    data: Option<String>,
    /// The size of the current message.
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

impl Parser {
    /// Adds a chunk and returns the complete messages.
    pub fn push(&mut self, chunk: &[u8]) -> Result<Vec<Message>, TooLong> {
        let mut whole = Vec::new();
        for &byte in chunk {
            let follows_return = std::mem::replace(&mut self.was_return, byte == b'\r');
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => whole.extend(self.end_line()),
                _ => {
                    self.bytes += 1;
                    if self.bytes > CLIENT_MESSAGE_MAX_BYTES {
                        return Err(TooLong);
                    }
                    self.line.push(byte);
                }
            }
        }
        Ok(whole)
    }

    /// Ends a line. An empty line ends the message; a message without data is ignored.
    fn end_line(&mut self) -> Option<Message> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        if line.is_empty() {
            self.bytes = 0;
            let (id, event) = (self.id.take(), std::mem::take(&mut self.event));
            let data = self.data.take()?;
            let event = if event.is_empty() { "message".to_owned() } else { event };
            return Some(Message { id, event, data });
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut self.event),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // Comments and unknown fields are ignored.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ": still here\n\nid: 7\nevent: task.approved\ndata: {\"a\":1}\n\n\
                        event: skip\r\nid:8\r\ndata: one\r\ndata:two\r\n\r\nid: 9\n\ndata\n\n";

    fn message(id: Option<&str>, event: &str, data: &str) -> Message {
        Message { id: id.map(str::to_owned), event: event.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn sse_messages_are_the_same_for_any_chunking() {
        let expected = [
            message(Some("7"), "task.approved", "{\"a\":1}"),
            message(Some("8"), "skip", "one\ntwo"),
            message(None, "message", ""),
        ];
        for size in 1..TEXT.len() {
            let mut parser = Parser::default();
            let chunks = TEXT.as_bytes().chunks(size);
            let heard: Vec<Message> =
                chunks.flat_map(|chunk| parser.push(chunk).unwrap()).collect();
            assert_eq!(heard, expected, "in chunks of {size}");
        }
    }

    #[test]
    fn sse_message_without_an_end_is_refused() {
        let mut parser = Parser::default();
        let chunk = vec![b'x'; CLIENT_MESSAGE_MAX_BYTES];
        assert_eq!(parser.push(&chunk), Ok(Vec::new()));
        assert_eq!(parser.push(b"y"), Err(TooLong));
    }

    #[test]
    fn sse_stream_of_short_messages_is_never_too_long() {
        let mut parser = Parser::default();
        let line = format!("data: {}\n\n", "x".repeat(1000));
        for _ in 0..2 * CLIENT_MESSAGE_MAX_BYTES / 1000 {
            assert_eq!(parser.push(line.as_bytes()).unwrap().len(), 1);
        }
    }
}
