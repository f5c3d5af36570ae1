//! Tests that the environment overrides the file, that the file overrides the defaults, and that
//! errors name the invalid setting.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ade_engine::services::executors::TargetKind;

use super::*;

/// A temporary file of one test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ade-config-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn with_file(name: &str, text: &str) -> Result<Config, ConfigError> {
    Config::read(Some(&Scratch::new(name, text).0), variables(&[]))
}

fn with_variable(name: &str, value: &str) -> Result<Config, ConfigError> {
    Config::read(None, variables(&[(name, value)]))
}

#[track_caller]
fn assert_refused(given: Result<Config, ConfigError>, says: &str) {
    let message = given.unwrap_err().to_string();
    assert!(message.contains(says), "{message:?} does not contain {says:?}");
}

#[test]
fn config_defaults_are_complete_and_loopback() {
    let config = Config::read(None, variables(&[])).unwrap();
    assert!(config.server.listen.ip().is_loopback());
    assert_eq!(config.server.answer_timeout(), Duration::from_secs(15));
    assert_eq!(config.server.head_timeout(), Duration::from_secs(10));
    assert_eq!(config.workers.run, ["all"]);
    assert_eq!(config.preview.targets().unwrap(), BTreeMap::new());
}

#[test]
fn config_precedence_is_environment_file_defaults() {
    let file = Scratch::new("order", "[server]\nrequests_max = 7\nwaits_max = 8\n");
    let environment = variables(&[
        ("ADE__SERVER__WAITS_MAX", "9"),
        ("ADE__WORKERS__RUN", "task_expirer,review_opener"),
        ("OTHER", "x"),
    ]);
    let config = Config::read(Some(&file.0), environment).unwrap();
    assert_eq!(config.server.requests_max, 7);
    assert_eq!(config.server.waits_max, 9);
    assert_eq!(config.server.connections_max, 4096);
    assert_eq!(config.workers.run, ["task_expirer", "review_opener"]);
}

#[test]
fn unknown_setting_is_refused_in_any_section() {
    assert_refused(with_file("section", "[serverr]\nlisten = 1\n"), "serverr");
    assert_refused(with_file("key", "[server]\nlistem = 1\n"), "listem");
    assert_refused(with_file("target", "[preview.targets.a]\nuri = \"x\"\n"), "uri");
    assert_refused(with_variable("ADE__SERVER__LISTEM", "x"), "listem");
}

#[test]
fn plain_http_on_a_public_address_must_be_allowed() {
    let listen = "0.0.0.0:7700";
    assert_refused(with_variable("ADE__SERVER__LISTEN", listen), "allow_plain_http");
    let allowed =
        variables(&[("ADE__SERVER__LISTEN", listen), ("ADE__SERVER__ALLOW_PLAIN_HTTP", "true")]);
    assert_eq!(Config::read(None, allowed).unwrap().server.listen.to_string(), listen);
    assert!(with_variable("ADE__SERVER__LISTEN", "[::1]:7700").is_ok());
}

#[test]
fn notify_page_defaults_to_the_listen_address() {
    let page = |pairs: &[(&str, &str)]| Config::read(None, variables(pairs)).unwrap().notify.page;
    assert_eq!(page(&[]), "http://127.0.0.1:7700");
    let listen = |address| ("ADE__SERVER__LISTEN", address);
    assert_eq!(page(&[listen("127.0.0.1:17790")]), "http://127.0.0.1:17790");
    let plain = ("ADE__SERVER__ALLOW_PLAIN_HTTP", "true");
    assert_eq!(page(&[listen("0.0.0.0:80"), plain]), "http://127.0.0.1:80");
    assert_eq!(page(&[listen("[::]:80"), plain]), "http://[::1]:80");
    let files = [("ADE__SERVER__CERTIFICATE_FILE", "/c.pem"), ("ADE__SERVER__KEY_FILE", "/k.pem")];
    assert_eq!(page(&[listen("10.0.0.1:443"), files[0], files[1]]), "https://10.0.0.1:443");
    let given = ("ADE__NOTIFY__PAGE", "https://ade.example.org");
    assert_eq!(page(&[listen("127.0.0.1:17790"), given]), "https://ade.example.org");
}

#[test]
fn password_in_the_settings_file_is_refused() {
    for (at, url) in ["postgres://a:b@h/d", "postgres://h/d?password=b"].iter().enumerate() {
        let database = format!("[database]\nreplica_url = \"{url}\"\n");
        assert_refused(with_file(&format!("db{at}"), &database), "`database.replica_url`");
        let target = format!("[preview.targets.main]\nurl = \"{url}\"\n");
        assert_refused(with_file(&format!("t{at}"), &target), "preview.targets.main.url");
    }
    assert!(with_file("clean", "[database]\nurl = \"postgres://a@h:5432/d\"\n").is_ok());
    let config = with_variable("ADE__DATABASE__URL", "postgres://a:hunter2@localhost/d").unwrap();
    assert_eq!(config.database.url().unwrap().reveal(), "postgres://a:hunter2@localhost/d");
    assert!(!format!("{config:?}").contains("hunter2"), "{config:?}");
}

#[test]
fn secrets_are_read_from_their_files() {
    let secret = Scratch::new("secret", "postgres://a:b@localhost/d\n");
    let path = secret.0.to_str().unwrap();
    let config = with_variable("ADE__DATABASE__URL_FILE", path).unwrap();
    assert_eq!(config.database.url().unwrap().reveal(), "postgres://a:b@localhost/d");
    let missing = config.database.worker_url().unwrap_err().to_string();
    assert!(missing.starts_with("`database.worker_url` is not set"), "{missing}");
    assert_eq!(config.database.replica_url().unwrap(), None);
    let both = variables(&[("ADE__DATABASE__URL_FILE", path), ("ADE__DATABASE__URL", "x")]);
    let both = Config::read(None, both).unwrap();
    assert!(both.database.url().unwrap_err().to_string().contains("both"));
    let target = variables(&[
        ("ADE__PREVIEW__TARGETS__MAIN__URL_FILE", path),
        ("ADE__PREVIEW__TARGETS__MAIN__KIND", "copy"),
    ]);
    let targets = Config::read(None, target).unwrap().preview.targets().unwrap();
    assert_eq!(targets["main"].url.reveal(), "postgres://a:b@localhost/d");
}

#[test]
fn plain_database_and_redis_connections_must_be_allowed() {
    let database = |variables: &[(&str, &str)]| {
        let mut all = vec![("ADE__DATABASE__URL", "postgres://a@db.example/d")];
        all.extend(variables);
        Config::read(None, self::variables(&all)).unwrap()
    };
    let refused = database(&[]).database.url().unwrap_err().to_string();
    assert!(refused.contains("`database.url`") && refused.contains("verify-full"), "{refused}");
    let open = database(&[("ADE__DATABASE__ALLOW_PLAIN", "true")]);
    assert!(open.database.url().is_ok());
    let replica = "postgres://a@db.example/d?sslmode=verify-full";
    let closed = database(&[("ADE__DATABASE__REPLICA_URL", replica)]);
    assert_eq!(closed.database.replica_url().unwrap().unwrap().reveal(), replica);

    let target = variables(&[
        ("ADE__PREVIEW__TARGETS__MAIN__URL", "postgres://a@db.example/d"),
        ("ADE__PREVIEW__TARGETS__MAIN__KIND", "copy"),
    ]);
    let target = Config::read(None, target).unwrap();
    let refused = target.preview.targets().unwrap_err().to_string();
    assert!(refused.contains("preview.targets.main.allow_plain"), "{refused}");

    let redis = |variables: &[(&str, &str)]| {
        Config::read(None, self::variables(variables)).unwrap().redis.nodes()
    };
    let far = ("ADE__REDIS__URLS", "redis://127.0.0.1:1,redis://cache.example:1");
    let refused = redis(&[far]).unwrap_err().to_string();
    assert!(refused.contains("rediss://") && refused.contains("redis.allow_plain"), "{refused}");
    assert!(redis(&[far, ("ADE__REDIS__ALLOW_PLAIN", "true")]).is_ok());
    assert!(redis(&[("ADE__REDIS__URLS", "rediss://cache.example:1")]).is_ok());
    let key = Scratch::new("redis-key", "a key");
    let half = redis(&[("ADE__REDIS__KEY_FILE", key.0.to_str().unwrap())]);
    assert!(half.unwrap_err().to_string().contains("`redis.certificate_file`"));
}

/// Loads the preview targets from these lines; `orders` follows the address of that target.
fn preview_targets(
    name: &str,
    preview: &str,
    orders: &str,
) -> Result<BTreeMap<String, PreviewTarget>, ConfigError> {
    let url = "url = \"postgres://a@localhost/d\"";
    let text = format!("[preview]\n{preview}\n[preview.targets.orders]\n{url}\n{orders}\n");
    with_file(name, &text)?.preview.targets()
}

#[test]
fn preview_target_without_kind_is_refused() {
    for (name, kind) in [("kindless", ""), ("other-kind", "kind = \"replica\"")] {
        let refused = preview_targets(name, "", kind).unwrap_err().to_string();
        for part in ["`preview.targets.orders.kind`", "kind = \"copy\"", "kind = \"live\""] {
            assert!(refused.contains(part), "{refused}");
        }
    }
}

#[test]
fn live_preview_target_must_be_enabled_by_name() {
    let live = "kind = \"live\"";
    let refused = preview_targets("live", "", live).unwrap_err().to_string();
    for part in ["`preview.targets.orders`", "`preview.enable_live`", "rollback", "sequences"] {
        assert!(refused.contains(part), "{refused}");
    }
    let targets = preview_targets("enabled", "enable_live = [\"orders\"]", live).unwrap();
    assert_eq!(targets["orders"].kind, TargetKind::Live);
    for (name, live) in
        [("unknown", "enable_live = [\"order\"]"), ("copy", "enable_live = [\"orders\"]")]
    {
        let refused = preview_targets(name, live, "kind = \"copy\"").unwrap_err().to_string();
        assert!(refused.contains("`preview.enable_live` names `order"), "{refused}");
    }
}

#[test]
fn preview_target_tenants_come_from_file_or_environment() {
    let tenants = |listed: &[&str]| Some(listed.iter().map(|one| (*one).to_owned()).collect());
    let unbound = preview_targets("unbound", "", "kind = \"copy\"").unwrap();
    assert_eq!(unbound["orders"].tenants, None);
    let bound = preview_targets("bound", "", "kind = \"copy\"\ntenants = [\"acme\"]").unwrap();
    assert_eq!(bound["orders"].tenants, tenants(&["acme"]));
    let environment = variables(&[
        ("ADE__PREVIEW__TARGETS__ORDERS__URL", "postgres://a@localhost/d"),
        ("ADE__PREVIEW__TARGETS__ORDERS__KIND", "live"),
        ("ADE__PREVIEW__TARGETS__ORDERS__TENANTS", "acme,Two words"),
        ("ADE__PREVIEW__ENABLE_LIVE", "orders"),
    ]);
    let targets = Config::read(None, environment).unwrap().preview.targets().unwrap();
    assert_eq!(targets["orders"].tenants, tenants(&["acme", "Two words"]));
}

#[test]
fn invalid_url_is_reported_without_its_password() {
    let config =
        with_variable("ADE__DATABASE__URL", "postgres://a:hunter2@localhost:port/d").unwrap();
    let message = config.database.url().unwrap_err().to_string();
    assert!(message.contains("`database.url`") && !message.contains("hunter2"), "{message}");
    let config = with_variable("ADE__REDIS__URLS", "http://a:hunter2@localhost").unwrap();
    let message = config.redis.nodes().unwrap_err().to_string();
    assert!(message.contains("`redis.urls`") && !message.contains("hunter2"), "{message}");
}

#[test]
fn missing_setting_is_reported_when_it_is_needed() {
    let config = Config::read(None, variables(&[])).unwrap();
    assert!(config.database.url().unwrap_err().to_string().contains("`database.url`"));
    assert!(config.auth.pepper().unwrap_err().to_string().contains("auth.pepper_file"));
    let gone = with_variable("ADE__AUTH__PEPPER_FILE", "/nonexistent/pepper").unwrap();
    assert!(gone.auth.pepper().unwrap_err().to_string().contains("/nonexistent/pepper"));
}

#[test]
fn pepper_shorter_than_32_bytes_is_refused() {
    for (bytes, is_fit) in [(31, false), (32, true)] {
        let file = Scratch::new(&format!("pepper{bytes}"), &"x".repeat(bytes));
        let config = with_variable("ADE__AUTH__PEPPER_FILE", file.0.to_str().unwrap()).unwrap();
        assert_eq!(config.auth.pepper().is_ok(), is_fit, "{bytes}");
    }
}

#[test]
fn zero_limits_are_refused() {
    assert_refused(with_variable("ADE__SERVER__REQUESTS_MAX", "0"), "requests_max");
    assert_refused(with_variable("ADE__WORKERS__PERIOD_S", "0"), "period_s");
}

const PROGRAM: &str = "[executors.command.deploy]\ntypes = [\"deploy.*\"]\n";

#[test]
fn executor_program_needs_an_absolute_path_and_has_limits() {
    let table = format!("{PROGRAM}program = \"/bin/true\"\ndirectory = \"/tmp\"\ncpu_max_s = 7\n");
    let config = with_file("program", &table).unwrap();
    let program = &config.executors.command["deploy"];
    let bounds = config.executors.bounds(program);
    assert_eq!((bounds.time, bounds.cpu), (Duration::from_mins(5), Duration::from_secs(7)));
    assert_eq!((program.arguments.len(), program.environment.len()), (0, 0));
    let relative = format!("{PROGRAM}program = \"deploy\"\ndirectory = \"/tmp\"\n");
    assert_refused(with_file("relative", &relative), "executors.command.deploy.program");
    let relative = format!("{PROGRAM}program = \"/bin/true\"\ndirectory = \"x\"\n");
    assert_refused(with_file("nowhere", &relative), "executors.command.deploy.directory");
    assert_refused(with_file("shell", &format!("{table}shell = \"sh\"\n")), "shell");
}

#[test]
fn receipt_keys_are_read_from_pem_files_in_order() {
    let config = with_file("http", "[executors.http.dns]\ntypes = []\nurl = \"https://x\"\n");
    let config = config.unwrap();
    assert!(!config.executors.http["dns"].allow_loopback);
    assert!(
        config.receipts.keys().unwrap().is_empty(),
        "no key is needed until something is signed"
    );
    let pem =
        |text: &str| format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
    let [first, second] =
        [Scratch::new("first", &pem("AAAA")), Scratch::new("second", &pem("AQEB"))];
    let both = format!("{},{}", first.0.display(), second.0.display());
    let named = with_variable("ADE__RECEIPTS__KEY_FILES", &both).unwrap();
    assert_eq!(named.receipts.keys().unwrap(), [vec![0; 3], vec![1; 3]]);
    let junk = Scratch::new("junk", "no key");
    let named = with_variable("ADE__RECEIPTS__KEY_FILES", junk.0.to_str().unwrap()).unwrap();
    assert!(named.receipts.keys().unwrap_err().to_string().contains("receipts.key_files"));
}
