//! A stream over breaks: it goes on with what follows, and ends with a refusal that stands.

use ade_api::code::Code;
use ade_client::{Client, Heard, Said, Wanted};
use ade_core::ids::TaskId;

use crate::calls::refusal;
use crate::fake::{Fake, Step, header};

const STREAM: &str = "content-type: text/event-stream\r\n";

fn told(text: &str) -> Step {
    Step::Answer("200 OK", STREAM, text.to_owned())
}

fn event(seq: u64) -> String {
    format!(
        "id: {seq}\nevent: task.approved\ndata: {{\"id\":\"evt_{}\",\"seq\":{seq},\
         \"type\":\"task.approved\",\"tenant\":\"ten_{}\",\"object\":\"x\",\
         \"at\":\"2026-11-15T19:00:00.000000Z\",\"data\":{{}}}}\n\n",
        "0".repeat(26),
        "0".repeat(26)
    )
}

#[tokio::test]
async fn a_stream_that_breaks_goes_on_after_the_last_number() {
    let fake = Fake::start(vec![
        told(&format!("id: 4\nevent: ready\ndata: {{\"seq\":4}}\n\n{}", event(5))),
        // Cut in the middle of a message: nothing of it counts.
        told("id: 9\nevent: skip\ndata: {\"seq\":9}\n\nid: 10\ndata: {\"seq"),
        told(&event(10)),
        refusal(Code::WrongState),
    ])
    .await;
    let client = Client::new(&fake.url, "ade_usr_x").unwrap();
    let mut stream = client.events().listen(&Wanted::default());
    assert_eq!(stream.next().await.unwrap(), Heard::Ready(4));
    for expected in [5, 9, 10] {
        let seq = match stream.next().await.unwrap() {
            Heard::Event(event) => event.seq,
            Heard::Ready(seq) | Heard::Skip(seq) | Heard::Reset(seq) => seq,
        };
        assert_eq!(seq, expected);
    }
    assert!(stream.next().await.unwrap_err().is(Code::WrongState));
    let seen = fake.seen();
    let resumed: Vec<Option<&str>> =
        seen.iter().map(|request| header(request, "last-event-id")).collect();
    assert_eq!(resumed, [None, Some("5"), Some("9"), Some("10")]);
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_told_and_not_asked_for_again() {
    let fake = Fake::start(vec![Step::Answer("200 OK", "", "{}".to_owned())]).await;
    let client = Client::new(&fake.url, "ade_usr_x").unwrap();
    let failed = client.events().listen(&Wanted::default()).next().await.unwrap_err();
    assert!(failed.to_string().contains("no stream of events"), "{failed}");
    assert_eq!(fake.seen().len(), 1);
}

#[tokio::test]
async fn a_log_is_told_line_by_line_over_breaks() {
    let line = |number: u64| {
        format!(
            "id: {number}\nevent: line\ndata: {{\"number\":{number},\"stream\":\"stdout\",\
             \"text\":\"x\",\"at\":\"2026-11-15T19:00:00.000000Z\"}}\n\n"
        )
    };
    let fake = Fake::start(vec![told(&line(0)), told(&line(1))]).await;
    let client = Client::new(&fake.url, "ade_usr_x").unwrap();
    let mut log = client.executions().follow(TaskId::from_u128(1));
    for expected in 0..2 {
        let Said::Line(line) = log.next().await.unwrap() else { panic!("no line") };
        assert_eq!(line.number, expected);
    }
    assert_eq!(header(&fake.seen()[1], "last-event-id"), Some("0"));
}
