//! Defaults, file and environment override in that order, and what is wrong is refused by name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;

/// A file of this test alone, gone with it.
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
    let told = given.unwrap_err().to_string();
    assert!(told.contains(says), "{told:?} does not say {says:?}");
}

#[test]
fn the_defaults_are_complete_and_loopback() {
    let config = Config::read(None, variables(&[])).unwrap();
    assert!(config.server.listen.ip().is_loopback());
    assert_eq!(config.server.answer_timeout(), Duration::from_secs(15));
    assert_eq!(config.server.head_timeout(), Duration::from_secs(10));
    assert_eq!(config.workers.run, ["all"]);
    assert_eq!(config.preview.targets().unwrap(), BTreeMap::new());
}

#[test]
fn the_environment_overrides_the_file_and_the_file_the_defaults() {
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
fn an_unknown_setting_is_refused_wherever_it_stands() {
    assert_refused(with_file("section", "[serverr]\nlisten = 1\n"), "serverr");
    assert_refused(with_file("key", "[server]\nlistem = 1\n"), "listem");
    assert_refused(with_file("target", "[preview.targets.a]\nuri = \"x\"\n"), "uri");
    assert_refused(with_variable("ADE__SERVER__LISTEM", "x"), "listem");
}

#[test]
fn others_are_not_spoken_to_in_the_clear_unless_asked() {
    let listen = "0.0.0.0:7700";
    assert_refused(with_variable("ADE__SERVER__LISTEN", listen), "allow_plain_http");
    let allowed =
        variables(&[("ADE__SERVER__LISTEN", listen), ("ADE__SERVER__ALLOW_PLAIN_HTTP", "true")]);
    assert_eq!(Config::read(None, allowed).unwrap().server.listen.to_string(), listen);
    assert!(with_variable("ADE__SERVER__LISTEN", "[::1]:7700").is_ok());
}

#[test]
fn a_password_in_the_settings_file_is_refused() {
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
    assert_eq!(config.database.worker_url().unwrap(), config.database.url().unwrap());
    assert_eq!(config.database.replica_url().unwrap(), None);
    let both = variables(&[("ADE__DATABASE__URL_FILE", path), ("ADE__DATABASE__URL", "x")]);
    let both = Config::read(None, both).unwrap();
    assert!(both.database.url().unwrap_err().to_string().contains("both"));
    let target = with_variable("ADE__PREVIEW__TARGETS__MAIN__URL_FILE", path).unwrap();
    assert_eq!(target.preview.targets().unwrap()["main"].reveal(), "postgres://a:b@localhost/d");
}

#[test]
fn the_way_to_the_record_and_to_redis_is_closed_or_said_to_be_open() {
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

    let key = "ADE__PREVIEW__TARGETS__MAIN__URL";
    let target = with_variable(key, "postgres://a@db.example/d").unwrap();
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

#[test]
fn an_address_that_is_none_is_told_without_its_password() {
    let config =
        with_variable("ADE__DATABASE__URL", "postgres://a:hunter2@localhost:port/d").unwrap();
    let told = config.database.url().unwrap_err().to_string();
    assert!(told.contains("`database.url`") && !told.contains("hunter2"), "{told}");
    let config = with_variable("ADE__REDIS__URLS", "http://a:hunter2@localhost").unwrap();
    let told = config.redis.nodes().unwrap_err().to_string();
    assert!(told.contains("`redis.urls`") && !told.contains("hunter2"), "{told}");
}

#[test]
fn what_is_missing_is_told_when_it_is_needed() {
    let config = Config::read(None, variables(&[])).unwrap();
    assert!(config.database.url().unwrap_err().to_string().contains("`database.url`"));
    assert!(config.auth.pepper().unwrap_err().to_string().contains("auth.pepper_file"));
    let gone = with_variable("ADE__AUTH__PEPPER_FILE", "/nonexistent/pepper").unwrap();
    assert!(gone.auth.pepper().unwrap_err().to_string().contains("/nonexistent/pepper"));
}

#[test]
fn a_pepper_has_at_least_32_bytes() {
    for (bytes, is_fit) in [(31, false), (32, true)] {
        let file = Scratch::new(&format!("pepper{bytes}"), &"x".repeat(bytes));
        let config = with_variable("ADE__AUTH__PEPPER_FILE", file.0.to_str().unwrap()).unwrap();
        assert_eq!(config.auth.pepper().is_ok(), is_fit, "{bytes}");
    }
}

#[test]
fn room_for_nothing_is_refused() {
    assert_refused(with_variable("ADE__SERVER__REQUESTS_MAX", "0"), "requests_max");
    assert_refused(with_variable("ADE__WORKERS__PERIOD_S", "0"), "period_s");
}

const PROGRAM: &str = "[executors.command.deploy]\ntypes = [\"deploy.*\"]\n";

#[test]
fn a_program_is_named_by_its_whole_path_and_bounded_unless_it_says_otherwise() {
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
fn keys_are_read_from_pem_files_in_their_order() {
    let config = with_file("http", "[executors.http.dns]\ntypes = []\nurl = \"https://x\"\n");
    let config = config.unwrap();
    assert!(!config.executors.http["dns"].allow_loopback);
    assert!(config.receipts.keys().unwrap().is_empty(), "none is needed until something is signed");
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
