//! Random commands have the same effect as in a model, in both modes.

use std::collections::HashMap;

use proptest::prelude::*;

use crate::world::{Behaviour, TestApi, World, change, charge, create};

#[derive(Debug, Clone, Copy)]
enum Command {
    Create {
        order: usize,
        amount: i64,
    },
    Amount {
        order: usize,
        amount: i64,
    },
    Charge {
        order: usize,
        behaviour: Behaviour,
    },
    Settle {
        order: usize,
    },
    /// Repeats the last command with its key.
    Repeat,
}

fn command() -> impl Strategy<Value = Command> {
    let order = 0..2_usize;
    let behaviour = prop_oneof![Just(Behaviour::Charge), Just(Behaviour::Decline), Just(Behaviour::LoseResponse)];
    prop_oneof![
        (order.clone(), 1..1_000_i64).prop_map(|(order, amount)| Command::Create { order, amount }),
        (order.clone(), 1..1_000_i64).prop_map(|(order, amount)| Command::Amount { order, amount }),
        (order.clone(), behaviour).prop_map(|(order, behaviour)| Command::Charge { order, behaviour }),
        order.prop_map(|order| Command::Settle { order }),
        Just(Command::Repeat),
    ]
}

/// The last intent of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Model {
    state: &'static str,
    amount: i64,
    version: u64,
}

struct Run {
    api: TestApi,
    model: HashMap<usize, Model>,
    ids: HashMap<usize, String>,
}

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

impl Run {
    fn id(&self, order: usize) -> String {
        self.ids.get(&order).cloned().unwrap_or_else(|| UNKNOWN_ID.to_owned())
    }

    /// The state after the charge; none if the charge is not decided.
    fn decided(behaviour: Behaviour) -> Option<&'static str> {
        match behaviour {
            Behaviour::Charge => Some("CHARGED"),
            Behaviour::Decline => Some("CHARGE_FAILED"),
            Behaviour::LoseResponse | Behaviour::Stall => None,
        }
    }

    async fn step(&mut self, step: usize, command: Command) {
        let key = format!("step-{step}");
        match command {
            Command::Create { order, amount } => {
                let reply = self.api.send(create(&order.to_string(), amount).key(&key)).await;
                match self.model.get(&order).map(|model| model.state) {
                    None | Some("CHARGE_FAILED") => {
                        assert_eq!(reply.status(), 201, "{reply:?}");
                        self.ids.insert(order, reply.id());
                        self.model.insert(order, Model { state: "CREATED", amount, version: 1 });
                    }
                    Some("CHARGED") => reply.expect_problem(409, "order-already-paid"),
                    Some(_) => reply.expect_problem(409, "order-has-open-intent"),
                }
            }
            Command::Amount { order, amount } => {
                let reply = self.api.send(change(&self.id(order), amount).key(&key)).await;
                match self.model.get_mut(&order) {
                    None => reply.expect_problem(404, "payment-intent-not-found"),
                    Some(model) if model.state == "CREATED" => {
                        assert_eq!(reply.status(), 200, "{reply:?}");
                        *model = Model { amount, version: model.version + 1, ..*model };
                    }
                    Some(_) => reply.expect_problem(409, "wrong-state"),
                }
            }
            Command::Charge { order, behaviour } => {
                self.api.gateway.now(behaviour);
                let reply = self.api.send(charge(&self.id(order)).key(&key)).await;
                let decided = Self::decided(behaviour).filter(|_| self.api.is_locked);
                match self.model.get_mut(&order) {
                    None => reply.expect_problem(404, "payment-intent-not-found"),
                    Some(model) if model.state == "CREATED" => {
                        assert_eq!(reply.status(), if decided.is_some() { 200 } else { 202 }, "{reply:?}");
                        let (state, commits) = decided.map_or(("CHARGE_REQUESTED", 1), |state| (state, 2));
                        *model = Model { state, version: model.version + commits, ..*model };
                    }
                    Some(_) => reply.expect_problem(409, "wrong-state"),
                }
            }
            Command::Settle { order } => {
                self.api.gateway.now(Behaviour::Charge);
                let Some(model) = self.model.get_mut(&order) else { return };
                let id = self.ids[&order].clone();
                self.api.settle_pending(&id).await;
                if model.state == "CHARGE_REQUESTED" {
                    *model = Model { state: "CHARGED", version: model.version + 1, ..*model };
                }
            }
            Command::Repeat => {}
        }
    }

    /// Sends the same request again. It is replayed, except 404, which is not recorded.
    async fn repeat(&self, step: usize, command: Command) {
        let key = format!("step-{step}");
        let request = match command {
            Command::Create { order, amount } => create(&order.to_string(), amount),
            Command::Amount { order, amount } => change(&self.id(order), amount),
            Command::Charge { order, .. } => charge(&self.id(order)),
            Command::Settle { .. } | Command::Repeat => return,
        };
        let reply = self.api.send(request.key(&key)).await;
        assert!(reply.is_replayed() || reply.status() == 404, "{reply:?}");
    }

    async fn compare(&self) {
        for (order, model) in &self.model {
            let found = self.api.find(&self.ids[order]).await;
            let shown = (found.member("state"), found.member("amount"), found.member("version"));
            assert_eq!(shown, (model.state.into(), model.amount.into(), model.version.into()));
        }
    }
}

fn run(commands: &[Command], is_locked: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let world = World::create().await;
        let api = if is_locked { world.locked() } else { world.saga() };
        let mut run = Run { api, model: HashMap::new(), ids: HashMap::new() };
        let mut last = None;
        for (step, command) in commands.iter().copied().enumerate() {
            if let (Command::Repeat, Some((step, command))) = (command, last) {
                run.repeat(step, command).await;
            } else {
                run.step(step, command).await;
                last = Some((step, command));
            }
            run.compare().await;
        }
        assert_eq!(world.held_locks().await, 0);
        let charged = run.model.values().filter(|model| model.state == "CHARGED").map(|model| model.amount);
        // A charge whose response was lost was made, but may not be settled in this run.
        let pending = run.model.values().filter(|model| model.state == "CHARGE_REQUESTED").count();
        assert!(world.gateway.charged().len() <= charged.clone().count() + pending);
        for amount in charged {
            assert!(world.gateway.charged().contains(&amount));
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn random_commands_have_the_same_effect_as_in_the_model(commands in prop::collection::vec(command(), 1..14)) {
        run(&commands, false);
        run(&commands, true);
    }
}
