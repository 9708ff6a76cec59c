//! The linearity map against a reference model, under random operations.

use std::collections::BTreeMap;

use context::TurnId;
use context::linearity::{LinearityMap, Refusal, ResourceClass};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Tag(u8, ResourceClass),
    Promote(u8, ResourceClass),
    Drop(u8),
    DropAll,
}

/// The expected map: class, first class and number of reasons per turn, in tagging order.
#[derive(Default)]
struct Model {
    turns: BTreeMap<u8, (usize, ResourceClass, ResourceClass, usize)>,
    next: usize,
    promotions: usize,
    drops: usize,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let class = || prop::sample::select(ResourceClass::ALL.to_vec());
    let operation = prop_oneof![
        4 => (0..12_u8, class()).prop_map(|(id, class)| Operation::Tag(id, class)),
        4 => (0..14_u8, class()).prop_map(|(id, class)| Operation::Promote(id, class)),
        3 => (0..14_u8).prop_map(Operation::Drop),
        1 => Just(Operation::DropAll),
    ];
    vec(operation, 0..60)
}

fn id(number: u8) -> TurnId {
    TurnId::from_bytes([number; 16])
}

impl Model {
    fn raise(&mut self, number: u8, class: ResourceClass) -> bool {
        match self.turns.get_mut(&number) {
            Some(entry) if class > entry.1 => {
                entry.1 = class;
                entry.3 += 1;
                self.promotions += 1;
                true
            }
            _ => false,
        }
    }

    /// Does the operation and says whether the map must accept it.
    fn apply(&mut self, operation: Operation) -> bool {
        match operation {
            Operation::Tag(number, class) => {
                if self.turns.contains_key(&number) {
                    self.raise(number, class);
                } else {
                    self.turns.insert(number, (self.next, class, class, 1));
                    self.next += 1;
                }
                true
            }
            Operation::Promote(number, class) => self.raise(number, class),
            Operation::Drop(number) => {
                let droppable = self
                    .turns
                    .get(&number)
                    .is_some_and(|entry| entry.1 == ResourceClass::Droppable);
                if droppable {
                    self.turns.remove(&number);
                    self.drops += 1;
                }
                droppable
            }
            Operation::DropAll => {
                let before = self.turns.len();
                self.turns
                    .retain(|_, entry| entry.1 != ResourceClass::Droppable);
                self.drops += before - self.turns.len();
                true
            }
        }
    }

    fn in_order(&self, wanted: impl Fn(ResourceClass) -> bool) -> Vec<TurnId> {
        let mut found: Vec<(usize, u8)> = self
            .turns
            .iter()
            .filter(|(_, entry)| wanted(entry.1))
            .map(|(number, entry)| (entry.0, *number))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, number)| id(number)).collect()
    }
}

fn apply(map: &LinearityMap, operation: Operation) -> Result<LinearityMap, Refusal> {
    match operation {
        Operation::Tag(number, class) => Ok(map.tag(id(number), class, "tagged")),
        Operation::Promote(number, class) => map.promote(id(number), class, "promoted"),
        Operation::Drop(number) => map.drop_turn(id(number)),
        Operation::DropAll => map
            .of_class(ResourceClass::Droppable)
            .into_iter()
            .try_fold(map.clone(), |map, id| map.drop_turn(id)),
    }
}

/// The map and the model agree about everything that can be asked.
fn agree(map: &LinearityMap, model: &Model) {
    assert_eq!(map.ids(), model.in_order(|_| true));
    assert_eq!(map.len(), model.turns.len());
    assert_eq!(map.counts().total(), model.turns.len());
    assert_eq!(map.stats().promotions, model.promotions);
    assert_eq!(map.stats().drops, model.drops);
    for (class, ids) in map.partition() {
        assert_eq!(ids, model.in_order(|other| other == class));
        assert_eq!(map.counts().of(class), ids.len());
    }
    for (number, (_, class, first, reasons)) in &model.turns {
        let tag = map.get(id(*number)).unwrap();
        assert_eq!((tag.class(), tag.first_class()), (*class, *first));
        assert_eq!(tag.rationale().count(), *reasons);
    }
}

proptest! {
    #[test]
    fn the_map_does_what_the_model_does(operations in operations()) {
        let (mut map, mut model) = (LinearityMap::new(), Model::default());
        for operation in operations {
            let before = map.clone();
            let accepted = model.apply(operation);
            let after = apply(&map, operation);
            prop_assert_eq!(after.is_ok(), accepted, "{:?}", operation);
            for number in before.ids() {
                let now = after.as_ref().ok().and_then(|after| after.class(number));
                let was = before.class(number);
                prop_assert!(now.is_none() || now >= was, "a class fell");
                let kept = now.is_some() || after.is_err() || was == Some(ResourceClass::Droppable);
                prop_assert!(kept, "only droppable turns go");
            }
            map = after.unwrap_or(map);
            agree(&map, &model);
        }
    }
}
