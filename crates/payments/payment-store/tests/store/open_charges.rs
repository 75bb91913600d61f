//! The index of charges that are requested and not settled.

use payment_store::{OpenCharge, SHARDS, Settled, Shard};

use crate::world::{World, at, charged_as};

async fn open(world: &World, before: i64) -> Vec<OpenCharge> {
    let mut open = Vec::new();
    for shard in SHARDS {
        open.extend(world.store.open_charges(shard, at(before), None, 100).await.unwrap());
    }
    open.sort_by_key(|charge| charge.requested_at);
    open
}

#[tokio::test]
async fn only_requested_charges_that_are_old_enough_are_found() {
    let world = World::create().await;
    world.created("1").await;
    world.settled("2", charged_as("ch_1")).await;
    let old = world.requested("3").await;
    world.set_clock(60_000);
    let young = world.requested("4").await;
    let expect =
        |found: &payment_store::StoredIntent, millis| OpenCharge { id: found.intent.id(), requested_at: at(millis) };
    assert_eq!(open(&world, 60_000).await, [expect(&old, 0)], "the limit is exclusive");
    assert_eq!(open(&world, 60_001).await, [expect(&old, 0), expect(&young, 60_000)]);
    assert!(matches!(world.settle(&old, charged_as("ch_2")).await, Settled::Stored(_)));
    assert_eq!(open(&world, 60_001).await, [expect(&young, 60_000)], "a settled charge is not open");
}

#[tokio::test]
async fn each_page_continues_after_the_previous_one_and_every_charge_is_in_its_shard() {
    let world = World::create().await;
    let mut expected = Vec::new();
    for order in 0..24 {
        world.set_clock(order);
        expected.push(world.requested(&order.to_string()).await.intent.id());
    }
    let mut found = Vec::new();
    for shard in SHARDS {
        let mut after = None;
        loop {
            let page = world.store.open_charges(shard, at(1_000), after, 2).await.unwrap();
            assert!(page.iter().all(|charge| Shard::of(charge.id) == shard));
            assert!(page.windows(2).all(|pair| pair[0].requested_at <= pair[1].requested_at), "oldest first");
            found.extend(page.iter().map(|charge| charge.id));
            after = page.last().copied();
            if page.len() < 2 {
                break;
            }
        }
    }
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}
