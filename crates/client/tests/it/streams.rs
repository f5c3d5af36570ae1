//! Event streams across disconnects: they resume after the last message and end on a final refusal.

use ade_api::code::Code;
use ade_client::{Client, EventMessage, LogMessage, Wanted};
use ade_core::ids::TaskId;

use crate::calls::refusal;
use crate::fake::{Fake, Step, header};

const STREAM: &str = "content-type: text/event-stream\r\n";

fn stream_of(text: &str) -> Step {
    Step::Answer("200 OK", STREAM, text.to_owned())
}

fn event(seq: u64) -> String {
    format!(
        "id: {seq}\nevent: task.approved\ndata: {{\"id\":\"evt_{}\",\"seq\":{seq},\
         \"type\":\"task.approved\",\"tenant_id\":\"ten_{}\",\"object\":\"x\",\
         \"at\":\"2026-11-15T19:00:00.000000Z\",\"data\":{{}}}}\n\n",
        "0".repeat(26),
        "0".repeat(26)
    )
}

#[tokio::test]
async fn stream_resumes_after_the_last_sequence_number() {
    let fake = Fake::start(vec![
        stream_of(&format!("id: 4\nevent: ready\ndata: {{\"seq\":4}}\n\n{}", event(5))),
        // The connection is cut within a message, which is discarded.
        stream_of("id: 9\nevent: skip\ndata: {\"seq\":9}\n\nid: 10\ndata: {\"seq"),
        stream_of(&event(10)),
        refusal(Code::WrongState),
    ])
    .await;
    let client = Client::new(&fake.url, "ade_usr_x").unwrap();
    let mut stream = client.events().listen(&Wanted::default());
    assert_eq!(stream.next().await.unwrap(), EventMessage::Ready(4));
    for expected in [5, 9, 10] {
        let seq = match stream.next().await.unwrap() {
            EventMessage::Event(event) => event.seq,
            EventMessage::Ready(seq) | EventMessage::Skip(seq) | EventMessage::Reset(seq) => seq,
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
async fn stream_response_of_another_type_is_an_error_without_retry() {
    let fake = Fake::start(vec![Step::Answer("200 OK", "", "{}".to_owned())]).await;
    let client = Client::new(&fake.url, "ade_usr_x").unwrap();
    let failed = client.events().listen(&Wanted::default()).next().await.unwrap_err();
    assert!(failed.to_string().contains("not an event stream"), "{failed}");
    assert_eq!(fake.seen().len(), 1);
}

#[tokio::test]
async fn log_stream_resumes_line_by_line() {
    let line = |number: u64| {
        format!(
            "id: {number}\nevent: line\ndata: {{\"number\":{number},\"stream\":\"stdout\",\
             \"text\":\"x\",\"at\":\"2026-11-15T19:00:00.000000Z\"}}\n\n"
        )
    };
    let fake = Fake::start(vec![stream_of(&line(0)), stream_of(&line(1))]).await;
    let client = Client::new(&fake.url, "ade_usr_x").unwrap();
    let mut log = client.executions().follow(TaskId::from_u128(1));
    for expected in 0..2 {
        let LogMessage::Line(line) = log.next().await.unwrap() else { panic!("no line") };
        assert_eq!(line.number, expected);
    }
    assert_eq!(header(&fake.seen()[1], "last-event-id"), Some("0"));
}
