//! Encodes the arguments of scripts: every fact is one word, numbers have all digits, times and
//! durations are in microseconds. A request is one packed word, as scripts store it; `record.lua`
//! reads it back.

use std::time::Duration;

use ade_core::ids::LeaseId;
use ade_core::lock::{Arrival, LeaseClass, LiveHold, Mode, Owner, Request};
use ade_core::time::Timestamp;
use rmp::encode::ByteBuf;

/// One argument of a script.
pub type Word = Vec<u8>;

pub fn word(value: &(impl ToString + ?Sized)) -> Word {
    value.to_string().into_bytes()
}

/// Encodes a lease id without its prefix: four copies of the id are most of the size of a lease.
pub fn lease(id: LeaseId) -> String {
    let text = id.to_string();
    let short = text.strip_prefix(LeaseId::PREFIX).and_then(|rest| rest.strip_prefix('_'));
    short.map(str::to_owned).unwrap_or(text)
}

/// Encodes an owner. Its kind is one letter that sorts like its prefix.
pub fn owner(owner: Owner) -> String {
    let text = owner.to_string();
    let (prefix, id) = text.split_once('_').unwrap_or((&text, ""));
    format!("{}{id}", prefix.get(..1).unwrap_or_default())
}

/// Encodes a request without its lease id, which precedes it.
pub fn request(request: &Request) -> Word {
    let set = request.set();
    let delay = match request.class() {
        LeaseClass::Fenced { lock_delay } => micros(lock_delay),
        LeaseClass::Advisory => -1,
    };
    let mut packed = Packed(ByteBuf::new());
    packed.text(&owner(request.owner()));
    packed.text(request.node());
    packed.number(request.birth().micros());
    packed.number(delay);
    packed.number(micros(request.ttl()));
    packed.number(micros(request.wait()));
    packed.number(i64::from(request.boost()));
    packed.array(2 * set.len());
    for (resource, held) in set.iter() {
        packed.text(&resource.to_string());
        packed.text(&mode(held));
    }
    packed.0.into_vec()
}

pub fn hold(hold: &LiveHold) -> [Word; 4] {
    let request = request(&hold.request);
    [word(&lease(hold.request.lease())), word(&hold.token), word(&moment(hold.deadline)), request]
}

/// Encodes how a request arrives, with its two numbers; empty for a new request.
pub fn arrival(arrival: Arrival) -> Vec<Word> {
    let (how, first, second) = match arrival {
        Arrival::New => return Vec::new(),
        Arrival::Waited(order) => ("waited", order.place(), order.arrival()),
        Arrival::Held(token) => ("held", token.number(), 0),
    };
    vec![word(how), word(&first), word(&second)]
}

/// Writing to memory does not fail, so the results of the encoder are ignored.
struct Packed(ByteBuf);

impl Packed {
    fn text(&mut self, text: &str) {
        let _ = rmp::encode::write_str(&mut self.0, text);
    }

    fn number(&mut self, number: i64) {
        let _ = rmp::encode::write_sint(&mut self.0, number);
    }

    fn array(&mut self, len: usize) {
        let _ = rmp::encode::write_array_len(&mut self.0, u32::try_from(len).unwrap_or(u32::MAX));
    }
}

/// Encodes a mode. Five digits hold the largest capacity, so that capacities sort like their texts.
pub fn mode(mode: Mode) -> String {
    match mode {
        Mode::Counting { capacity } => format!("c{capacity:05}"),
        Mode::Shared => "s".to_owned(),
        Mode::Exclusive => "x".to_owned(),
    }
}

pub fn moment(time: Timestamp) -> String {
    time.micros().to_string()
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use ade_core::ids::{ProcessId, SessionId, TaskId};
    use ade_core::limits::LOCK_COUNTING_CAPACITY_MAX;

    use super::*;

    #[test]
    fn encoded_ids_are_short_and_keep_the_owner_order() {
        assert_eq!(lease(LeaseId::from_u128(1)), "00000000000000000000000001");
        let owners = [
            Owner::Agent(ProcessId::from_u128(9)),
            Owner::User(SessionId::from_u128(1)),
            Owner::User(SessionId::from_u128(9)),
            Owner::Task(TaskId::from_u128(1)),
        ];
        let (short, full) = (owners.map(owner), owners.map(|owner| owner.to_string()));
        assert!(short.is_sorted() && full.is_sorted(), "{short:?} {full:?}");
        assert!(short.iter().all(|text| text.len() == 27), "{short:?}");
    }

    #[test]
    fn encoded_modes_sort_from_most_to_least_shareable() {
        let counting = |capacity| mode(Mode::Counting { capacity });
        let texts = [counting(1), counting(9), counting(10), counting(LOCK_COUNTING_CAPACITY_MAX)];
        assert!(texts.is_sorted(), "{texts:?}");
        assert!(texts.iter().all(|text| text.len() == 6), "{texts:?}");
        assert!(texts[3] < mode(Mode::Shared) && mode(Mode::Shared) < mode(Mode::Exclusive));
    }
}
