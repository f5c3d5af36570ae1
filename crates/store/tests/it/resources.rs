//! The registry round-trips, and dependents are found over any number of steps, including cycles.

use std::collections::BTreeSet;

use ade_core::ids::UserId;
use ade_core::limits::REGISTRY_DEPENDENTS_MAX;
use ade_core::resource::ResourceRef;
use ade_core::risk::Score;
use ade_store::resources::{self, About, RegistryEntry, Resource};

use crate::test_database::{TestDatabase, broken_rule};

fn resource(name: &str) -> ResourceRef {
    name.parse().unwrap()
}

fn named(names: &[&str]) -> BTreeSet<ResourceRef> {
    names.iter().map(|name| resource(name)).collect()
}

fn about(dependents: &[&str]) -> About {
    About {
        criticality: Some(Score::new(80)),
        environment: Some("prod".to_owned()),
        tags: BTreeSet::from(["pci".to_owned(), "eu".to_owned()]),
        owner: Some(UserId::from_u128(3)),
        blocks_on_unknown: false,
        dependents: named(dependents),
    }
}

fn nothing() -> About {
    About {
        criticality: None,
        environment: None,
        tags: BTreeSet::new(),
        owner: None,
        blocks_on_unknown: true,
        dependents: BTreeSet::new(),
    }
}

#[tokio::test]
async fn registry_entry_round_trips_and_is_replaced_as_a_whole() {
    let rig = TestDatabase::new().await;
    let name = resource("db:a");
    let mut tx = rig.begin_closed().await;
    assert_eq!(resources::get(&mut tx, &name).await.unwrap(), None);
    for dependent in ["svc:x", "svc:y", "svc:z"] {
        resources::put(&mut tx, &resource(dependent), &nothing()).await.unwrap();
    }
    for about in [about(&["svc:x", "svc:y"]), about(&["svc:y", "svc:z"]), nothing()] {
        resources::put(&mut tx, &name, &about).await.unwrap();
        let expected = Resource { name: name.clone(), about, updated_at: rig.now };
        assert_eq!(resources::get(&mut tx, &name).await.unwrap(), Some(expected));
    }
    let refused = resources::put(&mut tx, &name, &about(&["svc:unknown"])).await;
    assert_eq!(broken_rule(refused), "resource_dependency_dependent_exists");
}

#[tokio::test]
async fn registry_pages_are_sorted_by_name_and_complete() {
    let rig = TestDatabase::new().await;
    let names = ["a:!", "a:b", "a:b!", "a:b!!", "a:bb", "a:b~", "z-:~", "z:~~"];
    let mut tx = rig.begin_closed().await;
    for name in names {
        resources::put(&mut tx, &resource(name), &nothing()).await.unwrap();
    }
    let mut sorted: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    sorted.sort_unstable();
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = resources::list(&mut tx, after.as_ref(), 3).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.name.clone());
        seen.extend(page.iter().map(|resource| resource.name.to_string()));
    }
    assert_eq!(seen, sorted);
}

#[tokio::test]
async fn registry_facts_include_transitive_dependents() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin_closed().await;
    for name in ["svc:d", "svc:c", "svc:b", "db:a", "db:alone"] {
        resources::put(&mut tx, &resource(name), &nothing()).await.unwrap();
    }
    let hangs = async |tx: &mut ade_store::Tx, name: &str, on: &[&str]| {
        resources::put(tx, &resource(name), &about(on)).await.unwrap();
    };
    hangs(&mut tx, "db:a", &["svc:b", "svc:c"]).await;
    hangs(&mut tx, "svc:b", &["svc:c", "svc:d"]).await;
    hangs(&mut tx, "svc:d", &["db:a"]).await;
    rig.keep(tx).await;
    let wanted = ["db:a", "svc:d", "svc:c", "db:alone", "db:unknown"].map(resource);
    let mut tx = rig.begin().await;
    let facts = resources::facts(&mut tx, &wanted).await.unwrap();
    let entry = |dependents: &[&str]| RegistryEntry {
        criticality: Some(Score::new(80)),
        environment: Some("prod".to_owned()),
        owner: Some(UserId::from_u128(3)),
        dependents: named(dependents),
    };
    assert_eq!(facts.len(), 4, "what has no entry is not there: {facts:?}");
    assert_eq!(facts[&wanted[0]], entry(&["svc:b", "svc:c", "svc:d"]), "a cycle");
    assert_eq!(facts[&wanted[1]], entry(&["db:a", "svc:b", "svc:c"]));
    assert_eq!(facts[&wanted[2]].dependents, BTreeSet::new());
    assert_eq!(facts[&wanted[3]].criticality, None);
    let mut foreign = rig.begin_as(rig.other).await;
    assert!(resources::facts(&mut foreign, &wanted).await.unwrap().is_empty());
    assert_eq!(resources::list(&mut foreign, None, 9).await.unwrap(), []);
    assert_eq!(resources::get(&mut foreign, &wanted[0]).await.unwrap(), None);
}

#[tokio::test]
async fn registry_walk_stops_at_the_dependents_limit() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin_closed().await;
    let chain: Vec<String> =
        (0..REGISTRY_DEPENDENTS_MAX + 10).map(|number| format!("svc:{number:04}")).collect();
    let mut after: Vec<&str> = Vec::new();
    for name in chain.iter().rev() {
        resources::put(&mut tx, &resource(name), &about(&after)).await.unwrap();
        after = vec![name];
    }
    let wanted = [resource(&chain[0]), resource(&chain[20])];
    let facts = resources::facts(&mut tx, &wanted).await.unwrap();
    assert_eq!(facts[&wanted[0]].dependents.len(), REGISTRY_DEPENDENTS_MAX);
    assert_eq!(facts[&wanted[1]].dependents.len(), chain.len() - 21, "fewer than the bound");
}
