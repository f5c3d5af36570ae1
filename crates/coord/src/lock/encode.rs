//! What a script is sent: every fact as one word, numbers in full digits, times and durations in
//! microseconds. `record.lua` reads it back.

use std::time::Duration;

use ade_core::lock::{Arrival, Class, LiveHold, Mode, Request};
use ade_core::time::Timestamp;

pub fn request(request: &Request) -> Vec<String> {
    let set = request.set();
    let delay = match request.class() {
        Class::Fenced { lock_delay } => micros(lock_delay),
        Class::Advisory => "-1".to_owned(),
    };
    let mut words = vec![
        request.lease().to_string(),
        request.owner().to_string(),
        request.node().to_owned(),
        moment(request.birth()),
        delay,
        micros(request.ttl()),
        micros(request.wait()),
        request.boost().to_string(),
        (2 * set.len()).to_string(),
    ];
    for (resource, held) in set.iter() {
        words.push(resource.to_string());
        words.push(mode(held));
    }
    words
}

pub fn hold(hold: &LiveHold) -> Vec<String> {
    let mut words = request(&hold.request);
    words.push(hold.token.to_string());
    words.push(moment(hold.deadline));
    words
}

/// How it comes, and the two numbers that go with it.
pub fn arrival(arrival: Arrival) -> [String; 3] {
    let (word, first, second) = match arrival {
        Arrival::New => ("new", 0, 0),
        Arrival::Waited(order) => ("waited", order.place(), order.arrival()),
        Arrival::Held(token) => ("held", token.number(), 0),
    };
    [word.to_owned(), first.to_string(), second.to_string()]
}

/// Five digits hold the greatest capacity, so that capacities sort like their texts.
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

fn micros(duration: Duration) -> String {
    duration.as_micros().to_string()
}

#[cfg(test)]
mod tests {
    use ade_core::limits::LOCK_COUNTING_CAPACITY_MAX;

    use super::*;

    #[test]
    fn modes_sort_from_the_most_to_the_least_that_may_hold_together() {
        let counting = |capacity| mode(Mode::Counting { capacity });
        let texts = [counting(1), counting(9), counting(10), counting(LOCK_COUNTING_CAPACITY_MAX)];
        assert!(texts.is_sorted(), "{texts:?}");
        assert!(texts.iter().all(|text| text.len() == 6), "{texts:?}");
        assert!(texts[3] < mode(Mode::Shared) && mode(Mode::Shared) < mode(Mode::Exclusive));
    }
}
