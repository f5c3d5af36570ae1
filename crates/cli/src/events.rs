//! `ade events follow`: prints one line per event and survives disconnects and server restarts.

use ade_api::events::Event;
use ade_client::{EventMessage, Wanted};

use crate::args::EventsCommand;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::visible;

pub async fn run(command: EventsCommand, cx: &Context) -> Result<Exit, Failure> {
    let EventsCommand::Follow { topics, object, since, count } = command;
    let client = cx.client()?;
    let mut stream = client.events().listen(&Wanted { topics, object, after: since });
    let mut shown = 0;
    while count.is_none_or(|count| shown < count) {
        match stream.next().await? {
            EventMessage::Event(event) => {
                cx.output.line(&event, || line(&event, cx))?;
                shown += 1;
            }
            EventMessage::Reset(seq) => {
                let text = format!("! some events up to {seq} are no longer available");
                cx.output.remark(&cx.output.talk.yellow(&text));
            }
            EventMessage::Ready(seq) if shown == 0 => {
                cx.output.remark(&cx.output.talk.dim(&format!("following events after {seq}")));
            }
            EventMessage::Ready(_) | EventMessage::Skip(_) => {}
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
