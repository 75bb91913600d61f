//! The functions and queues that the console shows.

use std::collections::HashMap;

use lambda_host::mapping::Mapping;
use lambda_host::processes::Processes;
use lambda_host::queues::Queue;
use order_events::EventType;

/// The functions and queues that the console shows.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// All functions, in display order.
    pub(crate) functions: Vec<Processes>,
    /// The functions that project events, by event type.
    pub(crate) handlers: HashMap<EventType, Processes>,
    /// The queues whose messages invoke functions.
    pub(crate) queues: Vec<WatchedQueue>,
}

/// A queue and the function that its messages invoke.
#[derive(Debug, Clone)]
pub(crate) struct WatchedQueue {
    pub(crate) queue: Queue,
    /// The function's name.
    pub(crate) function: String,
    /// Its dead-letter queue.
    pub(crate) dead_letters: Queue,
    /// How often a message is received before it moves to the dead-letter queue.
    pub(crate) max_receive_count: u32,
}

impl Watched {
    /// Adds a queue with its function.
    pub(crate) fn add(&mut self, mapping: &Mapping, queue: Queue, dead_letters: Queue, max_receive_count: u32) {
        let processes = mapping.processes();
        self.functions.push(processes.clone());
        let function = processes.function().to_owned();
        self.queues.push(WatchedQueue { queue, function, dead_letters, max_receive_count });
    }
}
