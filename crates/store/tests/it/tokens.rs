//! A token resolves to its holder before the tenant is known, as long as both are valid. A holder
//! has at most two active tokens, and a single-use token works once.

use std::time::Duration;

use ade_core::ids::{AgentId, TenantId, UserId};
use ade_core::limits::{SESSION_KEPT, TOKEN_KEPT};
use ade_core::network::Networks;
use ade_core::time::Timestamp;
use ade_store::tokens::{self, NewToken, Principal, Resolved, TokenRecord};
use ade_store::{StoreError, agents, sessions};

use crate::test_database::{SOON, TestDatabase, broken_rule, connect_app, run, try_run};

const BOT: Principal = Principal::Agent(AgentId::from_u128(1));
const PERSON: Principal = Principal::User(UserId::from_u128(2));

fn token(rig: &TestDatabase, key_id: &str, principal: Principal) -> NewToken {
    NewToken {
        key_id: key_id.to_owned(),
        principal,
        hash: [7; 32],
        scopes: vec!["read".to_owned(), "propose".to_owned()],
        label: "laptop".to_owned(),
        expires_at: rig.now.plus(Duration::from_hours(1)),
        is_single_use: false,
        networks: Networks::default(),
        issued_by: None,
    }
}

async fn keep(rig: &TestDatabase, token: &NewToken) {
    let mut tx = rig.begin().await;
    tokens::insert(&mut tx, token).await.unwrap();
    rig.keep(tx).await;
}

async fn resolve(rig: &TestDatabase, key_id: &str) -> Resolved {
    tokens::resolve(&rig.pool, key_id).await.unwrap().unwrap()
}

#[tokio::test]
async fn token_resolves_to_its_holder_and_owner() {
    let rig = TestDatabase::new().await;
    keep(&rig, &token(&rig, "bot", BOT)).await;
    keep(&rig, &token(&rig, "person", PERSON)).await;
    let expected = Resolved {
        tenant: rig.tenant,
        principal: BOT,
        owner: Some(UserId::from_u128(1)),
        hash: [7; 32],
        scopes: vec!["read".to_owned(), "propose".to_owned()],
        expires_at: rig.now.plus(Duration::from_hours(1)),
        revoked_at: None,
        is_single_use: false,
        is_session: false,
        networks: Networks::default(),
        issued_by: None,
        noted_at: None,
        is_live: true,
    };
    assert_eq!(resolve(&rig, "bot").await, expected);
    let person = Resolved { principal: PERSON, owner: None, ..expected };
    assert_eq!(resolve(&rig, "person").await, person);
    assert_eq!(tokens::resolve(&rig.pool, "unknown").await.unwrap(), None);
    // Resolving inside a transaction of another tenant leaves that tenant in place.
    let mut foreign = rig.begin_as(rig.other).await;
    let question = sqlx::query_as::<_, (sqlx::types::Uuid, Option<String>)>(
        "SELECT r.tenant_id, current_setting('ade.tenant') FROM resolve_token('bot', '1 min') r",
    );
    let answer = foreign.read(question).await.unwrap();
    assert_eq!(answer, [(rig.tenant.uuid(), Some(rig.other.uuid().to_string()))]);
    assert_eq!(tokens::list(&mut foreign, BOT, None, 10).await.unwrap(), []);
    assert_eq!(tokens::get(&mut foreign, "bot").await.unwrap(), None);
    assert_eq!(tokens::holder(&mut foreign, "bot").await.unwrap(), None);
    assert_eq!(tokens::count_open(&mut foreign, BOT).await.unwrap(), 0);
    assert!(!tokens::revoke(&mut foreign, "bot").await.unwrap());
}

#[tokio::test]
async fn token_is_dead_when_its_holder_or_owner_is() {
    let rig = TestDatabase::new().await;
    keep(&rig, &token(&rig, "bot", BOT)).await;
    keep(&rig, &token(&rig, "person", PERSON)).await;
    let live = async |bot, person| {
        let resolved = (resolve(&rig, "bot").await.is_live, resolve(&rig, "person").await.is_live);
        assert_eq!(resolved, (bot, person));
    };
    live(true, true).await;
    let mut admin = rig.database.connect().await;
    for (close, open, bot, person) in [
        ("UPDATE tenant SET active = false", "UPDATE tenant SET active = true", false, false),
        (
            "UPDATE app_user SET active = false WHERE subject = '1'",
            "UPDATE app_user SET active = true",
            false,
            true,
        ),
        (
            "UPDATE app_user SET active = false WHERE subject = '2'",
            "UPDATE app_user SET active = true",
            true,
            false,
        ),
        (
            "UPDATE token SET created_at = moment() - interval '2 h', expires_at = moment()",
            "UPDATE token SET expires_at = moment() + interval '1 h'",
            false,
            false,
        ),
    ] {
        run(&mut admin, close).await;
        live(bot, person).await;
        run(&mut admin, open).await;
        live(true, true).await;
    }
    let mut tx = rig.begin_closed().await;
    agents::revoke(&mut tx, AgentId::from_u128(1)).await.unwrap();
    assert!(tokens::revoke(&mut tx, "person").await.unwrap());
    assert!(!tokens::revoke(&mut tx, "person").await.unwrap(), "once");
    rig.keep(tx).await;
    live(false, false).await;
    assert_eq!(resolve(&rig, "person").await.revoked_at, Some(rig.now));
}

#[tokio::test]
async fn token_holder_has_at_most_two_open() {
    let rig = TestDatabase::new().await;
    for key in ["a", "b"] {
        keep(&rig, &token(&rig, key, PERSON)).await;
    }
    keep(&rig, &token(&rig, "of another", BOT)).await;
    let third = token(&rig, "c", PERSON);
    let mut tx = rig.begin().await;
    assert_eq!(tokens::count_open(&mut tx, PERSON).await.unwrap(), 2);
    let refused = broken_rule(tokens::insert(&mut tx, &third).await);
    assert_eq!(refused, "token_two_open_at_most");
    let mut tx = rig.begin().await;
    tokens::revoke(&mut tx, "a").await.unwrap();
    tokens::insert(&mut tx, &third).await.unwrap();
    let listed = tokens::list(&mut tx, PERSON, None, 10).await.unwrap();
    let keys: Vec<(&str, bool)> =
        listed.iter().map(|token| (token.key_id.as_str(), token.revoked_at.is_some())).collect();
    assert_eq!(keys, [("c", false), ("b", false), ("a", true)]);
    let expected = TokenRecord {
        key_id: "c".to_owned(),
        principal: PERSON,
        scopes: third.scopes.clone(),
        label: third.label.clone(),
        created_at: rig.now,
        expires_at: third.expires_at,
        revoked_at: None,
        is_single_use: false,
        used_at: None,
        networks: Networks::default(),
        issued_by: None,
        last_used_at: None,
    };
    assert_eq!(listed.first(), Some(&expected));
    assert_eq!(tokens::get(&mut tx, "c").await.unwrap(), Some(expected));
    assert_eq!(tokens::holder(&mut tx, "c").await.unwrap(), Some(PERSON));
}

#[tokio::test]
async fn token_limit_holds_for_concurrent_requests() {
    let rig = TestDatabase::patient().await;
    keep(&rig, &token(&rig, "a", PERSON)).await;
    let [mut first, mut second] = [rig.begin().await, rig.begin().await];
    tokens::insert(&mut first, &token(&rig, "b", PERSON)).await.unwrap();
    let third = token(&rig, "c", PERSON);
    let mut watcher = rig.database.session().await;
    let late = async {
        let outcome = tokens::insert(&mut second, &third).await;
        second.roll_back().await;
        outcome
    };
    let early = async {
        watcher.wait_for_waiting(1, SOON).await;
        rig.keep(first).await;
    };
    let (late, ()) = tokio::join!(late, early);
    assert_eq!(broken_rule(late), "token_two_open_at_most");
}

#[tokio::test]
async fn token_of_single_use_admits_one_of_many() {
    let rig = TestDatabase::new().await;
    let once = NewToken { is_single_use: true, ..token(&rig, "once", PERSON) };
    keep(&rig, &once).await;
    keep(&rig, &token(&rig, "many", PERSON)).await;
    let resolved = resolve(&rig, "once").await;
    assert!(resolved.is_single_use && resolved.is_live);
    let pool = rig.pool(8);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let pool = pool.clone();
        callers.spawn(async move { tokens::consume(&pool, "once").await.unwrap() });
    }
    let yes = callers.join_all().await.into_iter().filter(|is_first| *is_first).count();
    assert_eq!(yes, 1);
    assert!(!resolve(&rig, "once").await.is_live);
    assert!(!tokens::consume(&rig.pool, "many").await.unwrap(), "not of single use");
    assert!(resolve(&rig, "many").await.is_live);
    let mut tx = rig.begin().await;
    assert_eq!(tokens::count_open(&mut tx, PERSON).await.unwrap(), 1, "used up");
}

#[tokio::test]
async fn token_lives_ninety_days_at_most_and_has_a_holder() {
    let rig = TestDatabase::new().await;
    let long = rig.now.plus(Duration::from_hours(90 * 24));
    let too_long = Timestamp::from_micros(long.micros() + 1);
    let of = |expires_at| NewToken { expires_at, ..token(&rig, "a", PERSON) };
    let kept = token(&rig, "kept", BOT);
    keep(&rig, &kept).await;
    let mut tx = rig.begin().await;
    let refused = broken_rule(tokens::insert(&mut tx, &of(too_long)).await);
    assert_eq!(refused, "token_lives_90_days_at_most");
    let mut tx = rig.begin().await;
    tokens::insert(&mut tx, &of(long)).await.unwrap();
    let orphan = token(&rig, "b", Principal::Agent(AgentId::from_u128(99)));
    let refused = broken_rule(tokens::insert(&mut tx, &orphan).await);
    assert_eq!(refused, "token_agent_exists");
    let mut tx = rig.begin_as(rig.other).await;
    let elsewhere = broken_rule(tokens::insert(&mut tx, &kept).await);
    assert_eq!(elsewhere, "token_key_id_names_one_tenant");
}

const HOUR: Duration = Duration::from_hours(1);

/// Inserts a token that was created ten hours before its end, unless `more` says otherwise.
async fn plant(rig: &TestDatabase, tenant: TenantId, key: &str, ends_at: Timestamp, more: &str) {
    let micros = ends_at.micros();
    let sql = format!(
        "INSERT INTO token (tenant_id, key_id, user_id, secret_hash, scopes, created_at,
                            expires_at)
         SELECT '{tenant}', '{key}', '{user}', sha256('x'), '{{read}}', at - interval '10 h', at
           FROM (SELECT to_timestamp(0) + {micros} * interval '1 microsecond') AS ends (at);
         UPDATE token SET {more} key_id = key_id WHERE key_id = '{key}'",
        tenant = tenant.uuid(),
        user = UserId::from_u128(2).uuid(),
    );
    rig.database.run(&sql).await;
}

const SESSION: &str = "idle_until = expires_at, signed_in_at = created_at,";

async fn left(rig: &TestDatabase) -> Vec<String> {
    let mut admin = rig.database.connect().await;
    let sql = "SELECT key_id FROM token ORDER BY key_id COLLATE \"C\"";
    sqlx::query_scalar(sql).fetch_all(&mut admin).await.unwrap()
}

#[tokio::test]
async fn token_pruning_removes_only_long_ended_tokens() {
    let rig = TestDatabase::new().await;
    let workers = rig.worker_pool().await;
    let (old, over) = (rig.now.minus(TOKEN_KEPT), rig.now.minus(SESSION_KEPT));
    let later = rig.now.plus(HOUR);
    let ended = format!("to_timestamp(0) + {} * interval '1 microsecond'", old.micros());
    let revoked = format!("created_at = {ended} - interval '1 h', revoked_at = {ended},");
    let used = format!(
        "created_at = {ended} - interval '1 h', single_use = true, used_at = {ended},
         expires_at = {ended} + interval '1 h',"
    );
    let signed_out = format!("{SESSION} revoked_at = expires_at - interval '2 h',");
    for (key, ends_at, more) in [
        ("expired", old, ""),
        ("revoked", old.plus(HOUR), &*revoked),
        ("used up", old.plus(HOUR), &*used),
        ("recent", old.plus(HOUR), ""),
        ("open", later, ""),
        ("session expired", over, SESSION),
        ("session ended", over.plus(HOUR), &*signed_out),
        ("session recent", over.plus(HOUR), SESSION),
        ("session open", later, SESSION),
    ] {
        plant(&rig, rig.tenant, key, ends_at, more).await;
    }
    let find = async || tokens::tenants_to_prune(&workers, old, over, 10).await.unwrap();
    assert_eq!(find().await, [rig.tenant]);
    plant(&rig, rig.other, "theirs", old, "").await;
    plant(&rig, rig.other, "their session", over, SESSION).await;
    assert_eq!(find().await, [rig.tenant, rig.other]);
    for (limit, tokens_gone, sessions_gone) in [(2, 2, 2), (2, 1, 0), (2, 0, 0)] {
        let mut tx = rig.begin().await;
        assert_eq!(tokens::prune(&mut tx, old, limit).await.unwrap(), tokens_gone);
        assert_eq!(sessions::prune(&mut tx, over, limit).await.unwrap(), sessions_gone);
        tx.commit().await.unwrap();
    }
    let stay = ["open", "recent", "session open", "session recent", "their session", "theirs"];
    assert_eq!(left(&rig).await, stay, "other tenants are not pruned");
    assert_eq!(find().await, [rig.other]);
    let refused = tokens::tenants_to_prune(&rig.pool, old, over, 10).await;
    assert!(matches!(refused, Err(StoreError::Forbidden { .. })), "{refused:?}");
    // A token that is still valid is never deleted, whichever role asks.
    let mut app = connect_app(&rig).await;
    run(&mut app, &format!("SET ade.tenant = '{}'", rig.tenant.uuid())).await;
    assert_eq!(try_run(&mut app, "DELETE FROM token").await.unwrap(), 2, "the recent ones");
    assert_eq!(left(&rig).await, ["open", "session open", "their session", "theirs"]);
}

#[tokio::test]
async fn token_use_is_noted_once_a_minute_without_waiting() {
    let rig = TestDatabase::new().await;
    keep(&rig, &token(&rig, "bot", BOT)).await;
    let last = async || {
        let mut tx = rig.begin().await;
        tokens::get(&mut tx, "bot").await.unwrap().unwrap().last_used_at
    };
    assert_eq!(last().await, None);
    tokens::note_use(&rig.pool, "bot").await.unwrap();
    let first = last().await.unwrap();
    assert_eq!(resolve(&rig, "bot").await.noted_at, Some(first));
    tokens::note_use(&rig.pool, "bot").await.unwrap();
    assert_eq!(last().await, Some(first), "within the minute");

    let mut admin = rig.database.connect().await;
    let past = "UPDATE token SET last_used_at = last_used_at - interval '1 hour'";
    run(&mut admin, past).await;
    assert_eq!(resolve(&rig, "bot").await.noted_at, None);
    // The token is being revoked: the use is not noted, and the call does not wait.
    let mut tx = rig.begin().await;
    assert!(tokens::revoke(&mut tx, "bot").await.unwrap());
    tokens::note_use(&rig.pool, "bot").await.unwrap();
    rig.keep(tx).await;
    assert!(last().await.unwrap() < first);
}

#[tokio::test]
async fn token_networks_round_trip_and_sessions_have_none() {
    let rig = TestDatabase::new().await;
    let networks = Networks::parse(["10.1.0.0/16", "2001:db8::/32"]).unwrap();
    let bound = NewToken { networks: networks.clone(), ..token(&rig, "bot", BOT) };
    keep(&rig, &bound).await;
    assert_eq!(resolve(&rig, "bot").await.networks, networks);
    let mut tx = rig.begin().await;
    assert_eq!(tokens::networks_of(&mut tx, "bot").await.unwrap(), networks);
    assert!(tokens::networks_of(&mut tx, "unknown").await.unwrap().is_anywhere());
    let mut foreign = rig.begin_as(rig.other).await;
    assert!(tokens::networks_of(&mut foreign, "bot").await.unwrap().is_anywhere());
    let mut admin = rig.database.connect().await;
    let session = "UPDATE token SET idle_until = now(), agent_id = NULL, user_id = owner_id
                     FROM agent WHERE agent.id = token.agent_id";
    let refused = sqlx::raw_sql(session).execute(&mut admin).await.unwrap_err();
    assert!(refused.to_string().contains("token_of_a_session"), "{refused}");
}

#[tokio::test]
async fn token_pages_list_tokens_of_one_moment_once() {
    let rig = TestDatabase::new().await;
    let mut tx = rig.begin().await;
    for key in ["a", "b", "c", "d", "e"] {
        tokens::insert(&mut tx, &token(&rig, key, PERSON)).await.unwrap();
        tokens::revoke(&mut tx, key).await.unwrap();
    }
    let mut walked: Vec<String> = Vec::new();
    for _ in 0..4 {
        let last = walked.last().cloned();
        let after = last.as_deref().map(|key| (rig.now, key));
        let page = tokens::list(&mut tx, PERSON, after, 2).await.unwrap();
        walked.extend(page.into_iter().map(|token| token.key_id));
    }
    assert_eq!(walked, ["e", "d", "c", "b", "a"]);
}
