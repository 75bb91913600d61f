//! Filters by keywords.

use crate::world::{World, created, ids};

#[tokio::test]
async fn keywords_match_regardless_of_case_in_any_script() {
    let world = World::create().await;
    let restaurants = ["Crème de la Crème", "Zur Straße", "ΟΔΟΣ", "Борщ", "寿司", "Ajanta"];
    for (n, restaurant) in (1..).zip(restaurants) {
        world.project(&[created("7", n, n * 1_000, restaurant)]).await;
    }
    let api = world.open();
    let found = [
        ("CR%C3%88ME", vec!["1"]),
        ("cre%CC%80me", vec!["1"]),
        ("STRASSE", vec!["2"]),
        ("stra%C3%9Fe", vec!["2"]),
        ("%CE%BF%CE%B4%CE%BF%CF%82", vec!["3"]),
        ("%D0%91%D0%9E%D0%A0%D0%A9", vec!["4"]),
        ("%E5%AF%BF", vec!["5"]),
        ("creme", vec![]),
        ("ajan", vec![]),
        ("soup", vec!["1", "2", "3", "4", "5", "6"]),
        ("ajanta+nothing", vec!["6"]),
        ("ajanta&keywords=%D0%B1%D0%BE%D1%80%D1%89", vec!["4", "6"]),
    ];
    for (keywords, expected) in found {
        let page = api.json(&format!("/orders?consumerId=7&keywords={keywords}")).await;
        assert_eq!(ids(&[page]), expected, "{keywords}");
    }
}

#[tokio::test]
async fn a_keyword_never_finds_orders_of_another_consumer() {
    let world = World::create().await;
    world.project(&[created("7", 1, 1_000, "A"), created("8", 2, 1_000, "A"), created("77", 3, 1_000, "A")]).await;
    assert_eq!(ids(&[world.open().json("/orders?consumerId=7").await]), ["1"]);
}
