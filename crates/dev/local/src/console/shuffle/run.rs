//! Runs a shuffle, from the first event to the comparison.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use lambda_host::processes::{Observer, ObserverGuard};
use order_events::{OrderId, Timestamp};
use order_view::pieces;
use projection::Piece;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{sleep_until, timeout};
use uuid::Uuid;

use super::Settings;
use super::comparison::{Content, Names};
use super::item::Items;
use super::observer::{Lane, SHUFFLED, ShuffleObserver};
use super::piece::{name, piece_values, position};
use super::plan;
use super::report::{self, LaneMessage, MessageState, Report, Shuffle, StoryEvent};
use super::story::story;
use crate::console::problem::Problem;
use crate::console::random::Random;

/// The index of the lane whose events are sent in sequence.
const IN_ORDER: usize = 0;

/// The longest time of the functions for all messages, in addition to the pace and the retries.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The number of tries to kill a process before it answers, and the longest wait of the first try in milliseconds. The later tries do
/// not wait.
const KILLS: usize = 8;
const LATEST_KILL: usize = 6;

/// A prepared shuffle.
pub(super) struct Run {
    settings: Settings,
    observer: Arc<ShuffleObserver>,
}

impl Run {
    /// Makes two new orders and a plan.
    pub(super) fn new(settings: Settings, id: Uuid, seed: u64) -> Result<Self, Problem> {
        let number = id.as_u64_pair().0;
        let id = format!("{:08x}", number >> 32);
        let now = Timestamp::from(SystemTime::now());
        let lanes =
            [lane(&format!("shuffle-{id}-a"), number & !1, now)?, lane(&format!("shuffle-{id}-b"), number | 1, now)?];

        let mut random = Random(seed);
        let in_order = &lanes[IN_ORDER];
        let facets = in_order
            .pieces
            .iter()
            .map(|pieces| pieces.iter().filter(|piece| is_facet(piece)).filter_map(name).collect());
        let messages = plan::shuffled(&facets.collect::<Vec<_>>(), &mut random);
        let shown = |name, lane: &Lane, messages| report::Lane {
            name,
            order_id: lane.order_id.clone(),
            messages,
            digest: None,
            pieces: piece_values(&projection::State::default(), &lane.positions),
        };
        let shuffle = Shuffle {
            id,
            seed,
            running: true,
            equal: None,
            error: None,
            story: story_of(in_order),
            lanes: [
                shown("in order", &lanes[IN_ORDER], plan::in_order(in_order.events.len())),
                shown("shuffled", &lanes[SHUFFLED], messages),
            ],
        };
        let observer = ShuffleObserver {
            report: Arc::new(Report::new(shuffle)),
            items: Items { client: settings.client.clone(), tables: settings.tables.clone() },
            lanes,
            kill_after: Mutex::new(kills(&mut random)),
        };
        Ok(Self { settings, observer: Arc::new(observer) })
    }

    pub(super) fn report(&self) -> &Arc<Report> {
        &self.observer.report
    }

    pub(super) async fn run(self) {
        let observing = self.observe();
        let messages = self.report().shuffle().lanes.map(|lane| lane.messages.len()).into_iter().max();
        let steps = self.settings.pace * u32::try_from(messages.unwrap_or_default()).unwrap_or(u32::MAX);
        // A message may be retried twice: once after the kill, and once because the killed function still held the claim.
        let limit = TIMEOUT + steps + 3 * self.settings.visibility_timeout;
        let sent = timeout(limit, self.send_events()).await.unwrap_or_else(|_| {
            let message =
                format!("not every event was projected within {limit:?}: check the queues and the dead letters");
            Err(Problem::bad_request(message))
        });
        let compared = match sent {
            Ok(()) => self.compare().await,
            Err(problem) => Err(problem),
        };
        drop(observing);
        self.report().change(|shuffle| {
            shuffle.running = false;
            match compared {
                Ok(equal) if shuffle.error.is_none() => shuffle.equal = Some(equal),
                Ok(_) => {}
                Err(problem) => _ = shuffle.error.get_or_insert(problem.message),
            }
        });
    }

    fn observe(&self) -> Vec<ObserverGuard> {
        let events = &self.observer.lanes[IN_ORDER].events;
        let types: std::collections::HashSet<_> = events.iter().map(order_events::Event::event_type).collect();
        let observer: Arc<dyn Observer> = Arc::<ShuffleObserver>::clone(&self.observer);
        let handlers = types.iter().filter_map(|event_type| self.settings.handlers.get(event_type));
        handlers.map(|handler| handler.observe(Arc::clone(&observer))).collect()
    }

    /// Sends all events of both lanes, and waits until they are done.
    async fn send_events(&self) -> Result<(), Problem> {
        tokio::try_join!(self.send_all(IN_ORDER), self.send_all(SHUFFLED))?;
        self.wait_for(|shuffle| {
            shuffle.lanes.iter().flat_map(|lane| &lane.messages).all(|message| message.state == MessageState::Done)
        })
        .await?;
        let shuffled = &self.report().shuffle().lanes[SHUFFLED];
        if shuffled.messages.iter().all(|message| message.kills == 0) {
            return Err(Problem::bad_request(
                "every function answered before it could be killed: start the shuffle again",
            ));
        }
        Ok(())
    }

    /// Sends the events of a lane. In sequence, an event is sent when the one before it is done; shuffled, when the one before it was
    /// tried once.
    async fn send_all(&self, lane: usize) -> Result<(), Problem> {
        let messages = self.report().shuffle().lanes[lane].messages.len();
        for index in 0..messages {
            let next = tokio::time::Instant::now() + self.settings.pace;
            self.send(lane, index).await?;
            self.wait_for(|shuffle| {
                let LaneMessage { state, tries, .. } = shuffle.lanes[lane].messages[index];
                state == MessageState::Done || lane == SHUFFLED && tries > 0
            })
            .await?;
            sleep_until(next).await;
        }
        Ok(())
    }

    async fn send(&self, lane: usize, index: usize) -> Result<(), Problem> {
        let Lane { events, sent, .. } = &self.observer.lanes[lane];
        let mut sent = sent.lock().await;
        let event = self.report().change(|shuffle| {
            let message = &mut shuffle.lanes[lane].messages[index];
            message.state = MessageState::Sent;
            message.event
        });
        sent.insert(self.settings.publisher.publish(&events[event]).await?, index);
        Ok(())
    }

    /// Waits until a condition holds, or until the shuffle has failed.
    async fn wait_for(&self, mut holds: impl FnMut(&Shuffle) -> bool) -> Result<(), Problem> {
        self.report().wait_for(|shuffle| shuffle.error.is_some() || holds(shuffle)).await;
        self.report().shuffle().error.map_or(Ok(()), |error| Err(Problem::bad_request(error)))
    }

    /// Whether both items are equal.
    async fn compare(&self) -> Result<bool, Problem> {
        let mut contents = Vec::new();
        for (index, lane) in self.observer.lanes.iter().enumerate() {
            let item = self.observer.items.order(&lane.order_id).await?;
            self.observer.show(index, &item);
            contents.push((!item.is_empty()).then(|| Content::of(&item, &lane.names)));
        }
        Ok(contents[IN_ORDER].is_some() && contents[IN_ORDER] == contents[SHUFFLED])
    }
}

fn is_facet(piece: &Piece) -> bool {
    matches!(piece, Piece::Facet { .. })
}

fn lane(order_id: &str, number: u64, now: Timestamp) -> Result<Lane, Problem> {
    let events = story(&OrderId::parse(order_id)?, number, now)?;
    let ids: Vec<_> = events.iter().map(|event| event.id.to_string()).collect();
    let mut written = events.iter().map(pieces).collect::<Result<Vec<_>, _>>()?;
    // In the order of `PIECES`, so that outcomes are shown in that order.
    for pieces in &mut written {
        pieces.sort_by_key(position);
    }
    Ok(Lane {
        order_id: order_id.to_owned(),
        pieces: written,
        events,
        names: Names::new(order_id, &ids),
        positions: ids.into_iter().zip(0..).collect(),
        applied: Mutex::default(),
        turn: Arc::new(AsyncMutex::new(())),
        sent: AsyncMutex::new(HashMap::new()),
    })
}

fn story_of(lane: &Lane) -> Vec<StoryEvent> {
    let events = lane.events.iter().zip(&lane.pieces);
    let event = |(event, pieces): (&order_events::Event, &Vec<Piece>)| StoryEvent {
        event_type: event.event_type().name(),
        aggregate: event.event_type().aggregate().name(),
        pieces: pieces.iter().filter_map(name).collect(),
    };
    events.map(event).collect()
}

fn kills(random: &mut Random) -> VecDeque<Duration> {
    let first = Duration::from_millis(1 + random.below(LATEST_KILL) as u64);
    [first].into_iter().chain((1..KILLS).map(|_| Duration::ZERO)).collect()
}
