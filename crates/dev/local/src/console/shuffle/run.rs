//! A shuffle from its first event to the comparison.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use lambda_host::processes::{Observer, Observing};
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
use super::piece::{holdings, name, place};
use super::plan;
use super::report::{self, Delivery, DeliveryState, Report, Shuffle, StoryEvent};
use super::story::story;
use crate::console::dice::Dice;
use crate::console::problem::Problem;

/// The place of the lane whose events come in order.
const IN_ORDER: usize = 0;

/// How long the functions may take for all deliveries, beside the pace and the messages that come again: a busy machine takes its time.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often it is tried to kill a process before it answers, and how long after it got its message. The first try may let it begin its
/// work; the later ones leave it no time.
const KILLS: usize = 8;
const LATEST_KILL: usize = 6;

/// A shuffle that is to run.
pub(super) struct Run {
    settings: Settings,
    observer: Arc<ShuffleObserver>,
}

impl Run {
    /// Two orders that nobody else has, and a plan.
    pub(super) fn new(settings: Settings, id: Uuid, seed: u64) -> Result<Self, Problem> {
        let number = id.as_u64_pair().0;
        let id = format!("{:08x}", number >> 32);
        let now = Timestamp::from(SystemTime::now());
        let lanes =
            [lane(&format!("shuffle-{id}-a"), number & !1, now)?, lane(&format!("shuffle-{id}-b"), number | 1, now)?];

        let mut dice = Dice(seed);
        let in_order = &lanes[IN_ORDER];
        let facets = in_order
            .pieces
            .iter()
            .map(|pieces| pieces.iter().filter(|piece| is_facet(piece)).filter_map(name).collect());
        let deliveries = plan::shuffled(&facets.collect::<Vec<_>>(), &mut dice);
        let shown = |name, lane: &Lane, deliveries| report::Lane {
            name,
            order_id: lane.order_id.clone(),
            deliveries,
            digest: None,
            pieces: holdings(&projection::State::default(), &lane.places),
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
                shown("shuffled", &lanes[SHUFFLED], deliveries),
            ],
        };
        let observer = ShuffleObserver {
            report: Arc::new(Report::new(shuffle)),
            items: Items { client: settings.client.clone(), tables: settings.tables.clone() },
            lanes,
            kill_after: Mutex::new(kills(&mut dice)),
        };
        Ok(Self { settings, observer: Arc::new(observer) })
    }

    pub(super) fn report(&self) -> &Arc<Report> {
        &self.observer.report
    }

    pub(super) async fn run(self) {
        let observing = self.look_on();
        let deliveries = self.report().shuffle().lanes.map(|lane| lane.deliveries.len()).into_iter().max();
        let steps = self.settings.pace * u32::try_from(deliveries.unwrap_or_default()).unwrap_or(u32::MAX);
        // A message may come again twice: given back by one function while another that was killed has claimed it.
        let limit = PATIENCE + steps + 3 * self.settings.visibility_timeout;
        let sent = timeout(limit, self.send_events()).await.unwrap_or_else(|_| {
            let message =
                format!("not every event was projected within {limit:?}: look at the queues and the dead letters");
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

    fn look_on(&self) -> Vec<Observing> {
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
            shuffle.lanes.iter().flat_map(|lane| &lane.deliveries).all(|delivery| delivery.state == DeliveryState::Done)
        })
        .await?;
        let shuffled = &self.report().shuffle().lanes[SHUFFLED];
        if shuffled.deliveries.iter().all(|delivery| delivery.kills == 0) {
            return Err(Problem::bad_request("every function answered before it could be killed: try again"));
        }
        Ok(())
    }

    /// Sends the events of a lane. In order, each is sent when the one before it is done; else, when it was tried.
    async fn send_all(&self, lane: usize) -> Result<(), Problem> {
        let deliveries = self.report().shuffle().lanes[lane].deliveries.len();
        for place in 0..deliveries {
            let next = tokio::time::Instant::now() + self.settings.pace;
            self.send(lane, place).await?;
            self.wait_for(|shuffle| {
                let Delivery { state, tries, .. } = shuffle.lanes[lane].deliveries[place];
                state == DeliveryState::Done || lane == SHUFFLED && tries > 0
            })
            .await?;
            sleep_until(next).await;
        }
        Ok(())
    }

    async fn send(&self, lane: usize, place: usize) -> Result<(), Problem> {
        let Lane { events, sent, .. } = &self.observer.lanes[lane];
        let mut sent = sent.lock().await;
        let event = self.report().change(|shuffle| {
            let delivery = &mut shuffle.lanes[lane].deliveries[place];
            delivery.state = DeliveryState::Sent;
            delivery.event
        });
        sent.insert(self.settings.publisher.publish(&events[event]).await?, place);
        Ok(())
    }

    /// Waits until something holds, or until the shuffle has failed.
    async fn wait_for(&self, mut holds: impl FnMut(&Shuffle) -> bool) -> Result<(), Problem> {
        self.report().wait_for(|shuffle| shuffle.error.is_some() || holds(shuffle)).await;
        self.report().shuffle().error.map_or(Ok(()), |error| Err(Problem::bad_request(error)))
    }

    /// Whether both items say the same.
    async fn compare(&self) -> Result<bool, Problem> {
        let mut contents = Vec::new();
        for (place, lane) in self.observer.lanes.iter().enumerate() {
            let item = self.observer.items.order(&lane.order_id).await?;
            self.observer.show(place, &item);
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
    // As in the table of the view, so that what happened to them is shown in that order.
    for pieces in &mut written {
        pieces.sort_by_key(place);
    }
    Ok(Lane {
        order_id: order_id.to_owned(),
        pieces: written,
        events,
        names: Names::new(order_id, &ids),
        places: ids.into_iter().zip(0..).collect(),
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

fn kills(dice: &mut Dice) -> VecDeque<Duration> {
    let first = Duration::from_millis(1 + dice.roll(LATEST_KILL) as u64);
    [first].into_iter().chain((1..KILLS).map(|_| Duration::ZERO)).collect()
}
