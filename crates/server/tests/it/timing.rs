//! Whoever guesses learns nothing from how long an answer takes: what is not there and what is not
//! theirs are refused alike, in time as in words.

use std::time::{Duration, Instant};

use ade_core::token::{KeyId, Kind, Secret, Token};

use crate::world::{World, path_of};

/// One of them is enough: whatever else the machine does sets medians apart by chance.
const ROUNDS: usize = 5;
/// Connections, plans and caches are made on the way.
const WARM_UP: usize = 50;
const EACH: usize = 300;
/// Less than what a network adds and takes away by itself.
const UNSEEN: Duration = Duration::from_micros(300);

/// A call that is refused.
#[derive(Clone, Copy)]
struct Guess<'a> {
    token: &'a str,
    path: &'a str,
    refusal: (u16, &'a str),
}

impl Guess<'_> {
    async fn time(self, world: &World) -> Duration {
        let began = Instant::now();
        let answer = world.get(self.token, self.path).await;
        let took = began.elapsed();
        let (status, code) = self.refusal;
        answer.refused(status, code);
        took
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// By turns, and each as often first as second: whatever the machine does meets both alike.
async fn medians(world: &World, guesses: [Guess<'_>; 2]) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..EACH {
        let order = if turn % 2 == 0 { [0, 1] } else { [1, 0] };
        for at in order {
            times[at].push(guesses[at].time(world).await);
        }
    }
    times.map(median)
}

async fn assert_alike(world: &World, guesses: [Guess<'_>; 2]) {
    for _ in 0..WARM_UP {
        for guess in guesses {
            guess.time(world).await;
        }
    }
    let mut told = Vec::new();
    for _ in 0..ROUNDS {
        let [one, other] = medians(world, guesses).await;
        println!("answered in {one:?} and in {other:?}");
        if one.abs_diff(other) < UNSEEN.max(one.min(other) / 5) {
            return;
        }
        told.push([one, other]);
    }
    panic!("the time of an answer tells one from the other: {told:?}");
}

#[tokio::test]
async fn an_unknown_key_and_a_wrong_secret_are_refused_alike_in_time() {
    let world = World::new().await;
    // She never calls: for a moment after it her key would not be looked up.
    let eve = world.person("Eve", &["author"]).await;
    let known = Token::parse(&eve.token).unwrap();
    let wrong = Token { secret: Secret::from_bytes([2; 32]), ..known.clone() }.reveal();
    let key_id = KeyId::from_bytes([9; 11]);
    let unknown = Token { kind: Kind::User, key_id, secret: known.secret }.reveal();
    let refusal = (401, "unauthenticated");
    let guesses = [&unknown, &wrong].map(|token| Guess { token, path: "/v1/me", refusal });
    assert_alike(&world, guesses).await;
}

#[tokio::test]
async fn a_task_of_another_tenant_and_none_are_refused_alike_in_time() {
    let world = World::new().await;
    let bob = world.person("Bob", &["author"]).await;
    let task = world.draft(&bob, "Grow").await;
    let (_, stranger) = world.tenant("stranger").await;
    let theirs = path_of(&task);
    let nothing = format!("/v1/tasks/task_{}", "0".repeat(26));
    let (token, refusal) = (stranger.token.as_str(), (404, "not_found"));
    let guesses = [&theirs, &nothing].map(|path| Guess { token, path, refusal });
    assert_alike(&world, guesses).await;
}
