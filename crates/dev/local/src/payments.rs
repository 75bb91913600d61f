//! Runs the Payments service of `payments.yaml` on one machine.

use std::collections::HashMap;

use embedded_dynamodb::Engine;
use lambda_host::gateway::Integration;
use lambda_host::mapping::Mapping;
use lambda_host::queues::Queues;
use lambda_host::schedule::{Rate, Schedule};
use lambda_host::stream::StreamMapping;
use lambda_host::topics::Topic;

use crate::console::Watched;
use crate::stack::{EVENT_CONCURRENCY, Setup, StartError};
use crate::template::{Payments, unknown};

/// Schedules run this many times faster than in production: a minute lasts two seconds.
const SPEED_UP: u32 = 30;

/// The age in seconds from which the reconciler and the sweeper process open charges and rows. Production waits for minutes.
const PICK_UP_AGE: &str = "10";

/// The event source mappings and schedules. They end with this value.
#[derive(Debug, Default)]
#[allow(dead_code)] // They are kept, not read.
pub(crate) struct Running {
    queues: Vec<Mapping>,
    streams: Vec<StreamMapping>,
    schedules: Vec<Schedule>,
}

/// Creates the queues, and starts the mappings and schedules.
pub(crate) async fn start(
    setup: &Setup<'_>,
    payments: &Payments,
    engine: &Engine,
    queues: &Queues,
    topic: &Topic,
    watched: &mut Watched,
) -> Result<Running, StartError> {
    let mut created = HashMap::new();
    // Dead-letter queues first, because the others refer to them.
    let (work, other): (Vec<_>, Vec<_>) = payments.queues.iter().cloned().partition(|queue| queue.redrive.is_some());
    for queue in other.into_iter().chain(work.into_iter().map(|queue| setup.queue(queue))) {
        created.insert(queue.name.clone(), queues.create(&queue).await?);
    }
    let queue = |name: &str| {
        let queue = created.get(name).cloned();
        queue.ok_or_else(|| unknown("queue", name))
    };
    for subscription in &payments.subscriptions {
        topic.subscribe(subscription)?;
    }
    let mut running = Running::default();
    for mapping in &payments.queue_mappings {
        // With its full timeout, even if the message is retried meanwhile: a lock prevents two concurrent charges.
        let function = setup.function(payments.function(&mapping.function)?)?;
        let source = queue(&mapping.queue)?;
        let mapping = Mapping::start(source.clone(), function, mapping.batch_size, EVENT_CONCURRENCY);
        let redrive =
            payments.queues.iter().find(|known| known.name == source.name()).and_then(|known| known.redrive.as_ref());
        if let Some(redrive) = redrive {
            watched.add(&mapping, source, queue(&redrive.dead_letter_queue)?, redrive.max_receive_count);
        }
        running.queues.push(mapping);
    }
    for mapping in &payments.stream_mappings {
        let function = setup.function(payments.function(&mapping.function)?)?;
        let position = Some(setup.data.position(&function.name));
        let stream = engine.stream(&mapping.table).map_err(lambda_host::stream::StreamError::from)?;
        let on_failure = Some(queue(&mapping.on_failure_queue)?);
        let mapping = StreamMapping::start(stream, function, mapping.settings.clone(), on_failure, position)?;
        watched.functions.push(mapping.processes().clone());
        running.streams.push(mapping);
    }
    for schedule in &payments.schedules {
        let mut function = setup.function(payments.function(&schedule.function)?)?;
        for variable in ["RECONCILE_AFTER_SECONDS", "SWEEP_AFTER_SECONDS"] {
            function.environment.push((variable.to_owned(), PICK_UP_AGE.to_owned()));
        }
        let name = function.name.clone();
        let schedule = Schedule::start(&name, function, shortened(schedule.expression));
        watched.functions.push(schedule.processes().clone());
        running.schedules.push(schedule);
    }
    Ok(running)
}

/// The HTTP function.
pub(crate) fn api(setup: &Setup<'_>, payments: &Payments) -> Result<Integration, StartError> {
    setup.integration(payments.function(Payments::API)?, payments.routes.clone())
}

fn shortened(Rate(period): Rate) -> Rate {
    Rate(period / SPEED_UP)
}
