//! Tests of log batches with a paused clock and a server that is slow, full or unreachable.

use ade_api::code::Code;
use ade_api::problem::Problem;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::*;

type Batches = Arc<Mutex<Vec<(u64, Vec<String>)>>>;

fn logged(first: u64, lines: &[NewLine]) -> Logged {
    Logged { next: first + u64::try_from(lines.len()).unwrap(), is_full: false }
}

/// Returns a log that records every batch.
fn taking(batches: &Batches) -> Log {
    let batches = Arc::clone(batches);
    Log::start(move |first, lines| {
        let answer = logged(first, &lines);
        let texts = lines.into_iter().map(|line| line.text).collect();
        batches.lock().unwrap().push((first, texts));
        async move { Ok(answer) }
    })
}

fn say(log: &Log, count: usize) {
    for number in 0..count {
        log.sink().push(Stream::Stdout, number.to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn log_lines_are_batched_per_period_and_numbered() {
    let batches = Batches::default();
    let log = taking(&batches);
    say(&log, 3);
    sleep(RUN_LOG_PERIOD * 2).await;
    say(&log, 2);
    let output = log.close().await.unwrap();
    let sent = batches.lock().unwrap().clone();
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!(sent[0], (FIRST_LINE, vec!["0".to_owned(), "1".to_owned(), "2".to_owned()]));
    assert_eq!(sent[1].0, FIRST_LINE + 3);
    assert_eq!(output, "0\n1\n2\n0\n1\n");
}

#[tokio::test(start_paused = true)]
async fn log_batch_is_bounded_in_lines_and_bytes() {
    let batches = Batches::default();
    let log = taking(&batches);
    say(&log, RUN_LOG_BATCH_LINES + 1);
    for _ in 0..100 {
        log.sink().push(Stream::Stderr, "x".repeat(EXECUTION_LINE_MAX_BYTES));
    }
    log.close().await;
    let sent = batches.lock().unwrap().clone();
    let count: usize = sent.iter().map(|(_, lines)| lines.len()).sum();
    assert_eq!(count, RUN_LOG_BATCH_LINES + 101, "nothing is lost between batches");
    let mut next = FIRST_LINE;
    for (first, lines) in &sent {
        assert_eq!(*first, next);
        next += u64::try_from(lines.len()).unwrap();
        assert!(lines.len() <= RUN_LOG_BATCH_LINES);
        let bytes: usize = lines.iter().map(String::len).sum();
        assert!(bytes <= RUN_LOG_BATCH_BYTES, "{bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn log_with_a_slow_server_drops_and_counts_lines() {
    let batches = Batches::default();
    let (gate, kept) = (Arc::new(Notify::new()), Arc::clone(&batches));
    let opened = Arc::clone(&gate);
    let log = Log::start(move |first, lines: Vec<NewLine>| {
        let (gate, kept) = (Arc::clone(&opened), Arc::clone(&kept));
        async move {
            if first == FIRST_LINE {
                gate.notified().await;
            }
            let answer = logged(first, &lines);
            let texts = lines.into_iter().map(|line| line.text).collect();
            kept.lock().unwrap().push((first, texts));
            Ok(answer)
        }
    });
    say(&log, 1);
    sleep(RUN_LOG_PERIOD * 2).await;
    // No await in between: a push that waited could not end.
    say(&log, RUN_LOG_QUEUE_LINES + 7);
    gate.notify_one();
    log.close().await;
    let sent = batches.lock().unwrap().clone();
    let notes: Vec<&String> =
        sent.iter().flat_map(|(_, lines)| lines).filter(|line| line.contains("not sent")).collect();
    assert_eq!(notes, ["7 line(s) were not sent: the server was too slow"]);
}

#[tokio::test(start_paused = true)]
async fn log_batch_is_resent_under_its_number_until_it_arrives() {
    let tries = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&tries);
    let log = Log::start(move |first, lines: Vec<NewLine>| {
        let mut tries = seen.lock().unwrap();
        tries.push(first);
        let is_gone = tries.len() < 4;
        async move {
            let why = "refused".to_owned();
            let gone = Error::Unreachable { server: "x".to_owned(), why };
            if is_gone { Err(gone) } else { Ok(logged(first, &lines)) }
        }
    });
    say(&log, 2);
    log.close().await;
    assert_eq!(*tries.lock().unwrap(), [FIRST_LINE; 4]);
}

#[tokio::test(start_paused = true)]
async fn log_refused_by_the_server_stops_but_sinks_stay_open() {
    for is_full in [true, false] {
        let count = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&count);
        let log = Log::start(move |first, _| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                if is_full {
                    return Ok(Logged { next: first + 1, is_full });
                }
                let problem = Problem::new(Code::LeaseLost, "as the test wants it");
                let text = serde_json::to_string(&problem).unwrap();
                Err(Error::Refused(Box::new(serde_json::from_str(&text).unwrap())))
            }
        });
        say(&log, 1);
        sleep(RUN_LOG_PERIOD * 2).await;
        say(&log, 3);
        assert_eq!(log.close().await.unwrap(), "0\n0\n1\n2\n");
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn log_close_ends_when_the_server_never_answers() {
    let log = Log::start(|_, _| std::future::pending::<Result<Logged, Error>>());
    say(&log, 1);
    let began = Instant::now();
    assert!(log.close().await.is_some());
    assert!(began.elapsed() <= RUN_LOG_FLUSH + RUN_LOG_PERIOD);
}

#[tokio::test(start_paused = true)]
async fn output_tail_is_bounded_and_has_no_notes() {
    let log = taking(&Batches::default());
    log.sink().note("a note");
    for _ in 0..20 {
        log.sink().push(Stream::Stdout, "ß".repeat(EXECUTION_LINE_MAX_BYTES / 2));
    }
    let output = log.close().await.unwrap();
    assert!(output.len() <= EXECUTION_OUTPUT_MAX_BYTES, "{}", output.len());
    assert!(output.len() > EXECUTION_OUTPUT_MAX_BYTES - 3);
    assert!(output.starts_with('ß'), "the output contains no note");
}
