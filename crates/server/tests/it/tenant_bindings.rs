//! What an installation shares is bound to tenants. No tenant reaches the people of another one
//! through an identity provider, and a failure in one tenant does not affect the others.

use ade_core::limits::ACCOUNTS_OF_ADDRESS_MAX;
use ade_engine::admin::bootstrap;
use ade_engine::services::tenant_binding::TenantBinding;
use ade_testkit::Database;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::provider::FakeProvider;
use crate::signing_in::{Browser, ada, give, home};
use crate::world::{LockBackend, Person, TestProvider, TestServerOptions, World};

/// A second tenant that maps the same group, and its admin.
async fn evil(world: &World, provider: &FakeProvider) -> (String, Person) {
    let (tenant, admin) = world.tenant("evil").await;
    give(world, &admin.token, provider, json!({ "dba": ["author"] })).await;
    (tenant, admin)
}

async fn accounts(world: &World, admin: &Person) -> String {
    world.get(&admin.token, "/v1/users").await.expect(200).to_string()
}

async fn names(browser: &mut Browser<'_>) -> Vec<Value> {
    let session = browser.get("/v1/session").await.expect(200);
    session["tenants"].as_array().unwrap().iter().map(|tenant| tenant["name"].clone()).collect()
}

#[tokio::test]
async fn group_of_another_tenant_makes_no_one_a_member() {
    let (world, provider) = home().await;
    let (_, admin) = evil(&world, &provider).await;
    let mut browser = Browser::new(&world, &world.rig);
    let claims = ada(&["dba"]);
    let to = browser.sign_in(&provider, &claims).await;
    assert_eq!(to, "/sign-in?problem=not_joined", "two tenants offer, and none was chosen");
    assert_eq!(browser.join(&provider, &claims, "acme").await, "/inbox");
    assert_eq!(browser.sign_in(&provider, &claims).await, "/inbox");
    assert_eq!(names(&mut browser).await, ["acme"]);
    assert!(!accounts(&world, &admin).await.contains("Ada"), "the other tenant learned her name");

    assert_eq!(browser.join(&provider, &claims, "evil").await, "/inbox");
    assert_eq!(names(&mut browser).await, ["acme", "evil"], "she decided to join");
    for unknown in ["Evil", "nowhere", "%20"] {
        let to = browser.join(&provider, &claims, unknown).await;
        assert_eq!(to, "/sign-in?problem=no_tenant", "{unknown}");
    }
}

/// A link on a page of someone else must not make a person join a tenant.
#[tokio::test]
async fn link_from_another_site_leads_to_the_sign_in_page() {
    let (world, provider) = home().await;
    let (_, admin) = evil(&world, &provider).await;
    let mut browser = Browser::new(&world, &world.rig);
    browser.join(&provider, &ada(&["dba"]), "acme").await;
    let path = "/auth/login?provider=company&tenant=evil%20%26%20co";
    let others: [&[(&str, &str)]; 3] =
        [&[], &[("sec-fetch-site", "cross-site")], &[("sec-fetch-site", "none")]];
    for headers in others {
        let (answer, to) = browser.ask("GET", path, None, headers).await;
        assert_eq!((answer.status, to.as_deref()), (303, Some("/sign-in?tenant=evil+%26+co")));
        assert_eq!(browser.cookies.keys().collect::<Vec<_>>(), ["__Host-ade_s"]);
    }

    // A choice that was not completed does not count for the next sign-in.
    let path = "/auth/login?provider=company&tenant=evil";
    browser.ask("GET", path, None, &[("sec-fetch-site", "same-origin")]).await;
    assert!(browser.cookies.contains_key("__Host-ade_j"));
    browser.sign_in(&provider, &ada(&["dba"])).await;
    assert_eq!(names(&mut browser).await, ["acme"]);
    assert!(!accounts(&world, &admin).await.contains("Ada"));
}

/// A tenant with too many accounts of one address blocks itself only.
#[tokio::test]
async fn sign_in_that_fails_in_one_tenant_opens_the_others() {
    let (world, provider) = home().await;
    let (evil, _) = evil(&world, &provider).await;
    let mut claims = ada(&["dba"]);
    claims["email"] = json!("ada@example.org");
    claims["email_verified"] = json!(true);
    let mut browser = Browser::new(&world, &world.rig);
    for tenant in ["evil", "acme"] {
        browser.join(&provider, &claims, tenant).await;
    }
    let crowd = format!(
        "INSERT INTO app_user (tenant_id, id, issuer, subject, name, email, email_verified_at)
         SELECT tenant_id, gen_random_uuid(), 'corp', 'crowd-' || n, 'Crowd', 'ada@example.org',
                now()
           FROM tenant, generate_series(1, {}) AS n WHERE name = 'evil'",
        ACCOUNTS_OF_ADDRESS_MAX + 1
    );
    world.database.run(&crowd).await;
    let mut browser = Browser::new(&world, &world.rig);
    assert_eq!(browser.sign_in(&provider, &claims).await, "/inbox");
    assert_eq!(names(&mut browser).await, ["acme"]);
    // Her roles there were not updated, so the session does not lead there either.
    let wanted = Some(json!({ "tenant_id": evil }));
    let refused = browser.change("POST", "/v1/session/tenant", wanted).await;
    refused.refused(404, "not_found");
    let to = browser.join(&provider, &claims, "evil").await;
    assert_eq!(to, "/inbox");
    assert_eq!(names(&mut browser).await, ["acme"]);
}

#[tokio::test]
async fn provider_signs_in_only_to_its_tenants() {
    let provider = FakeProvider::start().await;
    let tenants = TenantBinding::Listed(vec!["acme".to_owned()]);
    let providers = vec![TestProvider::company(&provider.issuer, tenants)];
    let world = World::fitted(TestServerOptions { providers, ..LockBackend::Off.into() }).await;
    give(&world, &world.admin.token, &provider, json!({ "dba": ["reviewer"] })).await;
    let (_, admin) = evil(&world, &provider).await;
    // The admin of a tenant that the provider does not serve enters the person.
    let known = format!(
        "INSERT INTO app_user (tenant_id, id, issuer, subject, name)
         SELECT tenant_id, gen_random_uuid(), '{}', 'ada', 'Known' FROM tenant
          WHERE name = 'evil'",
        provider.issuer
    );
    world.database.run(&known).await;
    let mut browser = Browser::new(&world, &world.rig);
    for tenant in ["evil", "nowhere"] {
        let to = browser.join(&provider, &ada(&["dba"]), tenant).await;
        assert_eq!(to, "/sign-in?problem=no_tenant", "{tenant} is answered like an unknown one");
    }
    assert_eq!(browser.join(&provider, &ada(&["dba"]), "acme").await, "/inbox");
    assert_eq!(names(&mut browser).await, ["acme"]);
    assert!(!accounts(&world, &admin).await.contains("Ada"));
}

/// Every shared table, with a value that the settings need beside it.
const SHARED: [(&str, &[(&str, &str)]); 5] = [
    (
        "preview.targets.orders",
        &[
            ("PREVIEW__TARGETS__ORDERS__URL", "postgres://a@127.0.0.1/orders"),
            ("PREVIEW__TARGETS__ORDERS__KIND", "copy"),
        ],
    ),
    (
        "executors.command.deploy",
        &[
            ("EXECUTORS__COMMAND__DEPLOY__PROGRAM", "/bin/true"),
            ("EXECUTORS__COMMAND__DEPLOY__DIRECTORY", "/"),
        ],
    ),
    ("executors.http.dns", &[("EXECUTORS__HTTP__DNS__URL", "https://dns.example.org")]),
    (
        "auth.providers.company",
        &[
            ("AUTH__PROVIDERS__COMPANY__ISSUER", "https://id.example.org"),
            ("AUTH__PROVIDERS__COMPANY__CLIENT_ID", "ade"),
        ],
    ),
    ("export", &[("EXPORT__SINK", "file:///var/log/events.jsonl")]),
];

/// Settings files, because lists of task types cannot be set in the environment.
fn file_of(table: &str, settings: &[(&str, &str)], tenants: &str) -> String {
    let types = if table.starts_with("executors") { "types = [\"value.*\"]\n" } else { "" };
    let values = settings.iter().map(|(name, value)| {
        let key = name.rsplit("__").next().unwrap().to_lowercase();
        format!("{key} = \"{value}\"\n")
    });
    format!("[{table}]\n{types}{}{tenants}\n", values.collect::<String>())
}

/// Whether the output has the lines to add for this table.
fn has_lines_for(said: &str, table: &str) -> bool {
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    lines.windows(2).any(|pair| pair == [&format!("[{table}]"), "tenants = [\"…\"]"])
}

#[tokio::test]
async fn shared_table_without_tenants_prevents_the_start() {
    let migrate = async |url: String| bootstrap::migrate(&url).await;
    let database = Database::fresh("server", migrate).await;
    let base = std::env::temp_dir().join(format!("{}.shared", database.name()));
    std::fs::create_dir(&base).unwrap();
    let [pepper, file, key] = ["pepper", "settings.toml", "key.pem"].map(|name| base.join(name));
    std::fs::write(&pepper, [7; 32]).unwrap();
    let mut made = Command::new(env!("CARGO_BIN_EXE_ade-server"));
    assert!(made.args(["keys", "new"]).arg(&key).env_clear().status().await.unwrap().success());
    let logins = [
        ("ADE__DATABASE__URL", database.login("app", "ade_app").await),
        ("ADE__DATABASE__WORKER_URL", database.login("work", "ade_app, ade_worker").await),
        ("ADE__DATABASE__OWNER_URL", database.url()),
    ];
    let run = async |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ade-server"));
        command.arg("--config").arg(&file).args(arguments).env_clear().kill_on_drop(true);
        command.envs(logins.iter().cloned()).env("ADE__AUTH__PEPPER_FILE", &pepper);
        command.env("ADE__SERVER__LISTEN", "127.0.0.1:0").env("ADE__LOCKS__BACKEND", "postgres");
        command.env("ADE__RECEIPTS__KEY_FILES", &key);
        let ended = command.output().await.unwrap();
        let said = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
        (ended.status.success(), said)
    };
    let pepper_of = || ade_engine::services::secrets::Pepper::new(vec![7; 32]).unwrap();
    bootstrap::bootstrap(&database.url(), &pepper_of(), "acme").await.unwrap();
    for (table, settings) in SHARED {
        std::fs::write(&file, file_of(table, settings, "")).unwrap();
        let (_, said) = run(&["doctor"]).await;
        assert!(!said.contains("fail  tenants"), "one tenant needs no list: {said}");
        let (is_done, said) = run(&["migrate", "--bootstrap", "other"]).await;
        assert!(!is_done, "{said}");
        assert!(said.contains("was not created") && has_lines_for(&said, table), "{said}");
    }
    bootstrap::bootstrap(&database.url(), &pepper_of(), "other").await.unwrap();
    for (table, settings) in SHARED {
        std::fs::write(&file, file_of(table, settings, "")).unwrap();
        for subcommand in ["api", "worker", "all", "doctor"] {
            let (is_done, said) = run(&[subcommand]).await;
            assert!(!is_done && has_lines_for(&said, table), "{subcommand}: {said}");
        }
        std::fs::write(&file, file_of(table, settings, "tenants = [\"acme\"]")).unwrap();
        let (_, said) = run(&["doctor"]).await;
        assert!(!said.contains("fail  tenants"), "{said}");
    }
    // All of them are named at once.
    let all = SHARED.map(|(table, settings)| file_of(table, settings, ""));
    std::fs::write(&file, all.concat()).unwrap();
    for subcommand in ["api", "doctor"] {
        let (_, said) = run(&[subcommand]).await;
        assert!(
            SHARED.iter().all(|(table, _)| has_lines_for(&said, table)),
            "{subcommand}: {said}"
        );
    }
    std::fs::remove_dir_all(&base).unwrap();
}
