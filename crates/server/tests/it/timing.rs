//! Response times reveal nothing: a missing object and an inaccessible one are refused in the same
//! way and in the same time.

use std::time::{Duration, Instant};

use ade_core::token::{KeyId, Secret, Token, TokenKind};

use crate::world::{World, path_of};

/// The test passes if one round does, because other load on the machine can distort a median.
const ROUNDS: usize = 5;
/// The number of calls that fill connections, plans and caches first.
const WARM_UP: usize = 50;
const EACH: usize = 300;
/// A difference that is smaller than the jitter of a network.
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

/// Measures both calls, each of them first in every other turn, so that other load affects both
/// alike.
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
    let mut differing = Vec::new();
    for _ in 0..ROUNDS {
        let [one, other] = medians(world, guesses).await;
        println!("answered in {one:?} and in {other:?}");
        if one.abs_diff(other) < UNSEEN.max(one.min(other) / 5) {
            return;
        }
        differing.push([one, other]);
    }
    panic!("the response times differ: {differing:?}");
}

#[tokio::test]
async fn unknown_key_and_wrong_secret_are_refused_alike_in_time() {
    let world = World::new().await;
    // Eve makes no call, because her key would be cached for a moment afterwards.
    let eve = world.person("Eve", &["author"]).await;
    let known = Token::parse(&eve.token).unwrap();
    let wrong = Token { secret: Secret::from_bytes([2; 32]), ..known.clone() }.reveal();
    let key_id = KeyId::from_bytes([9; 11]);
    let unknown = Token { kind: TokenKind::User, key_id, secret: known.secret }.reveal();
    let refusal = (401, "unauthenticated");
    let guesses = [&unknown, &wrong].map(|token| Guess { token, path: "/v1/me", refusal });
    assert_alike(&world, guesses).await;
}

#[tokio::test]
async fn foreign_and_missing_tasks_are_refused_alike_in_time() {
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
