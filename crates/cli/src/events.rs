//! `ade events follow`: one line for each event, over breaks and restarts of the server.

use ade_api::events::Event;
use ade_client::{Heard, Wanted};

use crate::args::EventsCommand;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::visible;

pub async fn run(command: EventsCommand, cx: &Context) -> Result<Exit, Failure> {
    let EventsCommand::Follow { topics, object, since, count } = command;
    let client = cx.client()?;
    let mut stream = client.events().listen(&Wanted { topics, object, after: since });
    let mut told = 0;
    while count.is_none_or(|count| told < count) {
        match stream.next().await? {
            Heard::Event(event) => {
                cx.output.line(&event, || line(&event, cx))?;
                told += 1;
            }
            Heard::Reset(seq) => {
                let text = format!("! some events up to {seq} cannot be told any more");
                cx.output.remark(&cx.output.talk.yellow(&text));
            }
            Heard::Ready(seq) if told == 0 => {
                cx.output.remark(&cx.output.talk.dim(&format!("listening after {seq}")));
            }
            Heard::Ready(_) | Heard::Skip(_) => {}
        }
    }
    Ok(Exit::Done)
}

fn line(event: &Event, cx: &Context) -> String {
    let at = if cx.output.is_terminal() {
        crate::look::time::second(event.at)
    } else {
        event.at.to_string()
    };
    let by = event.actor.as_deref().map(|by| format!("  by {}", visible(by))).unwrap_or_default();
    let kind = cx.output.paint.bold(&visible(&event.r#type));
    format!("{}  {at}  {kind}  {}{by}\n", event.seq, visible(&event.object))
}
