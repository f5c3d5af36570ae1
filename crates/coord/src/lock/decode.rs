//! Converts the replies of lock scripts to types of the core: a status or a refusal, and the
//! events.

use ade_core::ids::{LeaseId, ProcessId, SessionId, TaskId};
use ade_core::lock::{
    Epoch, FencingToken, LeasePhase, LeaseStatus, LockEvent, LockRefusal, Order, Owner, Reply,
};
use ade_core::time::Timestamp;
use redis::Value;

use crate::error::CoordError;
use crate::reply::Words;

/// Reads the events, and the answer by `read` unless it is a refusal.
pub fn reply<T>(
    script: &'static str,
    value: Value,
    read: impl FnOnce(&str, &mut Words) -> Result<T, CoordError>,
) -> Result<Reply<T>, CoordError> {
    let mut whole = Words::of(script, value)?;
    let mut words = whole.words()?;
    let mut raw_events = whole.words()?;
    whole.end()?;
    let word = words.text()?;
    let answer = match refusal(&word, &mut words)? {
        Some(refusal) => Err(refusal),
        None => Ok(read(&word, &mut words)?),
    };
    words.end()?;
    let mut events = Vec::new();
    while !raw_events.is_empty() {
        events.push(event(raw_events.words()?)?);
    }
    Ok(Reply { answer, events })
}

/// Reads the status of one lease. The fast paths send a short form without the known lease id.
pub fn standing_of(
    script: &'static str,
    value: Value,
    lease: LeaseId,
) -> Result<Reply<LeaseStatus>, CoordError> {
    let (status, event) = match value {
        Value::BulkString(word) if word == b"released" => {
            (LeaseStatus::Over { state: LeasePhase::Released }, LockEvent::Released { lease })
        }
        Value::Array(words) if matches!(words.first(), Some(Value::Int(_))) => {
            let mut words = Words::of(script, Value::Array(words))?;
            let (token, deadline) = (token(&mut words)?, moment(&mut words)?);
            words.end()?;
            (LeaseStatus::Granted { token, deadline }, LockEvent::Acquired { lease, token })
        }
        long => return reply(script, long, status),
    };
    Ok(Reply { answer: Ok(status), events: vec![event] })
}

fn status(word: &str, words: &mut Words) -> Result<LeaseStatus, CoordError> {
    Ok(match word {
        "granted" => LeaseStatus::Granted { token: token(words)?, deadline: moment(words)? },
        "spent" => LeaseStatus::Spent { token: token(words)?, deadline: moment(words)? },
        "waiting" => LeaseStatus::Waiting {
            position: count(words)?,
            order: order(words)?,
            deadline: moment(words)?,
        },
        "delayed" => LeaseStatus::Delayed { until: moment(words)? },
        "over" => LeaseStatus::Over { state: over(words)? },
        "unknown" => LeaseStatus::Unknown,
        other => return Err(words.wrong(format!("`{other}` is not a lease status"))),
    })
}

/// Reads one status for each lease.
pub fn standings(word: &str, words: &mut Words) -> Result<Vec<LeaseStatus>, CoordError> {
    expect("renewed", word, words)?;
    let mut statuses = Vec::new();
    while !words.is_empty() {
        let mut one = words.words()?;
        let word = one.text()?;
        statuses.push(status(&word, &mut one)?);
        one.end()?;
    }
    Ok(statuses)
}

/// Reads a count after the word that names what was counted.
pub fn counted(expected: &str, word: &str, words: &mut Words) -> Result<usize, CoordError> {
    expect(expected, word, words)?;
    count(words)
}

fn expect(expected: &str, word: &str, words: &Words) -> Result<(), CoordError> {
    if word == expected {
        return Ok(());
    }
    Err(words.wrong(format!("`{word}` instead of `{expected}`")))
}

fn refusal(word: &str, words: &mut Words) -> Result<Option<LockRefusal>, CoordError> {
    Ok(Some(match word {
        "stale_epoch" => LockRefusal::StaleEpoch { stored: epoch(words)? },
        // Epochs begin at one; zero means that the space has no epoch.
        "rebuild" => LockRefusal::Rebuild { stored: Epoch::new(words.number()?) },
        "unsure" => LockRefusal::Unsure { until: moment(words)? },
        "busy" => LockRefusal::Busy { resource: words.parsed()? },
        "queue_full" => LockRefusal::QueueFull { resource: words.parsed()? },
        "too_many" => LockRefusal::TooMany { taken: count(words)? },
        "self_conflict" => LockRefusal::SelfConflict { resource: words.parsed()? },
        "already_waiting" => LockRefusal::AlreadyWaiting { lease: lease(words)? },
        "other_request" => LockRefusal::OtherRequest,
        "already_registered" => LockRefusal::AlreadyRegistered,
        "not_fenced" => LockRefusal::NotFenced,
        _ => return Ok(None),
    }))
}

fn event(mut words: Words) -> Result<LockEvent, CoordError> {
    let word = words.text()?;
    let lease = lease(&mut words)?;
    let event = match word.as_str() {
        "acquired" => LockEvent::Acquired { lease, token: token(&mut words)? },
        "queued" => LockEvent::Queued { lease, position: count(&mut words)? },
        "promoted" => LockEvent::Promoted { lease, token: token(&mut words)? },
        "released" => LockEvent::Released { lease },
        "expired" => LockEvent::Expired { lease },
        "timed_out" => LockEvent::TimedOut { lease },
        "broken" => LockEvent::Broken { lease },
        "displaced" => LockEvent::Displaced { lease },
        "deadlock" => {
            let mut cycle = Vec::new();
            while !words.is_empty() {
                cycle.push(self::lease(&mut words)?);
            }
            LockEvent::Deadlock { victim: lease, cycle }
        }
        other => return Err(words.wrong(format!("`{other}` is not an event"))),
    };
    words.end()?;
    Ok(event)
}

fn over(words: &mut Words) -> Result<LeasePhase, CoordError> {
    match state(words)? {
        over if over.is_over() => Ok(over),
        other => Err(words.wrong(format!("{other:?} is not an end reason"))),
    }
}

pub fn state(words: &mut Words) -> Result<LeasePhase, CoordError> {
    let word = words.text()?;
    Ok(match word.as_str() {
        "waiting" => LeasePhase::Waiting,
        "granted" => LeasePhase::Granted,
        "delayed" => LeasePhase::Delayed,
        "released" => LeasePhase::Released,
        "expired" => LeasePhase::Expired,
        "broken" => LeasePhase::Broken,
        "timed_out" => LeasePhase::TimedOut,
        "victim" => LeasePhase::Victim,
        other => return Err(words.wrong(format!("`{other}` is not a state"))),
    })
}

/// Reads a lease id. Scripts store it without its prefix.
pub fn lease(words: &mut Words) -> Result<LeaseId, CoordError> {
    let text = format!("{}_{}", LeaseId::PREFIX, words.text()?);
    text.parse().map_err(|error| words.wrong(format!("{error}")))
}

/// Reads an owner by the letter of its kind, as `encode::owner` writes it.
pub fn owner(words: &mut Words) -> Result<Owner, CoordError> {
    let text = words.text()?;
    let (letter, id) = text.split_at_checked(1).unwrap_or_default();
    let mut prefixes = [ProcessId::PREFIX, SessionId::PREFIX, TaskId::PREFIX].into_iter();
    let prefix = prefixes.find(|prefix| !letter.is_empty() && prefix.starts_with(letter));
    let owner = prefix.and_then(|prefix| format!("{prefix}_{id}").parse().ok());
    owner.ok_or_else(|| words.wrong(format!("`{text}` is not an owner")))
}

fn epoch(words: &mut Words) -> Result<Epoch, CoordError> {
    let number = words.number()?;
    Epoch::new(number).ok_or_else(|| words.wrong(format!("{number} is not an epoch")))
}

fn token(words: &mut Words) -> Result<FencingToken, CoordError> {
    let number = words.number()?;
    FencingToken::from_number(number)
        .ok_or_else(|| words.wrong(format!("{number} is not a fencing token")))
}

fn order(words: &mut Words) -> Result<Order, CoordError> {
    let (place, arrival) = (words.number()?, words.number()?);
    let made = Order::from_numbers(place, arrival);
    made.ok_or_else(|| words.wrong(format!("{place}, {arrival} is not a queue place")))
}

fn moment(words: &mut Words) -> Result<Timestamp, CoordError> {
    Ok(Timestamp::from_micros(words.integer()?))
}

fn count(words: &mut Words) -> Result<usize, CoordError> {
    let number = words.number()?;
    usize::try_from(number).map_err(|error| words.wrong(error.to_string()))
}
