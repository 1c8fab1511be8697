//! Placement with Temporal: it queues loops, hands them to workers, and notices that a worker is gone.
//!
//! Invariant: the journal and the leases in PostgreSQL are the truth. Whatever Temporal believes, a loop is driven only by
//! the holder of its lease; without Temporal, what runs goes on, and workflows are made again from the journal.

mod flow;
mod hands;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::TryStreamExt;
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, UntypedWorkflow, WorkflowCountOptions,
    WorkflowFetchHistoryOptions, WorkflowIdConflictPolicy, WorkflowListOptions, WorkflowStartOptions,
};
use temporalio_common::worker::WorkerDeploymentOptions;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::runtime::{PollerBehavior, RuntimeOptions};
use temporalio_sdk::{Runtime, Worker as Poller, WorkerOptions};
use tokio::sync::{mpsc, watch};
use windlass_store::Result as StoreResult;

pub use self::flow::{Answer, Buried, LoopFlow, PresenceFlow};
use self::hands::{Hands, Stretches};
use crate::dispatch::Dispatch;
use crate::store::{PgStore, WORK, Worker};
use crate::worker::Failure;

/// Loops without a workflow are looked for so often, and whenever one may have to be placed.
const SWEEP: Duration = Duration::from_secs(10);
/// A loop that waits in Temporal's queue is not offered to it again for so long.
const STARTED: Duration = Duration::from_secs(60);
const MOST_STARTS: usize = 200;
/// Workers that poll for loops that they drive already; each such poll costs no slot of another loop.
const OWN_SLOTS: usize = 10_000;
/// With longer times, a loop of a killed worker waits for that worker's cache first.
const STICKY: Duration = Duration::from_secs(1);
const TASK: Duration = Duration::from_secs(3);
const RETRY: Duration = Duration::from_secs(1);
/// Temporal may be away when a worker leaves.
const GOODBYE: Duration = Duration::from_secs(5);

/// Where Temporal is.
#[derive(Clone, Debug)]
pub struct Address {
    /// `HOST:PORT`, or an address with `https://`.
    pub at: String,
    pub namespace: String,
}

impl Address {
    pub async fn connect(&self) -> Result<Client, Failure> {
        let url = if self.at.contains("://") { self.at.clone() } else { format!("http://{}", self.at) };
        let url = temporalio_client::Url::from_str(&url).map_err(|error| format!("--temporal {}: {error}", self.at))?;
        let options = ConnectionOptions::new(url)
            .connect_timeout(Duration::from_secs(5))
            .maybe_api_key(std::env::var("WINDLASS_FLEET_TEMPORAL_API_KEY").ok())
            .build();
        let connection = Connection::connect(options).await?;
        Ok(Client::new(connection, ClientOptions::new(&self.namespace).build())?)
    }

    /// Asks for the number of workflows that are open, so that the namespace is known to exist.
    pub async fn ready(&self) -> Result<usize, Failure> {
        let client = self.connect().await?;
        let open = client.count_workflows("ExecutionStatus = 'Running'", WorkflowCountOptions::default()).await?;
        Ok(open.count())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    Working,
    /// No new loops.
    Draining,
    /// Nothing runs any more.
    Over,
}

/// Also if nobody can tell any more.
async fn until_over(told: &mut watch::Receiver<Leaving>) {
    let _ = told.wait_for(|leaving| *leaving == Leaving::Over).await;
}

fn loop_workflow(loop_id: &str) -> String {
    format!("loop/{loop_id}")
}

/// Loops that Temporal hands to this worker.
pub struct TemporalDispatch {
    offers: mpsc::UnboundedReceiver<String>,
    next: Vec<String>,
    stretches: Stretches,
    leaving: watch::Sender<Leaving>,
    polling: Option<std::thread::JoinHandle<()>>,
}

impl fmt::Debug for TemporalDispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemporalDispatch").field("next", &self.next).finish_non_exhaustive()
    }
}

impl TemporalDispatch {
    /// Starts to poll. Temporal may be away: it is tried until it is there.
    pub fn new(address: Address, store: PgStore, worker: Worker, slots: u32) -> Result<Self, Failure> {
        let (sender, offers) = mpsc::unbounded_channel();
        let (leaving, told) = watch::channel(Leaving::Working);
        let stretches = Stretches::default();
        let polling = Polling { address, store, worker, slots, offers: sender, stretches: stretches.clone(), told };
        // Workflows are not `Send`, and what polls shall not wait for what drives.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let polling =
            std::thread::Builder::new().name("temporal".to_owned()).spawn(move || runtime.block_on(polling.run()))?;
        Ok(Self { offers, next: Vec::new(), stretches, leaving, polling: Some(polling) })
    }
}

#[async_trait]
impl Dispatch for TemporalDispatch {
    async fn offers(&mut self, room: usize) -> StoreResult<Vec<String>> {
        while let Ok(id) = self.offers.try_recv() {
            self.next.push(id);
        }
        self.next.retain(|id| self.stretches.wants(id));
        Ok(self.next.drain(..room.min(self.next.len())).collect())
    }

    async fn changed(&mut self) {
        if self.next.is_empty() {
            match self.offers.recv().await {
                Some(id) => self.next.push(id),
                None => std::future::pending().await,
            }
        }
    }

    fn left(&mut self, loop_id: &str) {
        self.stretches.left(loop_id);
    }

    fn drain(&mut self) {
        self.leaving.send_replace(Leaving::Draining);
    }

    async fn end(&mut self) {
        self.leaving.send_replace(Leaving::Over);
        if let Some(polling) = self.polling.take() {
            let ended = tokio::task::spawn_blocking(move || drop(polling.join()));
            let _ = tokio::time::timeout(GOODBYE, ended).await;
        }
    }
}

/// The connection to Temporal, made again whenever it is lost.
struct Polling {
    address: Address,
    store: PgStore,
    worker: Worker,
    slots: u32,
    offers: mpsc::UnboundedSender<String>,
    stretches: Stretches,
    told: watch::Receiver<Leaving>,
}

impl Polling {
    async fn run(mut self) {
        let mut told = self.told.clone();
        loop {
            let client = tokio::select! {
                client = self.address.connect() => client,
                () = until_over(&mut told) => return,
            };
            let outcome = match client {
                Ok(client) => self.poll(client).await,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(()) => return,
                Err(error) => tracing::warn!(error = crate::worker::with_causes(&*error), "Temporal is away"),
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Returns when this worker has left.
    async fn poll(&mut self, client: Client) -> Result<(), Failure> {
        let runtime = Runtime::from_current_tokio(RuntimeOptions::builder().heartbeat_interval(None).build()?)?;
        let hands = || Hands {
            store: self.store.clone(),
            worker: self.worker.clone(),
            offers: self.offers.clone(),
            stretches: self.stretches.clone(),
            leaving: self.told.clone(),
        };
        let options = |queue: &str, slots: usize| {
            let tuner = TunerHolder::builder()
                .workflow_task_slot_supplier(FixedSizeSlotSupplier::new(20))
                .activity_task_slot_supplier(FixedSizeSlotSupplier::new(slots))
                .local_activity_task_slot_supplier(FixedSizeSlotSupplier::new(1))
                .nexus_task_slot_supplier(FixedSizeSlotSupplier::new(1))
                .build();
            WorkerOptions::new(queue)
                .deployment_options(WorkerDeploymentOptions::from_build_id(env!("CARGO_PKG_VERSION").to_owned()))
                .client_identity_override(format!("{}@{}", self.worker.id, self.worker.name))
                .sticky_queue_schedule_to_start_timeout(STICKY)
                // A worker that is frozen keeps what its polls are given, so it has few of them.
                .workflow_task_poller_behavior(PollerBehavior::SimpleMaximum(2))
                .activity_task_poller_behavior(PollerBehavior::SimpleMaximum(1))
                .tuner(tuner)
        };
        let flow = options(flow::FLOW, 20).register_workflow::<LoopFlow>()?.register_workflow::<PresenceFlow>()?;
        let mut flow = Poller::new(&runtime, client.clone(), flow.register_activities(hands()).build())?;
        let stretch = options(flow::STRETCH, self.slots as usize).register_activities(hands()).build();
        let mut stretch = Poller::new(&runtime, client.clone(), stretch)?;
        let own = options(&flow::own(&self.worker.id), OWN_SLOTS).register_activities(hands());
        let own = own.max_heartbeat_throttle_interval(hands::BEAT).build();
        let mut own = Poller::new(&runtime, client.clone(), own)?;

        let (end_flow, end_stretch, end_own) =
            (flow.shutdown_handle(), stretch.shutdown_handle(), own.shutdown_handle());
        let mut told = self.told.clone();
        let controlled = async {
            let _ = told.wait_for(|leaving| *leaving != Leaving::Working).await;
            end_stretch();
            until_over(&mut told).await;
            end_flow();
            end_own();
            std::future::pending::<()>().await
        };
        let options = start_options(format!("presence/{}", self.worker.id));
        client.start_workflow(PresenceFlow::run, self.worker.id.clone(), options).await?;
        tracing::info!(temporal = self.address.at, namespace = self.address.namespace, "connected to Temporal");
        tokio::select! {
            ended = async { tokio::try_join!(flow.run(), stretch.run(), own.run()) } => drop(ended?),
            () = controlled => {}
            swept = sweep(&self.store, &client) => swept?,
        }
        Ok(())
    }
}

fn start_options(id: String) -> WorkflowStartOptions {
    WorkflowStartOptions::new(flow::FLOW, id)
        .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
        .task_timeout(TASK)
        .build()
}

/// Starts a workflow for each loop that waits and has none. Every worker does it: for a loop that has one, it is harmless.
async fn sweep(store: &PgStore, client: &Client) -> Result<(), Failure> {
    let mut work = store.listener(&[WORK]).await?;
    let mut started: HashMap<String, Instant> = HashMap::new();
    loop {
        let waiting = store.waiting().await?;
        // One that was held back meanwhile may have lost its workflow.
        let ids: HashSet<&str> = waiting.iter().map(|one| one.id.as_str()).collect();
        started.retain(|id, at| at.elapsed() < STARTED && ids.contains(id.as_str()));
        for one in
            waiting.into_iter().filter(|one| !started.contains_key(&one.id)).take(MOST_STARTS).collect::<Vec<_>>()
        {
            let mut options = start_options(loop_workflow(&one.id));
            options.priority.priority_key = Some(one.priority.into());
            // At most 64 bytes. Shares are exact only if the server has fairness switched on.
            options.priority.fairness_key = Some(one.project.chars().filter(char::is_ascii).take(64).collect());
            client.start_workflow(LoopFlow::run, one.id.clone(), options).await?;
            started.insert(one.id, Instant::now());
        }
        tokio::select! {
            heard = work.recv() => match heard {
                // It may be a loop that was resumed.
                Ok(heard) => drop(started.remove(heard.payload())),
                Err(_) => tokio::time::sleep(RETRY).await,
            },
            () = tokio::time::sleep(SWEEP) => {}
        }
    }
}

/// Writes the history of each workflow that has ended to a file of its own, for the tests of later versions.
pub async fn save_histories(address: &Address, dir: &Path) -> Result<usize, Failure> {
    std::fs::create_dir_all(dir)?;
    let client = address.connect().await?;
    let ended = client.list_workflows("ExecutionStatus = 'Completed'", WorkflowListOptions::default());
    let ended: Vec<_> = ended.try_collect().await?;
    for execution in &ended {
        let handle = client.get_workflow_handle::<UntypedWorkflow>(execution.id());
        let history = handle.fetch_history(WorkflowFetchHistoryOptions::default()).to_json().await?;
        std::fs::write(dir.join(format!("{}.json", execution.id().replace('/', "-"))), history)?;
    }
    Ok(ended.len())
}
