//! A process with many lock holders: each takes a lock, works under it, and releases or abandons
//! it. Every event of a lease is written as a line.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ade_coord::Cluster;
use ade_coord::lock::Locks;
use ade_core::ids::{LeaseId, ProcessId, TaskId, TenantId};
use ade_core::lock::fence::RegisterRefusal;
use ade_core::lock::{
    Arrival, FencingToken, LeaseClass, LeaseStatus, LockSet, Mode, Order, Owner, Request,
    RequestDraft,
};
use ade_core::resource::ResourceRef;
use ade_core::time::Timestamp;
use ade_engine::services::locks::{LockQueueError, RedisLockQueue, RetryStep};
use ade_engine::{Pool, PoolClass, PoolSettings};
use ade_store::locks::sessions;
use ade_testkit::lock_history::{HistoryEvent, WAIT_BOUND, What};
use anyhow::Result;
use tokio::task::{JoinSet, LocalSet};
use tokio::time::sleep;
use uuid::Uuid;

use super::{RESOURCES, moment};

const TASKS: u64 = 8;
const WAIT: Duration = Duration::from_secs(10);
const LOCK_DELAY: Duration = Duration::from_millis(200);
/// The pause between two polls of a waiter, and before a failed call is repeated.
const LOOK: Duration = Duration::from_millis(40);
const HOUR: Duration = Duration::from_hours(1);

#[derive(Debug, clap::Args)]
pub struct HolderArgs {
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

/// Runs all holders on one thread, which is enough for tasks that mostly wait for servers.
pub async fn run(args: &HolderArgs) -> Result<()> {
    LocalSet::new().run_until(run_all(args)).await
}

async fn run_all(args: &HolderArgs) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(args.seconds);
    let tenant: TenantId = args.tenant.parse()?;
    let pool = Pool::new(&PoolSettings::new(args.database.clone()), PoolClass::Api)?;
    let urls: Vec<String> = args.redis.split(',').map(str::to_owned).collect();
    let queue =
        RedisLockQueue::new(Locks::new(Cluster::open(&urls.into())?), pool.clone(), "failover");
    let session = ProcessId::from_uuid(Uuid::now_v7());
    let out = Arc::new(Mutex::new(File::create(&args.out)?));
    let mut holders = JoinSet::new();
    for number in 0..TASKS {
        let holder = Holder {
            queue: queue.clone(),
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
    queue: RedisLockQueue,
    pub(super) pool: Pool,
    pub(super) tenant: TenantId,
    pub(super) session: ProcessId,
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
            // If the release fails, the lease expires.
            let _ = self.queue.release(self.tenant, request.lease()).await;
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
                    let _ = self.queue.registered(self.tenant, request.lease()).await;
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
                // The lease of the other holder may expire soon.
                sleep(LOOK).await;
            }
            let reconciled = self.queue.reconcile(self.tenant, request.lease(), &refusal).await;
            let Ok(next) = reconciled else {
                sleep(LOOK).await;
                continue;
            };
            let minted = match next {
                RetryStep::Again(token) | RetryStep::Stands(LeaseStatus::Granted { token, .. }) => {
                    Some(token)
                }
                RetryStep::Stands(LeaseStatus::Waiting { order, .. }) => {
                    self.wait(request, order, moment()).await?
                }
                RetryStep::Stands(_) | RetryStep::Over => None,
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
            class: LeaseClass::Fenced { lock_delay: LOCK_DELAY },
            set: LockSet::new(set.collect::<Result<Vec<_>>>()?)?,
            ttl: Duration::from_millis(300 + u64::try_from(self.below(900))?),
            wait: WAIT,
            boost: 0,
        })?)
    }

    /// Repeats the request with the same id until it is answered: only an answer shows what
    /// happened to the first one.
    async fn acquire(
        &mut self,
        request: &Request,
        mut arrival: Arrival,
    ) -> Result<Option<FencingToken>> {
        let began = Instant::now();
        while began.elapsed() < WAIT_BOUND {
            let sent = moment();
            match self.queue.acquire(self.tenant, request, arrival).await {
                Ok(reply) => match reply.answer {
                    LeaseStatus::Granted { token, .. } | LeaseStatus::Spent { token, .. } => {
                        self.tell_grant(request, token, sent)?;
                        return Ok(Some(token));
                    }
                    LeaseStatus::Waiting { order, .. } => {
                        match self.stand_in_line(request, order, sent).await? {
                            Line::Ended(token) => return Ok(token),
                            Line::Forgotten(order) => arrival = Arrival::Waited(order),
                        }
                    }
                    LeaseStatus::Delayed { .. }
                    | LeaseStatus::Over { .. }
                    | LeaseStatus::Unknown => {
                        return Ok(None);
                    }
                },
                Err(LockQueueError::Refused(_)) => return Ok(None),
                Err(_) => sleep(LOOK).await,
            }
        }
        Ok(None)
    }

    async fn wait(
        &mut self,
        request: &Request,
        order: Order,
        sent: u64,
    ) -> Result<Option<FencingToken>> {
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
            let renewed = self.queue.renew(self.tenant, &[request.lease()]).await;
            let Ok(reply) = renewed else { continue };
            match reply.answer.first() {
                Some(LeaseStatus::Granted { token, .. } | LeaseStatus::Spent { token, .. }) => {
                    self.tell_grant(request, *token, sent)?;
                    return Ok(Line::Ended(Some(*token)));
                }
                Some(LeaseStatus::Waiting { order: now, .. }) if *now == order => {}
                Some(LeaseStatus::Waiting { order: now, .. }) => {
                    order = *now;
                    self.tell_place(request, order, sent)?;
                }
                Some(LeaseStatus::Unknown) => return Ok(Line::Forgotten(order)),
                Some(LeaseStatus::Delayed { .. } | LeaseStatus::Over { .. }) | None => break,
            }
        }
        Ok(Line::Ended(None))
    }

    fn tell_place(&self, request: &Request, order: Order, sent: u64) -> Result<()> {
        let (place, arrival) = (order.place(), order.arrival());
        self.tell(request, What::Queued { resource: line_of(request), place, arrival, sent })
    }

    fn tell_grant(&self, request: &Request, token: FencingToken, sent: u64) -> Result<()> {
        let (resource, token) = (line_of(request), token.number());
        self.tell(request, What::Granted { resource, token, sent })
    }

    fn tell(&self, request: &Request, what: What) -> Result<()> {
        let event = HistoryEvent { at: moment(), lease: request.lease().to_string(), what };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(writeln!(out, "{event}")?)
    }

    /// Records an event where an error of the file must not look like an error of the database.
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

/// The result of a registration.
pub(super) enum Registered {
    /// The holder is registered and has read these values of its resources.
    Yes(Vec<i64>),
    No(RegisterRefusal),
    /// PostgreSQL was busy with another registration, so it must be repeated.
    Busy,
}

enum Line {
    /// The wait ended, with or without a grant.
    Ended(Option<FencingToken>),
    /// The queue lost its data, and the waiter returns to its old place.
    Forgotten(Order),
}

/// Returns the queue of a request: requests for the same resource share it.
fn line_of(request: &Request) -> String {
    let names: Vec<String> = request.set().resources().map(ToString::to_string).collect();
    names.join("+")
}
