//! `StartMessageMoveTask`, which moves dead letters back to the queue they came from:
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_StartMessageMoveTask.html>.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustack_sqs_core::provider::RustackSqs;
use rustack_sqs_model::error::SqsError;
use rustack_sqs_model::input::{
    DeleteMessageInput, GetQueueAttributesInput, GetQueueUrlInput, ListDeadLetterSourceQueuesInput,
    ListMessageMoveTasksInput, ReceiveMessageInput, SendMessageInput, StartMessageMoveTaskInput,
};
use rustack_sqs_model::output::{ListMessageMoveTasksOutput, StartMessageMoveTaskOutput};
use rustack_sqs_model::types::{ListMessageMoveTasksResultEntry as Task, Message};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use uuid::Uuid;

use super::{MAX_BATCH, large};

const WAITING: &str = "ApproximateNumberOfMessages";
const RUNNING: &str = "RUNNING";

/// The highest rate of a task, in messages per second.
const MAX_RATE: i32 = 500;

/// All tasks since the start. Running tasks end with this value.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    /// The newest first.
    known: Arc<Mutex<Vec<Task>>>,
    running_tasks: Mutex<JoinSet<()>>,
}

impl Tasks {
    /// Moves the messages that are in the queue now. With a rate it returns immediately, as SQS does. Without a rate it returns
    /// when the task is finished, so that callers do not have to wait for it.
    pub(super) async fn start(
        &self,
        engine: &Arc<RustackSqs>,
        input: StartMessageMoveTaskInput,
    ) -> Result<StartMessageMoveTaskOutput, SqsError> {
        let rate = rate(&input)?;
        let source = url(engine, &input.source_arn).await?;
        let destination = match &input.destination_arn {
            Some(arn) => url(engine, arn).await?,
            None => origin(engine, &source).await?,
        };
        let waiting = waiting(engine, &source).await?;
        let handle = Uuid::new_v4().to_string();
        let task = Task {
            task_handle: Some(handle.clone()),
            source_arn: Some(input.source_arn),
            destination_arn: input.destination_arn,
            max_number_of_messages_per_second: input.max_number_of_messages_per_second,
            approximate_number_of_messages_moved: Some(0),
            approximate_number_of_messages_to_move: Some(waiting),
            failure_reason: None,
            status: Some(RUNNING.to_owned()),
            started_timestamp: now(),
        };
        self.add(task)?;
        let engine = Arc::clone(engine);
        let work = Work { engine, source, destination, waiting, rate, known: Arc::clone(&self.known), handle };
        let task_handle = Some(work.handle.clone());
        // The task continues if the client disconnects.
        let done = self.spawn(work);
        if rate.is_none() {
            // This fails only if the task was dropped with this value.
            let _ = done.await;
        }
        Ok(StartMessageMoveTaskOutput { task_handle })
    }

    /// The number of messages that a task has moved, or why it failed.
    pub(super) fn moved(&self, handle: &str) -> Result<u64, SqsError> {
        let known = lock(&self.known);
        let task = known.iter().find(|task| task.task_handle.as_deref() == Some(handle));
        if let Some(reason) = task.and_then(|task| task.failure_reason.as_ref()) {
            return Err(SqsError::internal_error(reason.clone()));
        }
        let moved = task.and_then(|task| task.approximate_number_of_messages_moved).unwrap_or_default();
        Ok(u64::try_from(moved).unwrap_or_default())
    }

    fn spawn(&self, work: Work) -> oneshot::Receiver<()> {
        let (ended, done) = oneshot::channel();
        let mut running_tasks = lock(&self.running_tasks);
        while running_tasks.try_join_next().is_some() {}
        running_tasks.spawn(async move {
            work.run().await;
            // This fails only if nobody waits for the task.
            let _ = ended.send(());
        });
        done
    }

    pub(super) fn list(&self, input: &ListMessageMoveTasksInput) -> ListMessageMoveTasksOutput {
        let known = lock(&self.known);
        let of_queue = known.iter().filter(|task| task.source_arn.as_ref() == Some(&input.source_arn));
        // SQS returns one task by default.
        let most = input.max_results.and_then(|most| most.try_into().ok()).unwrap_or(1);
        ListMessageMoveTasksOutput { results: of_queue.take(most).cloned().collect() }
    }

    /// Only one task of a queue runs at a time.
    fn add(&self, task: Task) -> Result<(), SqsError> {
        let mut known = lock(&self.known);
        let is_running = |known: &Task| known.source_arn == task.source_arn && known.status.as_deref() == Some(RUNNING);
        if known.iter().any(is_running) {
            return Err(SqsError::invalid_parameter_value(
                "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
            ));
        }
        known.insert(0, task);
        Ok(())
    }
}

/// The time between two messages, or `None` for no limit.
fn rate(input: &StartMessageMoveTaskInput) -> Result<Option<Duration>, SqsError> {
    let Some(rate) = input.max_number_of_messages_per_second else { return Ok(None) };
    let messages = u32::try_from(rate).ok().filter(|_| (1..=MAX_RATE).contains(&rate)).ok_or_else(|| {
        SqsError::invalid_parameter_value(format!(
            "Value {rate} for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: Must be between 1 and \
             {MAX_RATE}."
        ))
    })?;
    Ok(Some(Duration::from_secs(1) / messages))
}

/// The work of one task.
struct Work {
    engine: Arc<RustackSqs>,
    source: String,
    destination: String,
    /// The number of messages at the start. No more are moved, because a message that fails again returns to the source.
    waiting: i64,
    rate: Option<Duration>,
    known: Arc<Mutex<Vec<Task>>>,
    handle: String,
}

impl Work {
    async fn run(self) {
        let result = self.move_all().await;
        self.update_task(|task| match result {
            Ok(()) => task.status = Some("COMPLETED".to_owned()),
            Err(error) => {
                task.status = Some("FAILED".to_owned());
                task.failure_reason = Some(error.message);
            }
        });
    }

    /// Sends each message before it deletes it, so that none is lost. A message may be duplicated, which SQS allows.
    async fn move_all(&self) -> Result<(), SqsError> {
        let mut pace = self.rate.map(tokio::time::interval);
        if let Some(pace) = &mut pace {
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        // With a rate, one at a time: the other messages stay visible while they wait.
        let most = if pace.is_some() { 1 } else { MAX_BATCH };
        let mut moved = 0;
        while moved < self.waiting {
            let batch = receive(&self.engine, &self.source, most).await?;
            if batch.is_empty() {
                break;
            }
            for message in batch {
                if let Some(pace) = &mut pace {
                    pace.tick().await;
                }
                self.move_one(message).await?;
                moved += 1;
                self.update_task(|task| task.approximate_number_of_messages_moved = Some(moved));
            }
        }
        Ok(())
    }

    async fn move_one(&self, message: Message) -> Result<(), SqsError> {
        let sent = SendMessageInput {
            queue_url: self.destination.clone(),
            message_body: message.body.unwrap_or_default(),
            message_attributes: message.message_attributes,
            ..SendMessageInput::default()
        };
        large::send(&self.engine, sent).await?;
        let receipt_handle = message.receipt_handle.unwrap_or_default();
        self.engine.delete_message(DeleteMessageInput { queue_url: self.source.clone(), receipt_handle }).await?;
        Ok(())
    }

    fn update_task(&self, change: impl FnOnce(&mut Task)) {
        let mut known = lock(&self.known);
        if let Some(task) = known.iter_mut().find(|task| task.task_handle.as_ref() == Some(&self.handle)) {
            change(task);
        }
    }
}

async fn url(engine: &RustackSqs, arn: &str) -> Result<String, SqsError> {
    let queue_name = arn.rsplit(':').next().unwrap_or_default().to_owned();
    let found = engine.get_queue_url(GetQueueUrlInput { queue_name, ..GetQueueUrlInput::default() }).await?;
    Ok(found.queue_url.unwrap_or_default())
}

/// The queue that uses this dead-letter queue.
async fn origin(engine: &RustackSqs, dead_letters: &str) -> Result<String, SqsError> {
    let input =
        ListDeadLetterSourceQueuesInput { queue_url: dead_letters.to_owned(), next_token: None, max_results: None };
    let mut sources = engine.list_dead_letter_source_queues(input).await?.queue_urls;
    sources.pop().ok_or_else(|| SqsError::invalid_parameter_value("The source queue is not a dead-letter queue."))
}

async fn waiting(engine: &RustackSqs, queue: &str) -> Result<i64, SqsError> {
    let (queue_url, attribute_names) = (queue.to_owned(), vec![WAITING.to_owned()]);
    let found = engine.get_queue_attributes(GetQueueAttributesInput { queue_url, attribute_names }).await?;
    Ok(found.attributes.get(WAITING).and_then(|number| number.parse().ok()).unwrap_or_default())
}

async fn receive(engine: &RustackSqs, queue: &str, most: i32) -> Result<Vec<Message>, SqsError> {
    let input = ReceiveMessageInput {
        queue_url: queue.to_owned(),
        max_number_of_messages: Some(most),
        wait_time_seconds: Some(0),
        message_attribute_names: vec!["All".to_owned()],
        ..ReceiveMessageInput::default()
    };
    Ok(large::receive(engine, input).await?.messages)
}

fn now() -> Option<i64> {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis().try_into().ok()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
