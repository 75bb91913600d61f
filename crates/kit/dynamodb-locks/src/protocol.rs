//! The protocol: what each step writes, and under which condition. Nothing here sends anything.
//!
//! Every name is aliased and every value bound. No alias is the beginning of another one.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, ReturnValuesOnConditionCheckFailure as OnFailure, TransactWriteItem, Update,
};

use crate::locks::Placement;
use crate::record::{Item, Record};
use crate::{Attributes, Clauses, Key};

const EXISTS: &str = "attribute_exists(#lock_key)";
const NO_OWNER: &str = "attribute_not_exists(#lock_owner)";
const OWNER_EXPIRED: &str = "#lock_expires < :lock_stale";
const NO_READERS: &str = "attribute_not_exists(#lock_readers)";
const READERS_EXPIRED: &str = "#lock_reading < :lock_stale";
const READERS_LIVE: &str = "#lock_reading >= :lock_stale";
const NOT_SHORTER: &str = "#lock_reading <= :lock_until AND #lock_lease <= :lock_lease";
const UNCHANGED: &str = "#lock_nonce = :lock_seen";
const NO_MARK: &str = "attribute_not_exists(#lock_waiting)";
const MARK_PASSED: &str = "#lock_waiting < :lock_now";
const MARK_UNCHANGED: &str = "#lock_waiting = :lock_mark";
const OWNED: &str = "#lock_owner = :lock_me AND #lock_fence = :lock_fence";
/// A late copy of a reader's acquisition can put its token back after a writer was there: the fence tells them apart.
const READ: &str = "contains(#lock_readers, :lock_me) AND #lock_fence = :lock_fence";

const RELEASED: &str = "#lock_owner, #lock_expires, #lock_lease, #lock_nonce";

/// Exclusive or shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Exclusive,
    Shared,
}

/// One conditional write of a lock's item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Write {
    pub(crate) table: String,
    pub(crate) key: Item,
    pub(crate) update: String,
    pub(crate) condition: String,
    pub(crate) names: HashMap<String, String>,
    pub(crate) values: HashMap<String, AttributeValue>,
}

impl Write {
    pub(crate) fn into_transact_item(self) -> TransactWriteItem {
        let update = Update::builder()
            .table_name(self.table)
            .set_key(Some(self.key))
            .update_expression(self.update)
            .condition_expression(self.condition)
            .set_expression_attribute_names(Some(self.names))
            .set_expression_attribute_values(Some(self.values))
            .return_values_on_condition_check_failure(OnFailure::AllOld)
            .build();
        #[expect(clippy::expect_used, reason = "table, key and update expression are given above")]
        TransactWriteItem::builder().update(update.expect("an update with all it needs")).build()
    }
}

/// An acquisition: who asks, and what it knows. Times are epoch milliseconds.
pub(crate) struct Bid<'a> {
    pub(crate) me: &'a str,
    pub(crate) now: u64,
    pub(crate) expires: u64,
    pub(crate) nonce: &'a str,
    /// By the rule of the clock: what expired before this may be taken over.
    pub(crate) stale: Option<u64>,
    /// By the rule of observation: the nonce of holders that may be taken over.
    pub(crate) seen: Option<&'a str>,
    /// A waiting writer's mark that need not be respected any more.
    pub(crate) mark: Option<u64>,
    /// Whether marks are compared with this caller's clock.
    pub(crate) marks_by_clock: bool,
    /// The item as the last refusal showed it.
    pub(crate) known: Option<&'a Record>,
    /// Whether it is one of several in a transaction, whose response does not say what the item was.
    pub(crate) in_transaction: bool,
}

impl Bid<'_> {
    fn lease(&self) -> u64 {
        self.expires.saturating_sub(self.now)
    }

    /// Whether an owner of this record does not count any more.
    pub(crate) fn owner_is_gone(&self, record: &Record) -> bool {
        record.owner.is_none() || self.is_over(record.expires_at) || self.is_dead(record)
    }

    pub(crate) fn readers_are_gone(&self, record: &Record) -> bool {
        record.readers.is_empty() || self.is_over(record.readers_until) || self.is_dead(record)
    }

    /// Whether the known state of the item lets this bid through, so that there is no need to wait.
    pub(crate) fn is_admitted(&self, mode: Mode) -> bool {
        let Some(known) = self.known else { return true };
        let own = self.in_transaction && known.is_owned_by(self.me);
        match mode {
            Mode::Exclusive => (own || self.owner_is_gone(known)) && self.readers_are_gone(known),
            Mode::Shared => {
                let marked = known
                    .writer_waits_until
                    .is_some_and(|until| self.mark != Some(until) && (!self.marks_by_clock || until >= self.now));
                self.owner_is_gone(known) && !marked
            }
        }
    }

    fn values(&self, until: u64, lease: u64, fence: Option<u64>) -> Vec<(&'static str, AttributeValue)> {
        let mut values = vec![
            (":lock_me", text(self.me)),
            (":lock_readers", AttributeValue::Ss(vec![self.me.to_owned()])),
            (":lock_now", number(self.now)),
            (":lock_until", number(until)),
            (":lock_lease", number(lease)),
            (":lock_nonce", text(self.nonce)),
            (":lock_one", number(1)),
        ];
        values.extend(self.stale.map(|stale| (":lock_stale", number(stale))));
        values.extend(self.seen.map(|seen| (":lock_seen", text(seen))));
        values.extend(self.mark.map(|mark| (":lock_mark", number(mark))));
        values.extend(fence.map(|fence| (":lock_fence", number(fence))));
        values
    }

    fn is_over(&self, until: Option<u64>) -> bool {
        until.zip(self.stale).is_some_and(|(until, stale)| until < stale)
    }

    fn is_dead(&self, record: &Record) -> bool {
        self.seen.is_some() && record.nonce.as_deref() == self.seen
    }
}

/// A lock's item, and how it is called.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) table: &'a str,
    pub(crate) names: &'a Attributes,
    pub(crate) key: &'a Key,
    pub(crate) placement: Placement,
}

impl Subject<'_> {
    /// Takes the exclusive lock. Returns the write and, where the response will not tell it, the fence.
    pub(crate) fn exclusive(&self, bid: &Bid) -> (Write, Option<u64>) {
        let mut owner = vec![NO_OWNER];
        let mut readers = vec![NO_READERS];
        // The response to a transaction does not show whether a lock was taken over, so a refusal has to show it before.
        if bid.stale.is_some() && (!bid.in_transaction || bid.known.is_some()) {
            owner.push(OWNER_EXPIRED);
            readers.push(READERS_EXPIRED);
        }
        if bid.seen.is_some() {
            owner.push(UNCHANGED);
            readers.push(UNCHANGED);
        }
        let mut conditions = vec![];
        let (set_fence, fence) = if bid.in_transaction {
            // An earlier try of this acquisition, whose response was lost, is no obstacle.
            owner.push("#lock_owner = :lock_me");
            conditions.push("(attribute_not_exists(#lock_fence) OR #lock_fence < :lock_fence)".to_owned());
            let known = bid.known.and_then(|known| known.fence).map_or(0, |fence| fence.saturating_add(1));
            ("#lock_fence = :lock_fence", Some(known.max(bid.now)))
        } else {
            ("#lock_fence = if_not_exists(#lock_fence, :lock_now) + :lock_one", None)
        };
        conditions.push(any(&owner));
        conditions.push(any(&readers));
        let update = format!(
            "SET #lock_owner = :lock_me, #lock_expires = :lock_until, #lock_lease = :lock_lease, \
             #lock_nonce = :lock_nonce, {set_fence}{} REMOVE #lock_readers, #lock_reading, #lock_waiting",
            self.purge()
        );
        let mut values = bid.values(bid.expires, bid.lease(), fence);
        values.extend(self.purge_at(bid.expires));
        (self.write(update, self.existing(conditions), values), fence)
    }

    /// Takes a shared lock. Returns the write and, where it is known before the response, the fence.
    pub(crate) fn shared(&self, bid: &Bid) -> (Write, Option<u64>) {
        let mut conditions = vec![];
        let mut marks = vec![NO_MARK];
        if bid.marks_by_clock {
            marks.push(MARK_PASSED);
        }
        if bid.mark.is_some() {
            marks.push(MARK_UNCHANGED);
        }
        conditions.push(any(&marks));

        // Dead holders are removed, or their late writes would pass; and the fence rises, as with every other takeover.
        let dead_readers = bid.known.is_some_and(|known| !known.readers.is_empty() && bid.readers_are_gone(known));
        let dead_owner = bid.known.filter(|known| known.owner.is_some() && bid.owner_is_gone(known));
        let mut remove = vec![];
        if dead_owner.is_some() {
            let mut gone = vec![];
            if bid.stale.is_some() {
                gone.push(OWNER_EXPIRED);
            }
            if bid.seen.is_some() {
                gone.push(UNCHANGED);
            }
            conditions.push("#lock_owner = :lock_from".to_owned());
            conditions.push(any(&gone));
            remove.extend(["#lock_owner", "#lock_expires"]);
        } else {
            conditions.push(NO_OWNER.to_owned());
        }

        // Nobody else need watch a mark that this caller has watched for long enough. Its writer renews it, if it still waits.
        if bid.mark.is_some() {
            remove.push("#lock_waiting");
        }
        let remove = if remove.is_empty() { String::new() } else { format!(" REMOVE {}", remove.join(", ")) };

        let was = bid.known.and_then(|known| known.fence);
        let (set_fence, fence) = if let Some(was) = was {
            conditions.push("#lock_fence = :lock_was".to_owned());
            let takes_over = dead_owner.is_some() || dead_readers;
            let fence = if takes_over { was.saturating_add(1) } else { was };
            ("#lock_fence = :lock_fence", Some(fence))
        } else if bid.in_transaction {
            conditions.push("attribute_not_exists(#lock_fence)".to_owned());
            ("#lock_fence = :lock_fence", Some(bid.now))
        } else {
            ("#lock_fence = if_not_exists(#lock_fence, :lock_now)", None)
        };

        // Readers share one end and one length of lease, the longest of theirs.
        let mut until = bid.expires;
        let mut lease = bid.lease();
        let (set_readers, add) = if dead_readers {
            let mut gone = vec![NO_READERS];
            if bid.stale.is_some() {
                gone.push(READERS_EXPIRED);
            }
            if bid.seen.is_some() {
                gone.push(UNCHANGED);
            }
            conditions.push(any(&gone));
            (", #lock_readers = :lock_readers", "")
        } else {
            if let Some(known) = bid.known.filter(|known| !known.readers.is_empty()) {
                until = until.max(known.readers_until.unwrap_or(0));
                lease = lease.max(known.lease_ms.unwrap_or(0));
            }
            // Dead readers are not joined but replaced: else their tokens would stay for ever.
            let live = if bid.stale.is_some() { format!(" AND {READERS_LIVE}") } else { String::new() };
            conditions.push(format!("({NO_READERS} OR ({NOT_SHORTER}{live}))"));
            ("", " ADD #lock_readers :lock_readers")
        };
        let update = format!(
            "SET {set_fence}, #lock_reading = :lock_until, #lock_lease = :lock_lease, #lock_nonce = :lock_nonce\
             {set_readers}{}{remove}{add}",
            self.purge()
        );
        let mut values = bid.values(until, lease, fence);
        values.extend(self.purge_at(until));
        values.extend(was.map(|was| (":lock_was", number(was))));
        let from = dead_owner.and_then(|known| known.owner.as_deref());
        values.extend(from.map(|from| (":lock_from", text(from))));
        (self.write(update, self.existing(conditions), values), fence)
    }

    /// A waiting writer's mark: until then, new readers are refused.
    pub(crate) fn mark(&self, until: u64) -> Write {
        let update = "SET #lock_waiting = :lock_mark".to_owned();
        let condition = format!("attribute_exists(#lock_readers) AND ({NO_MARK} OR #lock_waiting < :lock_mark)");
        self.write(update, condition, vec![(":lock_mark", number(until))])
    }

    /// Removes the mark of a writer that does not wait any more, if it is still this one.
    pub(crate) fn unmark(&self, until: u64) -> Write {
        let update = "REMOVE #lock_waiting".to_owned();
        self.write(update, MARK_UNCHANGED.to_owned(), vec![(":lock_mark", number(until))])
    }

    /// Renews an exclusive lease.
    pub(crate) fn renew_exclusive(&self, holding: Holding, renewal: &Renewal) -> Write {
        let update = format!(
            "SET #lock_expires = :lock_until, #lock_lease = :lock_lease, #lock_nonce = :lock_nonce{}",
            self.purge()
        );
        let mut values = renewal.values();
        values.extend(self.purge_at(renewal.until));
        values.extend(holding.values());
        self.write(update, OWNED.to_owned(), values)
    }

    /// Renews a shared lease. It is refused if another reader's lease is longer; the refusal shows that.
    pub(crate) fn renew_shared(&self, holding: Holding, renewal: &Renewal) -> Write {
        let update = format!(
            "SET #lock_reading = :lock_until, #lock_lease = :lock_lease, #lock_nonce = :lock_nonce{}",
            self.purge()
        );
        let mut values = renewal.values();
        values.extend(self.purge_at(renewal.until));
        values.extend(holding.values());
        self.write(update, format!("{READ} AND {NOT_SHORTER}"), values)
    }

    /// Releases a lock, now in epoch milliseconds. Others may still share it, so a shared release leaves the record's end alone.
    pub(crate) fn release(&self, holding: Holding, now: u64) -> Write {
        let mut values = holding.values();
        values.extend(self.purge_at(now));
        let (update, condition) = match holding.mode {
            Mode::Exclusive if self.retention().is_some() => {
                (format!("SET #lock_purge = :lock_purge REMOVE {RELEASED}"), OWNED)
            }
            Mode::Exclusive => (format!("REMOVE {RELEASED}"), OWNED),
            Mode::Shared => ("DELETE #lock_readers :lock_readers".to_owned(), READ),
        };
        self.write(update, condition.to_owned(), values)
    }

    /// Checks that a lock is still held.
    pub(crate) fn check(&self, holding: Holding) -> TransactWriteItem {
        let Clauses { condition, names, values, .. } = self.condition(holding);
        let check = ConditionCheck::builder()
            .table_name(self.table)
            .set_key(Some(self.key.to_item(self.names)))
            .condition_expression(condition)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .return_values_on_condition_check_failure(OnFailure::AllOld)
            .build();
        #[expect(clippy::expect_used, reason = "table, key and condition are given above")]
        TransactWriteItem::builder().condition_check(check.expect("a check with all it needs")).build()
    }

    /// The condition of `check` for a write of the caller's own.
    pub(crate) fn condition(&self, holding: Holding) -> Clauses {
        let condition = match holding.mode {
            Mode::Exclusive => OWNED,
            Mode::Shared => READ,
        };
        let Write { condition, names, values, .. } = self.write(String::new(), condition.to_owned(), holding.values());
        Clauses { condition, set: String::new(), remove: String::new(), names, values }
    }

    /// `release` of an exclusive lock for a write of the caller's own.
    pub(crate) fn release_clauses(&self, holding: Holding) -> Clauses {
        let Write { update: remove, condition, names, values, .. } =
            self.write(RELEASED.to_owned(), OWNED.to_owned(), holding.values());
        Clauses { condition, set: String::new(), remove, names, values }
    }

    /// To add to a `SET`: when the time to live may delete the record.
    fn purge(&self) -> &'static str {
        if self.retention().is_some() { ", #lock_purge = :lock_purge" } else { "" }
    }

    /// Its value, in epoch seconds, for a record that is in use until this epoch millisecond.
    fn purge_at(&self, until: u64) -> Option<(&'static str, AttributeValue)> {
        let at = (until / 1000).saturating_add(self.retention()?.as_secs()).saturating_add(1);
        Some((":lock_purge", number(at)))
    }

    fn retention(&self) -> Option<Duration> {
        match self.placement {
            Placement::Record { retention } => retention,
            Placement::InPlace => None,
        }
    }

    fn existing(&self, mut conditions: Vec<String>) -> String {
        if matches!(self.placement, Placement::InPlace) {
            conditions.insert(0, EXISTS.to_owned());
        }
        conditions.join(" AND ")
    }

    /// Binds the names and values that the expressions use: DynamoDB refuses others.
    fn write(&self, update: String, condition: String, values: Vec<(&'static str, AttributeValue)>) -> Write {
        let uses = |alias: &str| update.contains(alias) || condition.contains(alias);
        let aliases = [
            ("#lock_key", self.key.partition_name(self.names)),
            ("#lock_fence", &self.names.fence),
            ("#lock_owner", &self.names.owner),
            ("#lock_expires", &self.names.expires_at),
            ("#lock_lease", &self.names.lease_ms),
            ("#lock_nonce", &self.names.nonce),
            ("#lock_readers", &self.names.readers),
            ("#lock_reading", &self.names.readers_until),
            ("#lock_waiting", &self.names.writer_waits_until),
            ("#lock_purge", &self.names.purge_at),
        ];
        let names = aliases.into_iter().filter(|(alias, _)| uses(alias));
        let names = names.map(|(alias, name)| (alias.to_owned(), name.to_owned())).collect();
        let values = values.into_iter().filter(|(alias, _)| uses(alias));
        let values = values.map(|(alias, value)| (alias.to_owned(), value)).collect();
        Write { table: self.table.to_owned(), key: self.key.to_item(self.names), update, condition, names, values }
    }
}

/// By what the database knows a holder.
#[derive(Clone, Copy)]
pub(crate) struct Holding<'a> {
    pub(crate) mode: Mode,
    pub(crate) me: &'a str,
    pub(crate) fence: u64,
}

impl Holding<'_> {
    fn values(&self) -> Vec<(&'static str, AttributeValue)> {
        vec![
            (":lock_me", text(self.me)),
            (":lock_readers", AttributeValue::Ss(vec![self.me.to_owned()])),
            (":lock_fence", number(self.fence)),
        ]
    }
}

/// A heartbeat: until when, and how long from now.
pub(crate) struct Renewal<'a> {
    pub(crate) until: u64,
    pub(crate) lease: u64,
    pub(crate) nonce: &'a str,
}

impl Renewal<'_> {
    fn values(&self) -> Vec<(&'static str, AttributeValue)> {
        vec![
            (":lock_until", number(self.until)),
            (":lock_lease", number(self.lease)),
            (":lock_nonce", text(self.nonce)),
        ]
    }
}

fn any(clauses: &[&str]) -> String {
    format!("({})", clauses.join(" OR "))
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
