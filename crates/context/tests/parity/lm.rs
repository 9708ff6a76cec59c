//! LM: the linearity map.

use context::classify::{Classifier, Seed, Standing};
use context::linearity::ResourceClass::{self, Droppable, Preserved, Required};
use context::linearity::{LinearityMap, Refusal};
use context::{Heuristic, Role, TurnDraft, TurnId};

const X: TurnId = TurnId::from_bytes([1; 16]);
const Y: TurnId = TurnId::from_bytes([2; 16]);
const Z: TurnId = TurnId::from_bytes([3; 16]);
const W: TurnId = TurnId::from_bytes([4; 16]);

fn map(classes: &[(TurnId, ResourceClass)]) -> LinearityMap {
    classes
        .iter()
        .fold(LinearityMap::new(), |map, (id, class)| {
            map.tag(*id, *class, "first")
        })
}

fn one(class: ResourceClass) -> LinearityMap {
    map(&[(X, class)])
}

/// Two droppable turns, one required, one preserved.
fn four() -> LinearityMap {
    map(&[
        (X, Droppable),
        (Y, Required),
        (Z, Preserved),
        (W, Droppable),
    ])
}

fn reasons(map: &LinearityMap, id: TurnId) -> Vec<String> {
    let tag = map.get(id).unwrap();
    tag.rationale().map(ToString::to_string).collect()
}

#[test]
fn lm_1_classes_are_ordered() {
    assert!(Droppable < Required && Required < Preserved);
}

#[test]
fn lm_2_classes_are_distinct() {
    let names = ResourceClass::ALL.map(ResourceClass::as_str);
    assert_eq!(names, ["droppable", "required", "preserved"]);
}

#[test]
fn lm_3_a_tag_is_immutable() {
    let map = one(Droppable);
    let before = map.get(X).unwrap().clone();
    let risen = map.promote(X, Required, "why").unwrap();
    assert_eq!(map.get(X), Some(&before));
    assert_ne!(risen.get(X), Some(&before));
}

#[test]
fn lm_4_a_tag_has_its_fields() {
    let map = one(Required);
    let tag = map.get(X).unwrap();
    assert_eq!(
        (tag.class(), tag.first_class(), tag.sequence()),
        (Required, Required, 0)
    );
    assert_eq!(reasons(&map, X), ["first"]);
}

#[test]
fn lm_5_looking_changes_nothing() {
    let map = one(Required);
    let before = map.clone();
    assert!(map.get(X).is_some() && map.class(X).is_some());
    assert_eq!(map, before);
}

#[test]
fn lm_6_any_turn_can_be_tagged() {
    for role in [
        Role::System,
        Role::User,
        Role::Assistant,
        Role::Tool,
        Role::Other,
    ] {
        let turn = TurnDraft::text(role, "x").after(TurnId::ROOT, &Heuristic);
        let map = map(&[(turn.id(), Required)]);
        assert_eq!(map.class(turn.id()), Some(Required));
    }
}

#[test]
fn lm_7_a_tag_is_found_by_its_id() {
    assert_eq!(one(Preserved).class(X), Some(Preserved));
}

#[test]
fn lm_8_ids_are_given_from_outside() {
    let id = TurnId::from_bytes([9; 16]);
    assert_eq!(map(&[(id, Droppable)]).ids(), [id]);
}

#[test]
fn lm_9_an_unknown_id_has_nothing() {
    assert_eq!(one(Droppable).get(Y), None);
    assert_eq!(one(Droppable).class(Y), None);
}

#[test]
fn lm_10_promotion_goes_up() {
    let map = one(Droppable).promote(X, Required, "a").unwrap();
    let map = map.promote(X, Preserved, "b").unwrap();
    assert_eq!(map.class(X), Some(Preserved));
}

#[test]
fn lm_11_promotion_never_goes_down() {
    let map = one(Preserved);
    for asked in [Required, Droppable] {
        let refusal = Refusal::NotHigher {
            id: X,
            has: Preserved,
            asked,
        };
        assert_eq!(map.promote(X, asked, "no"), Err(refusal));
        assert_eq!(
            map.tag(X, asked, "no").class(X),
            Some(Preserved),
            "nor does a second tag"
        );
    }
}

#[test]
fn lm_12_the_same_class_is_no_promotion() {
    assert!(one(Required).promote(X, Required, "no").is_err());
}

#[test]
fn lm_13_an_unknown_turn_is_not_promoted() {
    assert_eq!(
        one(Droppable).promote(Y, Required, "no"),
        Err(Refusal::Unknown { id: Y })
    );
}

#[test]
fn lm_14_a_droppable_turn_can_be_dropped() {
    assert_eq!(one(Droppable).drop_turn(X).unwrap().get(X), None);
}

#[test]
fn lm_15_other_turns_cannot() {
    for has in [Required, Preserved] {
        assert_eq!(
            one(has).drop_turn(X),
            Err(Refusal::NotDroppable { id: X, has })
        );
        assert_eq!(one(has).class(X), Some(has));
    }
}

/// The map without its droppable turns.
fn emptied(map: &LinearityMap) -> LinearityMap {
    let droppable = map.of_class(Droppable).into_iter();
    droppable.fold(map.clone(), |map, id| map.drop_turn(id).unwrap())
}

#[test]
fn lm_16_all_droppable_turns_go() {
    let map = emptied(&four());
    let counts = map.counts();
    assert_eq!(
        (counts.droppable, counts.required, counts.preserved),
        (0, 1, 1)
    );
    assert_eq!(map.stats().drops, 2);
}

#[test]
fn lm_17_queries_by_class_are_in_order() {
    assert_eq!(four().of_class(Droppable), [X, W]);
    assert_eq!(four().of_class(Required), [Y]);
    assert_eq!(four().of_class(Preserved), [Z]);
    assert_eq!(four().ids(), [X, Y, Z, W]);
}

#[test]
fn lm_18_counts() {
    let counts = four().counts();
    assert_eq!(
        (counts.droppable, counts.required, counts.preserved),
        (2, 1, 1)
    );
    assert_eq!(counts.total(), 4);
}

#[test]
fn lm_19_tagging_many_keeps_their_order() {
    assert_eq!(
        map(&[(Z, Droppable), (X, Droppable), (Y, Required)]).ids(),
        [Z, X, Y]
    );
}

#[test]
fn lm_20_the_partition_has_every_turn_once() {
    let expected = [
        (Droppable, vec![X, W]),
        (Required, vec![Y]),
        (Preserved, vec![Z]),
    ];
    assert_eq!(four().partition(), expected);
}

#[test]
fn lm_21_promote_one_and_drop_the_rest() {
    let map = map(&[(X, Droppable), (Y, Droppable)]);
    let map = emptied(&map.promote(X, Required, "why").unwrap());
    let stats = map.stats();
    assert_eq!(
        (stats.counts.total(), stats.promotions, stats.drops),
        (1, 1, 1)
    );
    assert_eq!(stats.droppable_ratio(), 0.0);
}

#[test]
fn lm_22_a_snapshot_keeps_its_own_state() {
    let risen = four().promote(X, Preserved, "why").unwrap();
    let snapshot = risen.clone();
    let later = emptied(&risen.promote(Y, Preserved, "too").unwrap());
    assert_eq!(snapshot, risen);
    assert_eq!(
        (snapshot.stats().promotions, later.stats().promotions),
        (1, 2)
    );
    assert_eq!(snapshot.class(W), Some(Droppable));
}

#[test]
fn lm_23_a_promoted_turn_changes_its_list() {
    let map = four().promote(X, Required, "why").unwrap();
    assert_eq!(map.of_class(Droppable), [W]);
    assert_eq!(map.of_class(Required), [X, Y]);
}

#[test]
fn lm_24_promotion_keeps_the_place_in_the_order() {
    let map = four().promote(W, Preserved, "why").unwrap();
    assert_eq!(map.get(W).unwrap().sequence(), 3);
    assert_eq!(map.get(W).unwrap().first_class(), Droppable);
    assert_eq!(map.of_class(Preserved), [Z, W]);
}

#[test]
fn lm_25_the_rationale_is_a_chain() {
    let map = one(Droppable).promote(X, Required, "second").unwrap();
    let map = map.promote(X, Preserved, "third").unwrap();
    assert_eq!(reasons(&map, X), ["first", "second", "third"]);
}

fn by_role(role: Role) -> ResourceClass {
    Seed.by_role(&TurnDraft::text(role, "x").after(TurnId::ROOT, &Heuristic))
        .class
}

#[test]
fn lm_26_the_user_is_preserved() {
    assert_eq!(by_role(Role::User), Preserved);
}

#[test]
fn lm_27_the_system_is_required() {
    assert_eq!(by_role(Role::System), Required);
}

#[test]
fn lm_28_the_model_is_droppable() {
    assert_eq!(by_role(Role::Assistant), Droppable);
}

#[test]
fn lm_29_tools_and_unknown_roles_are_droppable() {
    assert_eq!(by_role(Role::Tool), Droppable);
    assert_eq!(by_role(Role::Other), Droppable);
}

fn by_content(text: &str) -> ResourceClass {
    let turn = TurnDraft::text(Role::Assistant, text).after(TurnId::ROOT, &Heuristic);
    Seed.by_content(&turn, Standing::default()).class
}

fn classified(role: Role, text: &str) -> ResourceClass {
    let turn = TurnDraft::text(role, text).after(TurnId::ROOT, &Heuristic);
    Seed.classify(&turn, Standing::default()).class
}

#[test]
fn lm_30_demands_and_code_are_markers_of_preserved() {
    for text in [
        "You must do X",
        "REQUIRED: this",
        "Critical: that",
        "```\ncode\n```",
        "\"\"\"docs\"\"\"",
    ] {
        assert_eq!(by_content(text), Preserved, "{text}");
        assert_eq!(
            classified(Role::Assistant, text),
            Required,
            "{text}: the model may not"
        );
    }
    assert_eq!(by_content("the mustard"), Droppable, "whole words only");
}

#[test]
fn lm_31_decisions_are_markers_of_required() {
    for text in [
        "Therefore we should",
        "Decision: yes",
        "The reason is simple",
        "I will implement X",
    ] {
        assert_eq!(by_content(text), Required, "{text}");
    }
    assert_eq!(
        by_content("Hawaii will be sunny"),
        Droppable,
        "whole words only"
    );
}

#[test]
fn lm_32_plain_text_has_no_marker() {
    assert_eq!(by_content("Hello there"), Droppable);
}

#[test]
fn lm_33_the_highest_class_counts() {
    assert_eq!(classified(Role::User, "you must"), Preserved);
    assert_eq!(classified(Role::User, "hello"), Preserved);
    assert_eq!(classified(Role::Assistant, "```\nx\n```"), Required);
    assert_eq!(classified(Role::Assistant, "plain"), Droppable);
}

#[test]
fn lm_34_a_decision_counts_whatever_the_role_weighs() {
    assert_eq!(classified(Role::Assistant, "Therefore we go on"), Required);
    assert_eq!(classified(Role::Tool, "Therefore we go on"), Droppable);
}

#[test]
fn lm_35_an_empty_map_is_safe() {
    let map = LinearityMap::new();
    assert!(map.is_empty() && map.ids().is_empty());
    assert!(map.promote(X, Preserved, "no").is_err());
    assert!(map.drop_turn(X).is_err());
    assert_eq!(emptied(&map), map);
    assert!(map.partition().iter().all(|(_, ids)| ids.is_empty()));
    assert_eq!(map.stats().droppable_ratio(), 0.0);
}

#[test]
fn lm_36_an_empty_map_equals_an_emptied_one_but_for_its_drops() {
    let map = emptied(&one(Droppable));
    assert!(map.is_empty());
    assert_eq!(map.counts(), LinearityMap::new().counts());
    assert_eq!(map.stats().drops, 1);
}

#[test]
fn lm_37_the_text_is_not_stored_twice() {
    // The map holds ids and classes; what is not in it cannot be printed by it.
    let turn = TurnDraft::text(Role::User, "secret").after(TurnId::ROOT, &Heuristic);
    let shown = format!("{:?}", map(&[(turn.id(), Required)]));
    assert!(!shown.contains("secret"));
}

#[test]
fn lm_38_looking_often_changes_nothing() {
    let map = four();
    let before = map.clone();
    for _ in 0..10 {
        assert_eq!(map.class(Y), Some(Required));
    }
    assert_eq!(map, before);
}
