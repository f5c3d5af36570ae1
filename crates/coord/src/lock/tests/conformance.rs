//! The scripts agree with the model, step by step, over random histories of a space. Every test
//! run tries a few seeds; `cargo xtask soak locks` continues for the given number of minutes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::rig::{Bench, ModelReplies};
use super::world::World;

const SEEDS: u64 = 24;
const STEPS: usize = 250;
const SOAK_STEPS: usize = 4_000;

/// Runs one space from its first step; the error names seed and step.
pub async fn live(
    bench: &Bench,
    seed: u64,
    steps: usize,
    mut hear: impl FnMut(&World, &ModelReplies),
) -> Result<(), String> {
    let mut world = World::new(bench, seed);
    for step in 0..steps {
        let said =
            world.step().await.map_err(|message| format!("seed {seed} step {step}: {message}"))?;
        if let Some(said) = said {
            hear(&world, &said);
        }
    }
    world.rig.clear().await;
    Ok(())
}

#[tokio::test]
async fn scripts_and_model_agree_on_every_step() {
    let bench = Bench::open().await;
    let mut met = BTreeSet::new();
    let first_word = |text: String| text.split([' ', '{', '(']).next().unwrap().to_owned();
    for seed in 0..SEEDS {
        let outcome = live(&bench, seed, STEPS, |world, said| {
            met.extend(said.events.iter().map(|event| first_word(format!("{event:?}"))));
            met.extend(said.refusal.iter().map(|refusal| first_word(format!("{refusal:?}"))));
            met.extend(world.rig.model.leases().map(|lease| format!("{:?}", lease.state)));
        });
        outcome.await.unwrap_or_else(|message| panic!("{message}"));
    }
    // The agreement is meaningful only if the histories reach the interesting cases.
    let expected = "Acquired Queued Promoted Released Expired TimedOut Broken Displaced Deadlock \
        StaleEpoch Rebuild Unsure Busy SelfConflict AlreadyWaiting OtherRequest \
        AlreadyRegistered NotFenced Waiting Granted Delayed Victim";
    let missing: Vec<_> = expected.split(' ').filter(|word| !met.contains(*word)).collect();
    assert!(missing.is_empty(), "never met: {missing:?}");
}

/// Run by `cargo xtask soak locks`, which sets the first seed and the number of seeds or minutes.
#[tokio::test]
#[ignore = "runs for the given number of minutes"]
async fn soak() {
    let read = |name: &str| -> u64 { std::env::var(name).unwrap().parse().unwrap() };
    let first = read("ADE_SOAK_SEED");
    let end = Instant::now() + Duration::from_secs(read("ADE_SOAK_SECONDS"));
    let bench = Bench::open().await;
    let mut seed = first;
    let last = read("ADE_SOAK_ROUNDS").saturating_add(first);
    while Instant::now() < end && seed < last {
        if let Err(message) = live(&bench, seed, SOAK_STEPS, |_, _| {}).await {
            panic!("{message}");
        }
        seed += 1;
        println!("seeds {} steps {}", seed - first, (seed - first) * SOAK_STEPS as u64);
    }
}
