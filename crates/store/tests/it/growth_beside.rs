//! The same check for queries outside decisions: authentication, sign-in and outgoing messages.

use std::time::Duration;

use ade_core::change::Digest;
use ade_core::device::UserCode;
use ade_core::ids::{AgentId, DeliveryId, PasskeyId, StepUpId, TaskId, UserId, WebhookId};
use ade_core::preference::Channel;
use ade_core::step_up::Purpose;
use ade_core::time::Timestamp;
use ade_store::messages::{self, PendingNotification};
use ade_store::notifications::NotificationSubject;
use ade_store::step_ups::StepUpChallenge;
use ade_store::tokens::{self, Principal};
use ade_store::webhooks::{self, DeliveryOutcome, Recorded};
use ade_store::{
    Pool, TenantLock, Tx, delegations, device_logins, group_roles, invitations, passkeys, sessions,
    step_ups, users,
};
use uuid::Uuid;

use crate::growth::{ROWS, outgrown};
use crate::test_database::TestDatabase;

/// The endpoint of all deliveries.
const ENDPOINT: u128 = 5;

const QUESTIONS: [&str; 37] = [
    "token",
    "session kept",
    "tenants of a person",
    "sign-in ended",
    "terminal asks",
    "terminal found",
    "invitation",
    "invitation accepted",
    "own tokens",
    "tokens of an agent",
    "a token",
    "old tokens",
    "old sessions",
    "holder",
    "token revoked",
    "session renewed",
    "own sessions",
    "own delegations",
    "roles of groups",
    "roles of a provider",
    "person by subject",
    "person",
    "own passkeys",
    "any passkey",
    "step-up facts",
    "passkeys removed",
    "question",
    "words given",
    "word used",
    "asked for a word",
    "messages that wait",
    "messages delivered",
    "on their way",
    "taken back",
    "sent",
    "sent again",
    "cleared away",
];

/// A time before which nothing has ended.
fn old(tx: &Tx) -> Timestamp {
    tx.now().minus(Duration::from_hours(1))
}

async fn put(tx: &mut Tx, question: &str) {
    let user = UserId::from_u128(7);
    match question {
        "terminal found" => {
            let code = UserCode::parse("BCDF-GHJK").unwrap();
            drop(device_logins::find(tx, &code).await.unwrap());
        }
        "invitation accepted" => drop(invitations::take(tx, "invitation:7").await.unwrap()),
        "own tokens" => drop(tokens::list(tx, Principal::User(user), None, 3).await.unwrap()),
        "tokens of an agent" => {
            let holder = Principal::Agent(AgentId::from_u128(7));
            drop(tokens::list(tx, holder, None, 3).await.unwrap());
        }
        "a token" => drop(tokens::get(tx, "token:7").await.unwrap()),
        "old tokens" => {
            let until = old(tx);
            tokens::prune(tx, until, 3).await.unwrap();
        }
        "old sessions" => {
            let until = old(tx);
            sessions::prune(tx, until, 3).await.unwrap();
        }
        "holder" => drop(tokens::holder(tx, "token:7").await.unwrap()),
        "token revoked" => drop(tokens::revoke(tx, "token:7").await.unwrap()),
        "session renewed" => drop(sessions::renew(tx, "session:7", &[1; 32]).await.unwrap()),
        "own sessions" => drop(sessions::list(tx, user).await.unwrap()),
        "own delegations" => drop(delegations::of_owner(tx, user, None, 3).await.unwrap()),
        "roles of groups" => drop(group_roles::list(tx, Some("idp:7"), 3).await.unwrap()),
        "roles of a provider" => drop(group_roles::of_issuer(tx, "idp:7").await.unwrap()),
        "person by subject" => drop(users::of_subject(tx, "idp", "p:7").await.unwrap()),
        "person" => drop(users::get(tx, user).await.unwrap()),
        "own passkeys" => drop(passkeys::list(tx, user).await.unwrap()),
        "any passkey" => drop(passkeys::has_any(tx, user).await.unwrap()),
        "step-up facts" => drop(step_ups::facts(tx, user, "session:7").await.unwrap()),
        "passkeys removed" => {
            passkeys::remove(tx, user, &[7].map(PasskeyId::from_u128)).await.unwrap();
        }
        "question" => drop(step_ups::question(tx, StepUpId::from_u128(7)).await.unwrap()),
        "words given" => drop(step_ups::unused(tx, user).await.unwrap()),
        // The first call finds no row.
        "word used" => drop(step_ups::use_up(tx, StepUpId::from_u128(7)).await),
        "asked for a word" => {
            let (id, asked_at) = (StepUpId::from_u128(1), tx.now());
            let subject = Digest::of(b"one");
            let asked = StepUpChallenge {
                id,
                user,
                key_id: "session:7".to_owned(),
                purpose: Purpose::Approve,
                subject,
                nonce: [1; 32],
                asked_at,
                is_given: false,
            };
            step_ups::ask(tx, &asked).await.unwrap();
        }
        other => put_out(tx, other).await,
    }
}

async fn put_out(tx: &mut Tx, question: &str) {
    let (user, endpoint) = (UserId::from_u128(7), WebhookId::from_u128(ENDPOINT));
    match question {
        "messages that wait" => drop(messages::waiting(tx, user, Channel::Mail).await.unwrap()),
        "messages delivered" => {
            let items = [7, 8, 9].map(|number| PendingNotification {
                id: Uuid::from_u128(number),
                kind: "task.submitted".to_owned(),
                subject: NotificationSubject::Task {
                    id: TaskId::from_u128(number),
                    number: 1,
                    title: String::new(),
                },
                at: tx.now(),
            });
            messages::end(tx, &items, true).await.unwrap();
        }
        "on their way" => drop(webhooks::sending(tx, endpoint).await.unwrap()),
        "taken back" => drop(webhooks::release_silent(tx).await.unwrap()),
        "sent" => {
            let (sender, ttl) = (Uuid::from_u128(3), Duration::from_secs(30));
            let claimed = webhooks::claim(tx, endpoint, sender, ttl, 3).await.unwrap();
            let recorded = Recorded {
                ended: DeliveryOutcome::Delivered,
                status: None,
                excerpt: None,
                problem: None,
            };
            for one in &claimed {
                webhooks::record(tx, endpoint, one, sender, &recorded).await.unwrap();
            }
        }
        "sent again" => {
            let ids = [7, 8, 9].map(DeliveryId::from_u128);
            webhooks::redeliver(tx, endpoint, &ids).await.unwrap();
        }
        "cleared away" => {
            let until = old(tx);
            webhooks::prune(tx, until, 10).await.unwrap();
        }
        other => panic!("{other} is not asked"),
    }
}

/// Queries that run before the caller is known use no transaction.
async fn put_through(rig: &TestDatabase, pool: &Pool, question: &str) {
    match question {
        "token" => drop(tokens::resolve(pool, "token:7").await.unwrap()),
        "session kept" => sessions::keep(pool, "session:7").await.unwrap(),
        "tenants of a person" => {
            let groups = ["dba".to_owned()];
            drop(sessions::tenants_of(pool, "idp", "p:7", &groups).await.unwrap());
        }
        "sign-in ended" => drop(sessions::end_sign_in(pool, &[7; 32]).await.unwrap()),
        "invitation" => drop(invitations::resolve(pool, "invitation:7").await.unwrap()),
        "terminal asks" => drop(device_logins::poll(pool, &[7; 32]).await.unwrap()),
        within => {
            let mut tx = rig.begin_through(pool, rig.tenant, TenantLock::None).await.unwrap();
            put(&mut tx, within).await;
            tx.roll_back().await;
        }
    }
}

async fn fill(rig: &TestDatabase) {
    let tenant = rig.tenant.uuid();
    let endpoint = Uuid::from_u128(ENDPOINT);
    let sql = format!(
        "SET session_replication_role = replica;
         CREATE TEMPORARY TABLE filling AS
         SELECT '{tenant}'::uuid AS tenant_id, n, lpad(to_hex(n), 32, '0')::uuid AS id,
                sha256(n::text::bytea) AS hash
           FROM generate_series(2, {ROWS}) AS n;
         INSERT INTO app_user (tenant_id, id, issuer, subject, name)
         SELECT tenant_id, id, 'idp', 'p:' || n, 'P' FROM filling ON CONFLICT DO NOTHING;
         INSERT INTO user_role (tenant_id, user_id, role)
         SELECT tenant_id, id, 'reviewer' FROM filling ON CONFLICT DO NOTHING;
         INSERT INTO token (tenant_id, key_id, user_id, secret_hash, scopes, expires_at)
         SELECT tenant_id, 'token:' || n, id, hash, '{{}}', now() + interval '1 day' FROM filling;
         INSERT INTO token (tenant_id, key_id, agent_id, secret_hash, scopes, expires_at)
         SELECT tenant_id, 'agent:' || n, id, hash, '{{}}', now() + interval '1 day' FROM filling;
         INSERT INTO token (tenant_id, key_id, user_id, secret_hash, scopes, expires_at, idle_until,
                            signed_in_at)
         SELECT tenant_id, 'session:' || n, id, hash, '{{}}', now() + interval '1 hour',
                now() + interval '1 hour', now() FROM filling;
         INSERT INTO delegation (tenant_id, id, owner_id, delegate_to, kind, conditions, cascades,
                                 starts_at, expires_at)
         SELECT tenant_id, gen_random_uuid(), id, '{endpoint}', 'transfer', '{{}}', false, now(),
                now() + interval '1 day' FROM filling WHERE id <> '{endpoint}';
         INSERT INTO group_role (tenant_id, issuer, group_name, role)
         SELECT tenant_id, 'idp:' || n, 'dba', 'reviewer' FROM filling;
         INSERT INTO sign_in (hash, provider, nonce, verifier, return_to, expires_at)
         SELECT hash, 'corp', 'n', 'v', '/', now() + interval '5 minutes' FROM filling;
         INSERT INTO device_login (hash, code, client, address, created_at, expires_at, pace)
         SELECT hash, 'code' || n, 'cli', '127.0.0.1', now(), now() + interval '5 minutes', 5
           FROM filling;
         INSERT INTO invitation (tenant_id, user_id, key_id, secret_hash, created_at, expires_at)
         SELECT tenant_id, id, 'invitation:' || n, hash, now(), now() + interval '5 minutes'
           FROM filling;
         INSERT INTO passkey (tenant_id, id, user_id, name, credential, algorithm, public_key,
                              counter, created_at)
         SELECT tenant_id, id, id, 'key', hash, -7, hash, 0, now() FROM filling;
         INSERT INTO step_up (tenant_id, id, user_id, key_id, purpose, subject, nonce, asked_at,
                              passkey_id, client_data, authenticator_data, signature, given_at)
         SELECT tenant_id, id, id, 'session:' || n, 'approve', hash, hash, now(), id, hash, hash,
                hash, now() FROM filling;
         INSERT INTO message_item (tenant_id, id, user_id, channel, kind, detail, at, state)
         SELECT tenant_id, id, id, 'mail', 'passkey.added', 'key', now(), 'waiting' FROM filling;
         INSERT INTO webhook_delivery (tenant_id, id, endpoint_id, event_id, seq, kind, object,
                                       body, state, next_at, created_at, queued_at, ended_at)
         SELECT tenant_id, id, '{endpoint}', id::text, n, 'task.submitted', 'object:' || n % 1000,
                '', CASE WHEN n % 2 = 0 THEN 'pending' ELSE 'delivered' END, now(), now(), now(),
                CASE WHEN n % 2 = 1 THEN now() END FROM filling;
         SELECT pg_stat_force_next_flush()"
    );
    rig.database.run(&sql).await;
}

#[tokio::test]
async fn query_reads_do_not_grow_with_the_tables() {
    let rig = TestDatabase::new().await;
    let found = outgrown(&rig, QUESTIONS, put_through, fill).await;
    assert_eq!(found, [], "rows read, of {ROWS} in each table");
}
