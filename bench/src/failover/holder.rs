//! A process that holds: many at once take a lock, work under it, and give it back or forget it.
//! Everything that happens to a lease is a line.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ade_coord::Cluster;
use ade_coord::lock::Locks;
use ade_core::ids::{AgentSessionId, LeaseId, TaskId, TenantId};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{
    Arrival, Class, LockSet, Mode, Order, Owner, Request, RequestDraft, Standing, Token,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_engine::locks::{Desk, Error, Next};
use ade_engine::{Class as PoolClass, Pool, PoolSettings};
use ade_store::locks::sessions;
use ade_testkit::lock_history::{Event, WAIT_BOUND, What};
use anyhow::Result;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::sleep;
use uuid::Uuid;

use super::work::Registered;
use super::{RESOURCES, moment};

const TASKS: u64 = 8;
const WAIT: Duration = Duration::from_secs(10);
const LOCK_DELAY: Duration = Duration::from_millis(200);
/// Between two looks of one who waits, and before whatever failed is tried again.
const LOOK: Duration = Duration::from_millis(40);
const HOUR: Duration = Duration::from_hours(1);

#[derive(Debug, clap::Args)]
pub struct Args {
    #[arg(long)]
    redis: String,
    #[arg(long)]
    database: String,
    #[arg(long)]
    tenant: String,
    #[arg(long)]
    seconds: u64,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    out: PathBuf,
    #[arg(long)]
    plain: bool,
}

/// All on one thread: what waits for servers needs no more.
pub async fn run(args: &Args) -> Result<()> {
    LocalSet::new().run_until(run_all(args)).await
}

async fn run_all(args: &Args) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(args.seconds);
    let tenant: TenantId = args.tenant.parse()?;
    let pool = Pool::new(&PoolSettings::new(args.database.clone()), PoolClass::Api)?;
    let urls: Vec<String> = args.redis.split(',').map(str::to_owned).collect();
    let desk = Desk::new(Locks::new(Cluster::open(&urls.into())?), pool.clone(), "failover");
    let session = AgentSessionId::from_uuid(Uuid::now_v7());
    let out = Arc::new(Mutex::new(File::create(&args.out)?));
    let mut holders = JoinSet::new();
    for number in 0..TASKS {
        let holder = Holder {
            desk: desk.clone(),
            pool: pool.clone(),
            tenant,
            session,
            is_plain: args.plain,
            out: out.clone(),
            dice: args.seed.wrapping_mul(TASKS).wrapping_add(number),
        };
        if number == 0 {
            let mut tx = holder.begin().await?;
            sessions::open(&mut tx, session, None, "node-1", HOUR).await?;
            holder.keep(tx, "session.open").await?;
        }
        holders.spawn_local(holder.live(end));
    }
    while let Some(ended) = holders.join_next().await {
        ended??;
    }
    Ok(())
}

pub(super) struct Holder {
    desk: Desk,
    pub(super) pool: Pool,
    pub(super) tenant: TenantId,
    pub(super) session: AgentSessionId,
    pub(super) is_plain: bool,
    out: Arc<Mutex<File>>,
    dice: u64,
}

impl Holder {
    async fn live(mut self, end: Instant) -> Result<()> {
        while Instant::now() < end {
            let request = self.request()?;
            self.life(&request).await?;
            self.tell(&request, What::Left)?;
            // It runs out by itself otherwise.
            let _ = self.desk.release(self.tenant, request.lease()).await;
        }
        Ok(())
    }

    async fn life(&mut self, request: &Request) -> Result<()> {
        let Some(mut token) = self.acquire(request, Arrival::New).await? else { return Ok(()) };
        let mut is_doubled = false;
        loop {
            let refusal = match self.register(request, token).await? {
                Registered::Yes(mut believed) => {
                    self.tell(request, What::Registered)?;
                    let _ = self.desk.registered(self.tenant, request.lease()).await;
                    return self.work_on(request, token, &mut believed).await;
                }
                Registered::Busy => continue,
                Registered::No(refusal) => refusal,
            };
            if matches!(refusal, RegisterRefusal::Held { .. }) {
                if !is_doubled {
                    self.tell(request, What::Doubled)?;
                }
                is_doubled = true;
                // The other one's time may be over soon.
                sleep(LOOK).await;
            }
            let mended = self.desk.mend(self.tenant, request.lease(), &refusal).await;
            let Ok(next) = mended else {
                sleep(LOOK).await;
                continue;
            };
            let minted = match next {
                Next::Again(token) | Next::Stands(Standing::Granted { token, .. }) => Some(token),
                Next::Stands(Standing::Waiting { order, .. }) => {
                    self.wait(request, order, moment()).await?
                }
                Next::Stands(_) | Next::Over => None,
            };
            let Some(minted) = minted else { return Ok(()) };
            token = minted;
        }
    }

    fn request(&mut self) -> Result<Request> {
        let mut names = vec![self.pick(&RESOURCES)];
        if self.below(6) == 0 {
            names.push(self.pick(&RESOURCES));
        }
        names.sort_unstable();
        names.dedup();
        let set = names.iter().map(|name| Ok((ResourceRef::new("db", name)?, Mode::Exclusive)));
        let id = Uuid::now_v7();
        Ok(Request::new(RequestDraft {
            lease: LeaseId::from_uuid(id),
            owner: Owner::Task(TaskId::from_uuid(id)),
            node: "node-1".to_owned(),
            birth: Timestamp::from_micros(i64::try_from(moment())?),
            class: Class::Fenced { lock_delay: LOCK_DELAY },
            set: LockSet::new(set.collect::<Result<Vec<_>>>()?)?,
            ttl: Duration::from_millis(300 + u64::try_from(self.below(900))?),
            wait: WAIT,
            boost: 0,
        })?)
    }

    /// Asks by the same id until somebody answers: nothing else tells what became of the first.
    async fn acquire(&mut self, request: &Request, mut arrival: Arrival) -> Result<Option<Token>> {
        let began = Instant::now();
        while began.elapsed() < WAIT_BOUND {
            let sent = moment();
            match self.desk.acquire(self.tenant, request, arrival).await {
                Ok(said) => match said.answer {
                    Standing::Granted { token, .. } | Standing::Spent { token, .. } => {
                        self.tell_grant(request, token, sent)?;
                        return Ok(Some(token));
                    }
                    Standing::Waiting { order, .. } => {
                        match self.stand_in_line(request, order, sent).await? {
                            Line::Ended(token) => return Ok(token),
                            Line::Forgotten(order) => arrival = Arrival::Waited(order),
                        }
                    }
                    Standing::Delayed { .. } | Standing::Over { .. } | Standing::Unknown => {
                        return Ok(None);
                    }
                },
                Err(Error::Refused(_)) => return Ok(None),
                Err(_) => sleep(LOOK).await,
            }
        }
        Ok(None)
    }

    async fn wait(&mut self, request: &Request, order: Order, sent: u64) -> Result<Option<Token>> {
        match self.stand_in_line(request, order, sent).await? {
            Line::Ended(token) => Ok(token),
            Line::Forgotten(order) => self.acquire(request, Arrival::Waited(order)).await,
        }
    }

    async fn stand_in_line(&mut self, request: &Request, order: Order, sent: u64) -> Result<Line> {
        let mut order = order;
        self.tell_place(request, order, sent)?;
        let began = Instant::now();
        while began.elapsed() < WAIT_BOUND {
            sleep(LOOK).await;
            let sent = moment();
            let Ok(said) = self.desk.renew(self.tenant, &[request.lease()]).await else { continue };
            match said.answer.first() {
                Some(Standing::Granted { token, .. } | Standing::Spent { token, .. }) => {
                    self.tell_grant(request, *token, sent)?;
                    return Ok(Line::Ended(Some(*token)));
                }
                Some(Standing::Waiting { order: now, .. }) if *now == order => {}
                Some(Standing::Waiting { order: now, .. }) => {
                    order = *now;
                    self.tell_place(request, order, sent)?;
                }
                Some(Standing::Unknown) => return Ok(Line::Forgotten(order)),
                Some(Standing::Delayed { .. } | Standing::Over { .. }) | None => break,
            }
        }
        Ok(Line::Ended(None))
    }

    fn tell_place(&self, request: &Request, order: Order, sent: u64) -> Result<()> {
        let (place, arrival) = (order.place(), order.arrival());
        self.tell(request, What::Queued { resource: line_of(request), place, arrival, sent })
    }

    fn tell_grant(&self, request: &Request, token: Token, sent: u64) -> Result<()> {
        let (resource, token) = (line_of(request), token.number());
        self.tell(request, What::Granted { resource, token, sent })
    }

    fn tell(&self, request: &Request, what: What) -> Result<()> {
        let event = Event { at: moment(), lease: request.lease().to_string(), what };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(writeln!(out, "{event}")?)
    }

    /// Where an error of the file must not look like one of the database.
    pub(super) fn tell_quietly(&self, request: &Request, what: What) {
        if let Err(error) = self.tell(request, what) {
            eprintln!("{error}");
        }
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        usize::try_from(self.dice >> 33).unwrap_or_default() % end.max(1)
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        let chosen = self.below(from.len());
        from.get(chosen).copied().unwrap_or_default()
    }
}

enum Line {
    /// With a grant, or without.
    Ended(Option<Token>),
    /// The queue lost its memory: back to the place it had.
    Forgotten(Order),
}

/// Whoever wants the same stands in the same line.
fn line_of(request: &Request) -> String {
    let names: Vec<String> = request.set().resources().map(ToString::to_string).collect();
    names.join("+")
}
