//! What a lock script answered, as the words of the core: a standing or a refusal, and what
//! happened on the way.

use ade_core::ids::{AgentSessionId, LeaseId, SessionId, TaskId};
use ade_core::lock::{Epoch, Event, Order, Owner, Refusal, Reply, Standing, State, Token};
use ade_core::time::Timestamp;
use redis::Value;

use crate::error::Error;
use crate::reply::Words;

/// Reads the events, and the answer by `read` unless it is a refusal.
pub fn reply<T>(
    script: &'static str,
    value: Value,
    read: impl FnOnce(&str, &mut Words) -> Result<T, Error>,
) -> Result<Reply<T>, Error> {
    let mut whole = Words::of(script, value)?;
    let mut words = whole.words()?;
    let mut told = whole.words()?;
    whole.end()?;
    let word = words.text()?;
    let answer = match refusal(&word, &mut words)? {
        Some(refusal) => Err(refusal),
        None => Ok(read(&word, &mut words)?),
    };
    words.end()?;
    let mut events = Vec::new();
    while !told.is_empty() {
        events.push(event(told.words()?)?);
    }
    Ok(Reply { answer, events })
}

/// About one lease. The common cases answer in short, without what the caller knows.
pub fn standing_of(
    script: &'static str,
    value: Value,
    lease: LeaseId,
) -> Result<Reply<Standing>, Error> {
    let (standing, event) = match value {
        Value::BulkString(word) if word == b"released" => {
            (Standing::Over { state: State::Released }, Event::Released { lease })
        }
        Value::Array(words) if matches!(words.first(), Some(Value::Int(_))) => {
            let mut words = Words::of(script, Value::Array(words))?;
            let (token, deadline) = (token(&mut words)?, moment(&mut words)?);
            words.end()?;
            (Standing::Granted { token, deadline }, Event::Acquired { lease, token })
        }
        long => return reply(script, long, standing),
    };
    Ok(Reply { answer: Ok(standing), events: vec![event] })
}

fn standing(word: &str, words: &mut Words) -> Result<Standing, Error> {
    Ok(match word {
        "granted" => Standing::Granted { token: token(words)?, deadline: moment(words)? },
        "spent" => Standing::Spent { token: token(words)?, deadline: moment(words)? },
        "waiting" => Standing::Waiting {
            position: count(words)?,
            order: order(words)?,
            deadline: moment(words)?,
        },
        "delayed" => Standing::Delayed { until: moment(words)? },
        "over" => Standing::Over { state: over(words)? },
        "unknown" => Standing::Unknown,
        other => return Err(words.wrong(format!("`{other}` is no standing"))),
    })
}

/// One standing for each lease that was named.
pub fn standings(word: &str, words: &mut Words) -> Result<Vec<Standing>, Error> {
    expect("renewed", word, words)?;
    let mut standings = Vec::new();
    while !words.is_empty() {
        let mut one = words.words()?;
        let word = one.text()?;
        standings.push(standing(&word, &mut one)?);
        one.end()?;
    }
    Ok(standings)
}

/// How many, after the word that says what was counted.
pub fn counted(expected: &str, word: &str, words: &mut Words) -> Result<usize, Error> {
    expect(expected, word, words)?;
    count(words)
}

fn expect(expected: &str, word: &str, words: &Words) -> Result<(), Error> {
    if word == expected {
        return Ok(());
    }
    Err(words.wrong(format!("`{word}` instead of `{expected}`")))
}

fn refusal(word: &str, words: &mut Words) -> Result<Option<Refusal>, Error> {
    Ok(Some(match word {
        "stale_epoch" => Refusal::StaleEpoch { stored: epoch(words)? },
        // Epochs begin at one: zero says that there is none.
        "rebuild" => Refusal::Rebuild { stored: Epoch::new(words.number()?) },
        "unsure" => Refusal::Unsure { until: moment(words)? },
        "busy" => Refusal::Busy { resource: words.parsed()? },
        "queue_full" => Refusal::QueueFull { resource: words.parsed()? },
        "too_many" => Refusal::TooMany { taken: count(words)? },
        "self_conflict" => Refusal::SelfConflict { resource: words.parsed()? },
        "already_waiting" => Refusal::AlreadyWaiting { lease: lease(words)? },
        "other_request" => Refusal::OtherRequest,
        "already_registered" => Refusal::AlreadyRegistered,
        "not_fenced" => Refusal::NotFenced,
        _ => return Ok(None),
    }))
}

fn event(mut words: Words) -> Result<Event, Error> {
    let word = words.text()?;
    let lease = lease(&mut words)?;
    let event = match word.as_str() {
        "acquired" => Event::Acquired { lease, token: token(&mut words)? },
        "queued" => Event::Queued { lease, position: count(&mut words)? },
        "promoted" => Event::Promoted { lease, token: token(&mut words)? },
        "released" => Event::Released { lease },
        "expired" => Event::Expired { lease },
        "timed_out" => Event::TimedOut { lease },
        "broken" => Event::Broken { lease },
        "displaced" => Event::Displaced { lease },
        "deadlock" => {
            let mut cycle = Vec::new();
            while !words.is_empty() {
                cycle.push(self::lease(&mut words)?);
            }
            Event::Deadlock { victim: lease, cycle }
        }
        other => return Err(words.wrong(format!("`{other}` is no event"))),
    };
    words.end()?;
    Ok(event)
}

fn over(words: &mut Words) -> Result<State, Error> {
    match state(words)? {
        over if over.is_over() => Ok(over),
        other => Err(words.wrong(format!("{other:?} is no end"))),
    }
}

pub fn state(words: &mut Words) -> Result<State, Error> {
    let word = words.text()?;
    Ok(match word.as_str() {
        "waiting" => State::Waiting,
        "granted" => State::Granted,
        "delayed" => State::Delayed,
        "released" => State::Released,
        "expired" => State::Expired,
        "broken" => State::Broken,
        "timed_out" => State::TimedOut,
        "victim" => State::Victim,
        other => return Err(words.wrong(format!("`{other}` is no state"))),
    })
}

/// Scripts know it without its prefix.
pub fn lease(words: &mut Words) -> Result<LeaseId, Error> {
    let text = format!("{}_{}", LeaseId::PREFIX, words.text()?);
    text.parse().map_err(|error| words.wrong(format!("{error}")))
}

/// By its one letter, as `encode::owner` writes it.
pub fn owner(words: &mut Words) -> Result<Owner, Error> {
    let text = words.text()?;
    let (letter, id) = text.split_at_checked(1).unwrap_or_default();
    let mut prefixes = [AgentSessionId::PREFIX, SessionId::PREFIX, TaskId::PREFIX].into_iter();
    let prefix = prefixes.find(|prefix| !letter.is_empty() && prefix.starts_with(letter));
    let owner = prefix.and_then(|prefix| format!("{prefix}_{id}").parse().ok());
    owner.ok_or_else(|| words.wrong(format!("`{text}` is no owner")))
}

fn epoch(words: &mut Words) -> Result<Epoch, Error> {
    let number = words.number()?;
    Epoch::new(number).ok_or_else(|| words.wrong(format!("{number} is no epoch")))
}

fn token(words: &mut Words) -> Result<Token, Error> {
    let number = words.number()?;
    Token::from_number(number).ok_or_else(|| words.wrong(format!("{number} is no token")))
}

fn order(words: &mut Words) -> Result<Order, Error> {
    let (place, arrival) = (words.number()?, words.number()?);
    let made = Order::from_numbers(place, arrival);
    made.ok_or_else(|| words.wrong(format!("{place}, {arrival} is no place")))
}

fn moment(words: &mut Words) -> Result<Timestamp, Error> {
    Ok(Timestamp::from_micros(words.integer()?))
}

fn count(words: &mut Words) -> Result<usize, Error> {
    let number = words.number()?;
    usize::try_from(number).map_err(|error| words.wrong(error.to_string()))
}
