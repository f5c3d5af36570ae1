//! Two tenants of one installation, each with shared things of its own, and the calls in which one
//! of them names a thing: its own one, one of the other tenant, or one that does not exist.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use ade_core::ids::{TaskId, TenantId};
use ade_engine::App;
use ade_engine::services::tenant_binding::TenantBinding;
use ade_engine::workers;
use ade_testkit::{Database, WebhookReceiver, eventually};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::executors::Subject;
use crate::inbound::{SOURCES, Sender, source};
use crate::live::{SOON, Socket};
use crate::previews::target;
use crate::provider::FakeProvider;
use crate::runner::working;
use crate::signing_in::Browser;
use crate::topics::heard;
use crate::webhook_deliveries::settle;
use crate::webhooks::{HOOKS, hook_of};
use crate::world::{
    Answer, LockBackend, Person, TestProvider, TestServerOptions, World, id, path_of, plan,
    without_request_id,
};

/// Every name of a tenant begins with its own name, so that any of them is found by it.
pub const TENANTS: [&str; 2] = ["acme", "umbra"];
/// The name of things that serve no tenant.
const VACANT: &str = "vacant";

/// The things of one tenant as a caller names them.
#[derive(Clone)]
pub struct Things {
    pub name: String,
    pub tenant: String,
    pub target: String,
    pub task_type: String,
    pub provider: String,
    pub source: String,
    pub hook: String,
    pub task: String,
    pub execution: String,
}

impl Things {
    /// Things that do not exist, in the same form. The provider exists and serves no tenant, since
    /// the sign-in page lists all providers.
    pub fn unknown(like: &Self) -> Self {
        let absent = |id: &str| format!("{}_{}", id.split('_').next().unwrap(), "0".repeat(26));
        Self {
            name: VACANT.to_owned(),
            tenant: absent(&like.tenant),
            target: format!("{VACANT}-orders"),
            task_type: format!("{VACANT}.set"),
            provider: VACANT.to_owned(),
            source: absent(&like.source),
            hook: absent(&like.hook),
            task: absent(&like.task),
            execution: absent(&like.execution),
        }
    }

    /// What a caller writes into a request to name one of them.
    pub fn words(&self) -> [&str; 7] {
        let Self { tenant, target, task_type, source, hook, task, execution, .. } = self;
        [tenant, target, task_type, source, hook, task, execution]
    }
}

pub struct Tenant {
    pub things: Things,
    admin: Person,
    author: Person,
    reviewer: Person,
    agent: Person,
    sender: Sender,
    receiver: WebhookReceiver,
}

impl Tenant {
    /// Text that only this tenant may see: its name, with which all of its names begin, and its
    /// ids in both forms.
    pub fn markers(&self) -> Vec<String> {
        let Things { name, tenant, source, hook, task, execution, .. } = &self.things;
        let people = [&self.admin, &self.author, &self.reviewer, &self.agent];
        let mut markers: Vec<String> = people.map(|person| person.id.clone()).into();
        markers.extend([name, tenant, source, hook, task, execution].map(String::clone));
        markers.push(tenant.parse::<TenantId>().unwrap().uuid().to_string());
        markers.push(task.parse::<TaskId>().unwrap().uuid().to_string());
        markers
    }
}

/// What a caller got: the cell of the table, and the text that is compared and searched.
pub struct Outcome {
    pub cell: String,
    pub text: String,
}

impl Outcome {
    fn of(answer: Answer) -> Self {
        let code = answer.body["code"].as_str().map(|code| format!(" `{code}`"));
        let mut body = without_request_id(answer.body);
        if let Some(members) = body.as_object_mut() {
            members.remove("as_of");
        }
        let cell = format!("{}{}", answer.status, code.unwrap_or_default());
        Self { text: format!("{cell} {:?} {body}", answer.etag), cell }
    }

    fn delivered(is_delivered: bool, text: String) -> Self {
        let cell = if is_delivered { "delivered" } else { "nothing" };
        Self { cell: cell.to_owned(), text }
    }

    fn led_to(place: &str) -> Self {
        let cell = if place == "/inbox" { "signed in" } else { place };
        Self { cell: cell.replace("/sign-in?problem=", "refused: "), text: place.to_owned() }
    }
}

pub struct Scene {
    pub world: World,
    /// The database of both preview targets, which is dropped with the scene.
    _target: Database,
    pub tenants: [Tenant; 2],
    /// In the order of [`TENANTS`], and last the one that serves no tenant.
    providers: Vec<FakeProvider>,
    executors: Vec<Subject>,
    folder: PathBuf,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn only(name: &str) -> TenantBinding {
    TenantBinding::Listed(vec![name.to_owned()])
}

fn target_of(name: &str) -> String {
    format!("{name}-orders")
}

/// A proposal whose changes are declared.
fn declared(title: &str, task_type: &str, database: &str) -> Value {
    let mut wanted = plan(title);
    let resource = format!("database:{database}");
    wanted["type"] = json!(task_type);
    wanted["resources"][0]["resource"] = json!(resource);
    wanted["plan"]["changes"][0]["resource"] = json!(resource);
    wanted
}

/// A proposal that a program previews and applies.
fn applied(name: &str, task_type: &str) -> Value {
    json!({
        "title": format!("{name} sets a value"), "type": task_type,
        "parameters": { "value": format!("{name}-two"), "behave": "" },
        "resources": [{ "resource": "database:orders" }],
    })
}

fn query(target: &str) -> Value {
    json!({
        "title": "Look", "type": "sql.change",
        "parameters": { "target": target, "sql": "SELECT 1" },
        "resources": [{ "resource": format!("database:{target}") }],
    })
}

impl Scene {
    pub async fn new() -> Self {
        let mut providers = Vec::new();
        for _ in 0..=TENANTS.len() {
            providers.push(FakeProvider::start().await);
        }
        let executors = vec![Subject::command(), Subject::command()];
        let options = TestServerOptions {
            targets: TENANTS.map(|name| (target_of(name), Some(vec![name.to_owned()]))).into(),
            executors: TENANTS
                .iter()
                .zip(&executors)
                .map(|(name, subject)| subject.entry(&format!("{name}.*"), only(name)))
                .collect(),
            providers: TENANTS
                .into_iter()
                .chain([VACANT])
                .zip(&providers)
                .map(|(name, provider)| TestProvider {
                    name: name.to_owned(),
                    issuer: provider.issuer.clone(),
                    tenants: only(name),
                })
                .collect(),
            ..LockBackend::Rows(LockBackend::SETTINGS).into()
        };
        let world = World::fitted(options).await;
        let target = target(&world).await;
        let folder = std::env::temp_dir().join(format!("{}.export", world.database.name()));
        std::fs::create_dir(&folder).unwrap();
        let other = world.tenant(TENANTS[1]).await;
        let first = (world.tenant.clone(), world.admin.clone());
        let tenants =
            [settled(&world, TENANTS[0], first).await, settled(&world, TENANTS[1], other).await];
        let scene = Self { world, _target: target, tenants, providers, executors, folder };
        for (at, tenant) in scene.tenants.iter().enumerate() {
            scene.map_group(tenant, at).await.expect(200);
        }
        scene
    }

    /// The provider of the things with this name.
    fn provider(&self, name: &str) -> &FakeProvider {
        &self.providers[TENANTS.iter().position(|known| *known == name).unwrap_or(TENANTS.len())]
    }

    async fn map_group(&self, actor: &Tenant, provider: usize) -> Answer {
        let issuer = &self.providers[provider].issuer;
        let body = json!({ "issuer": issuer, "groups": { "dba": ["author"] } });
        self.world.send("PUT", &actor.admin.token, "/v1/group-roles", Some(body), &[]).await
    }

    async fn get(&self, who: &Person, path: String) -> Outcome {
        Outcome::of(self.world.get(&who.token, &path).await)
    }

    pub async fn preview(&self, actor: &Tenant, thing: &Things, path: &str) -> Outcome {
        Outcome::of(self.world.post(&actor.author.token, path, query(&thing.target)).await)
    }

    pub async fn preview_by_program(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let body = applied(&actor.things.name, &thing.task_type);
        Outcome::of(self.world.post(&actor.author.token, "/v1/tasks/evaluate", body).await)
    }

    /// Approves a task of this type and lets the runner work. An agent applies what no program of
    /// the tenant applies.
    pub async fn apply(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let (world, name) = (&self.world, &actor.things.name);
        let is_own = thing.name == *name;
        let wanted = if is_own {
            applied(name, &thing.task_type)
        } else {
            declared(&format!("{name} sets a value"), &thing.task_type, &format!("{name}-shelf"))
        };
        let task = approved(world, actor, wanted).await;
        let driver = working(&world.app);
        let cell = if is_own {
            eventually("the program applies the task", SOON, async || {
                let now = world.task(&actor.author, &task).await["state"].clone();
                if now == "COMPLETED" { Ok(()) } else { Err(now.to_string()) }
            })
            .await;
            "applied by the program"
        } else {
            let permit = claim(world, actor, id(&task)).await.expect(200)["permit"].clone();
            let path = format!("/v1/executions/{}", permit["execution_id"].as_str().unwrap());
            let lease = json!({ "lease_id": permit["lease_id"] });
            for verb in ["begin", "finish"] {
                let path = format!("{path}/{verb}");
                world.post(&actor.agent.token, &path, lease.clone()).await.expect(200);
            }
            "applied by an agent"
        };
        driver.stop().await;
        let programs = TENANTS.iter().zip(&self.executors);
        let appliers: BTreeSet<&str> = programs
            .filter(|(_, subject)| subject.applied().contains(id(&task)))
            .map(|(of, _)| *of)
            .collect();
        let expected = is_own.then_some(name.as_str());
        assert_eq!(appliers, expected.into_iter().collect(), "{name}: {}", thing.task_type);
        Outcome { cell: cell.to_owned(), text: cell.to_owned() }
    }

    pub async fn map(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let provider = TENANTS.iter().position(|known| *known == thing.name);
        let provider = provider.unwrap_or(TENANTS.len());
        let outcome = Outcome::of(self.map_group(actor, provider).await);
        let text = outcome.text.replace(&self.providers[provider].issuer, "ISSUER");
        Outcome { text, ..outcome }
    }

    /// A person of the actor signs in to this tenant with this provider, whose group the admin of
    /// the actor has mapped.
    async fn join(&self, actor: &Tenant, provider: &str, tenant: &str) -> (Browser<'_>, String) {
        let name = format!("{}-ada", actor.things.name);
        let claims = json!({ "sub": name, "name": name, "groups": ["dba"] });
        let mut browser = Browser::new(&self.world, &self.world.rig);
        let to = browser.join_through(provider, self.provider(provider), &claims, tenant).await;
        (browser, to)
    }

    pub async fn sign_in_with(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let (_, to) = self.join(actor, &thing.provider, &actor.things.name).await;
        Outcome::led_to(&to)
    }

    pub async fn sign_in_to(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let (_, to) = self.join(actor, &actor.things.provider, &thing.name).await;
        Outcome::led_to(&to)
    }

    pub async fn switch_to(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let own = &actor.things;
        let (mut browser, _) = self.join(actor, &own.provider, &own.name).await;
        let session = browser.get("/v1/session").await.expect(200);
        let wanted = Some(json!({ "tenant_id": thing.tenant }));
        let outcome = Outcome::of(browser.change("POST", "/v1/session/tenant", wanted).await);
        Outcome { text: format!("{} {}", session["tenants"], outcome.text), ..outcome }
    }

    pub async fn claim(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let answer = claim(&self.world, actor, &thing.task).await;
        let receipt = answer.body["permit"]["receipt"].as_str().unwrap_or_default().to_owned();
        let parts = receipt.split('.').filter_map(|part| URL_SAFE_NO_PAD.decode(part).ok());
        let decoded: Vec<u8> = parts.flatten().collect();
        let outcome = Outcome::of(answer);
        let text = format!("{} {}", outcome.text, String::from_utf8_lossy(&decoded));
        if outcome.cell == "200" {
            assert!(text.contains(&format!("\"tenant\":\"{}\"", actor.things.tenant)), "{text}");
        }
        Outcome { text, ..outcome }
    }

    pub async fn read_execution(&self, actor: &Tenant, thing: &Things) -> Outcome {
        self.get(&actor.agent, format!("/v1/executions/{}", thing.execution)).await
    }

    /// Exports the events of a process whose sink serves the tenant of the thing.
    pub async fn export(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let (world, own) = (&self.world, &actor.things.tenant);
        let file = self.folder.join(format!("{}-{}.jsonl", actor.things.name, thing.name));
        let sink = Some((format!("file://{}", file.display()), only(&thing.name)));
        let app = world.app_fitted(&TestServerOptions { sink, ..world.fittings.clone() });
        drain(&app, "audit_logger").await;
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let is_of = |line: &str, tenant: &str| {
            serde_json::from_str::<Value>(line).unwrap()["tenant_id"] == json!(tenant)
        };
        assert!(text.lines().all(|line| is_of(line, &thing.tenant)), "{}: {text}", thing.name);
        let of_actor: Vec<&str> = text.lines().filter(|line| is_of(line, own)).collect();
        let consumers = self.get(&actor.admin, "/v1/event-consumers".to_owned()).await;
        Outcome::delivered(!of_actor.is_empty(), of_actor.concat() + &consumers.text)
    }

    /// Sends an event that is signed with the secret of the actor's own source.
    pub async fn send(&self, actor: &Tenant, thing: &Things, tenant: &str) -> Outcome {
        let path = format!("/v1/inbound/{tenant}/{}", thing.source);
        let (message, name) = (format!("to-{tenant}-{}", thing.name), &actor.things.name);
        let event = json!({ "host": format!("{name}-web"), "load": 1 });
        Outcome::of(actor.sender.send_to(&path, &self.world, &message, event).await)
    }

    pub async fn read_source(&self, actor: &Tenant, thing: &Things) -> Outcome {
        self.get(&actor.admin, format!("{SOURCES}/{}", thing.source)).await
    }

    pub async fn read_deliveries(&self, actor: &Tenant, thing: &Things) -> Outcome {
        self.get(&actor.admin, format!("{HOOKS}/{}/deliveries", thing.hook)).await
    }

    pub async fn read_audit(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let path = format!("/v1/audit?object={}", thing.task);
        let answer = self.world.get(&actor.admin.token, &path).await;
        let is_found = answer.body["items"].as_array().is_some_and(|items| !items.is_empty());
        Outcome::delivered(is_found, Outcome::of(answer).text)
    }

    /// Looks for an event of the actor at the receiver of the thing.
    pub async fn notify(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let title = format!("{} notifies", actor.things.name);
        let task = self.world.draft(&actor.author, &title).await;
        settle(&self.world).await;
        let owner = self.tenants.iter().find(|tenant| tenant.things.name == thing.name);
        let taken = owner.map(|owner| owner.receiver.taken()).unwrap_or_default();
        let of_actor = taken.into_iter().filter(|call| {
            call.body["tenant_id"] == json!(actor.things.tenant) || call.text.contains(id(&task))
        });
        let texts: Vec<String> = of_actor.map(|call| call.text).collect();
        Outcome::delivered(texts.iter().any(|text| text.contains(id(&task))), texts.concat())
    }

    pub async fn stream(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let path = format!("/v1/events?wait=0s&after=0&object={}", thing.task);
        let messages = self.world.streamed(&actor.author.token, &path, &[]).await;
        let is_about = messages.iter().any(|message| message.data["object"] == json!(thing.task));
        Outcome::delivered(is_about, format!("{messages:?}"))
    }

    pub async fn socket(&self, actor: &Tenant, thing: &Things) -> Outcome {
        let path = "/v1/events?wait=0s";
        let head = self.world.streamed(&actor.author.token, path, &[]).await;
        let head = head[0].data["seq"].as_u64().unwrap();
        let query = format!("after=0&object={}", thing.task);
        let mut socket = Socket::of(&self.world, &actor.author, &query).await;
        let events = heard(&mut socket, head).await;
        let is_about = events.iter().any(|event| event["object"] == json!(thing.task));
        Outcome::delivered(is_about, format!("{events:?}"))
    }

    pub async fn poll(&self, actor: &Tenant, thing: &Things) -> Outcome {
        self.get(&actor.author, format!("/v1/tasks/{}?wait=100ms", thing.task)).await
    }

    /// Looks for the names and ids of the thing in the metrics.
    pub async fn scrape(&self, thing: &Things) -> Outcome {
        let metrics = self.world.rig.get("/metrics").send().await.unwrap().text().await.unwrap();
        // The calls of the other rows were counted.
        for counted in
            ["ade_inbound_taken_total", "ade_sign_ins_total", "/v1/inbound/{tenant}/{id}"]
        {
            assert!(metrics.contains(counted), "{counted} is not in {metrics}");
        }
        let mut words = thing.words().into_iter().chain([thing.name.as_str()]);
        let is_named = words.any(|word| metrics.contains(word));
        let cell = if is_named { "named" } else { "nothing" };
        Outcome { cell: cell.to_owned(), text: cell.to_owned() }
    }

    /// Creates an event of the actor that nothing has delivered yet.
    pub async fn stir(&self, actor: &Tenant) {
        self.world.draft(&actor.author, &format!("{} stirs", actor.things.name)).await;
        drain(&self.world.app, "relay").await;
    }
}

async fn drain(app: &Arc<App>, worker: &str) {
    while workers::run_once(app, worker).await.unwrap().unwrap().has_more {}
}

async fn claim(world: &World, actor: &Tenant, task: &str) -> Answer {
    world.post(&actor.agent.token, &format!("/v1/tasks/{task}/claim"), json!({})).await
}

async fn approved(world: &World, actor: &Tenant, wanted: Value) -> Value {
    approved_by(world, [&actor.author, &actor.reviewer], wanted).await
}

async fn approved_by(world: &World, [author, reviewer]: [&Person; 2], wanted: Value) -> Value {
    let task = world.post(&author.token, "/v1/tasks", wanted).await.expect(201);
    world.submit(author, &task).await;
    world.work("review_opener").await;
    let task = world.task(author, &task).await;
    world.approve(reviewer, &task).await;
    task
}

/// Creates everything that a tenant has.
async fn settled(world: &World, name: &str, (tenant, admin): (String, Person)) -> Tenant {
    let author = world.person_of(&admin, &format!("{name}-bob"), &["author"]).await;
    let reviewer = world.person_of(&admin, &format!("{name}-rea"), &["reviewer"]).await;
    let agent = world.agent_of(&admin, &format!("{name}-bot"), &author).await;
    let types: Vec<String> = TENANTS.map(|of| format!("{of}.*")).into();
    let types = [types, vec![format!("{VACANT}.*"), "db.*".to_owned()]].concat();
    let able = json!({ "capabilities": types });
    let path = format!("/v1/agents/{}", agent.id);
    world.send("PATCH", &admin.token, &path, Some(able), &[]).await.expect(200);

    let mut alerts = source(&agent.id);
    alerts["label"] = json!(format!("{name}-alerts"));
    let made = world.post(&admin.token, SOURCES, alerts).await.expect(201);
    let receiver = WebhookReceiver::start().await;
    let hook = hook_of(world, &admin, &receiver, &["*"]).await;

    let people = [&author, &reviewer];
    let taken = declared(&format!("{name} grows"), "db.change", &format!("{name}-shop"));
    let taken = approved_by(world, people, taken).await;
    let path = format!("{}/claim", path_of(&taken));
    let claimed = world.post(&agent.token, &path, json!({})).await.expect(200);
    let execution = claimed["permit"]["execution_id"].as_str().unwrap().to_owned();
    let open = declared(&format!("{name} shrinks"), "db.change", &format!("{name}-depot"));
    let open = approved_by(world, people, open).await;
    let things = Things {
        name: name.to_owned(),
        tenant,
        target: target_of(name),
        task_type: format!("{name}.set"),
        provider: name.to_owned(),
        source: id(&made).to_owned(),
        hook: id(&hook).to_owned(),
        task: id(&open).to_owned(),
        execution,
    };
    let sender = Sender::of(&made);
    Tenant { things, admin, author, reviewer, agent, sender, receiver }
}
