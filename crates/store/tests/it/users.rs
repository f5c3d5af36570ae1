//! People round-trip through the store, page by page, and only for their own tenant.

use std::collections::BTreeSet;

use ade_core::actor::Role;
use ade_core::ids::UserId;
use ade_store::StoreError;
use ade_store::users::{self, NewUser, User, UserProfile};

use crate::test_database::{PEOPLE, TestDatabase, broken_rule};

fn newcomer(number: u128) -> NewUser {
    NewUser {
        id: UserId::from_u128(number),
        issuer: "https://idp.example".to_owned(),
        subject: format!("subject-{number}"),
        profile: UserProfile {
            name: "Zoë".to_owned(),
            email: Some("zoe@example.com".to_owned()),
            manager: Some(UserId::from_u128(1)),
            is_active: true,
        },
        has_verified_email: true,
    }
}

fn roles(names: &[&str]) -> BTreeSet<Role> {
    names.iter().map(|name| Role::new(*name)).collect()
}

#[tokio::test]
async fn user_round_trips_and_can_be_changed() {
    let rig = TestDatabase::new().await;
    let new = newcomer(100);
    let mut tx = rig.begin_closed().await;
    users::insert(&mut tx, &new).await.unwrap();
    let mut expected = User {
        id: new.id,
        issuer: new.issuer.clone(),
        subject: new.subject.clone(),
        profile: new.profile.clone(),
        has_verified_email: true,
        roles: BTreeSet::new(),
        aliases: BTreeSet::new(),
        created_at: rig.now,
        unconfirmed: None,
        passkeys_reset_at: None,
    };
    assert_eq!(users::get(&mut tx, new.id).await.unwrap(), Some(expected.clone()));
    let known = users::of_subject(&mut tx, &new.issuer, &new.subject).await.unwrap();
    assert_eq!(known, Some(new.id));

    users::set_roles(&mut tx, new.id, &roles(&["author", "dba"])).await.unwrap();
    users::set_roles(&mut tx, new.id, &roles(&["dba", "reviewer"])).await.unwrap();
    let [one, two] = [1, 2].map(UserId::from_u128);
    assert!(users::add_alias(&mut tx, new.id, one).await.unwrap());
    assert!(!users::add_alias(&mut tx, new.id, one).await.unwrap(), "the link exists already");
    assert!(users::add_alias(&mut tx, two, new.id).await.unwrap());
    expected.profile =
        UserProfile { name: "Z".to_owned(), email: None, manager: None, is_active: false };
    expected.has_verified_email = false;
    users::update(&mut tx, new.id, &expected.profile).await.unwrap();
    expected.roles = roles(&["dba", "reviewer"]);
    expected.aliases = BTreeSet::from([one, two]);
    rig.keep(tx).await;

    let mut tx = rig.begin_closed().await;
    assert_eq!(users::get(&mut tx, new.id).await.unwrap(), Some(expected.clone()));
    users::set_roles(&mut tx, new.id, &BTreeSet::new()).await.unwrap();
    expected.roles = BTreeSet::new();
    assert_eq!(users::get(&mut tx, new.id).await.unwrap(), Some(expected));
}

#[tokio::test]
async fn user_pages_are_sorted_by_id_and_complete() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = users::list(&mut tx, after, 3).await.unwrap();
        assert!(page.len() <= 3);
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        seen.extend(page.iter().map(|user| user.id));
    }
    let everybody: Vec<UserId> = (1..=PEOPLE).map(UserId::from_u128).collect();
    assert_eq!(seen, everybody);
    let last = UserId::from_u128(u128::MAX);
    assert_eq!(users::list(&mut tx, Some(last), 3).await.unwrap(), []);
}

#[tokio::test]
async fn user_that_is_missing_or_duplicate_is_refused() {
    let rig = TestDatabase::new().await;
    let stranger = UserId::from_u128(999);
    let mut tx = rig.begin_closed().await;
    let profile = newcomer(1).profile;
    let missing = users::update(&mut tx, stranger, &profile).await;
    assert!(matches!(missing, Err(StoreError::Conflict { .. })), "{missing:?}");
    tx.roll_back().await;

    let mut tx = rig.begin_closed().await;
    users::insert(&mut tx, &newcomer(100)).await.unwrap();
    let twin = NewUser { id: UserId::from_u128(101), ..newcomer(100) };
    let refused = broken_rule(users::insert(&mut tx, &twin).await);
    assert_eq!(refused, "app_user_subject_is_one_person");
    let mut tx = rig.begin_closed().await;
    let refused = broken_rule(users::set_roles(&mut tx, stranger, &roles(&["dba"])).await);
    assert_eq!(refused, "user_role_user_exists");
    let mut tx = rig.begin_closed().await;
    let one = UserId::from_u128(1);
    let refused = broken_rule(users::add_alias(&mut tx, one, one).await);
    assert_eq!(refused, "user_alias_is_another");
}

#[tokio::test]
async fn user_is_invisible_to_another_tenant() {
    let rig = TestDatabase::new().await;
    let new = newcomer(100);
    let mut tx = rig.begin_closed().await;
    users::insert(&mut tx, &new).await.unwrap();
    users::add_alias(&mut tx, new.id, UserId::from_u128(1)).await.unwrap();
    users::set_roles(&mut tx, UserId::from_u128(1), &roles(&["dba"])).await.unwrap();
    rig.keep(tx).await;
    let mut foreign = rig.begin_as(rig.other).await;
    assert_eq!(users::get(&mut foreign, new.id).await.unwrap(), None);
    let known = users::of_subject(&mut foreign, &new.issuer, &new.subject).await.unwrap();
    assert_eq!(known, None);
    let page = users::list(&mut foreign, None, 100).await.unwrap();
    assert_eq!(page.len(), usize::try_from(PEOPLE).unwrap());
    assert!(page.iter().all(|user| user.roles.is_empty() && user.aliases.is_empty()));
    let refused = users::update(&mut foreign, new.id, &new.profile).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
}
