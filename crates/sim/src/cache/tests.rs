//! Cache accounts worked out by hand.

use jiff::{SignedDuration, Timestamp};

use super::{Cache, Life, Moment, Rules, Segment, Share, prefixes};

const RULES: Rules = Rules {
    minimum: 1_024,
    short: SignedDuration::from_mins(5),
    long: SignedDuration::from_mins(60),
};

fn at(seconds: i64) -> Moment {
    let now = Timestamp::from_second(seconds).unwrap();
    Moment { now, begins: now }
}

fn piece(id: u8, tokens: u64, mark: Option<Life>) -> Segment {
    Segment {
        print: [id; 16],
        tokens,
        mark,
        joins: false,
    }
}

#[track_caller]
fn check(cache: &mut Cache, seconds: i64, segments: &[Segment], expected: [u64; 4]) {
    let all = prefixes(b"model", segments);
    let [fresh, read, write, write_long] = expected;
    let expected = Share {
        fresh,
        read,
        write,
        write_long,
    };
    assert_eq!(
        cache.by_breakpoints(&all, RULES, at(seconds)),
        expected,
        "at {seconds}"
    );
}

#[test]
fn writes_then_reads_then_forgets() {
    let mut cache = Cache::default();
    let short = Some(Life::Short);
    let one = [piece(1, 2_000, short), piece(2, 100, None)];
    check(&mut cache, 0, &one, [100, 0, 2_000, 0]);
    check(&mut cache, 299, &one, [100, 2_000, 0, 0]);
    // Use renewed it.
    check(&mut cache, 598, &one, [100, 2_000, 0, 0]);
    check(&mut cache, 898, &one, [100, 0, 2_000, 0]);
    let two = [
        piece(1, 2_000, None),
        piece(2, 100, None),
        piece(3, 50, short),
    ];
    check(&mut cache, 900, &two, [0, 2_000, 150, 0]);
}

#[test]
fn a_short_prefix_is_not_cached() {
    let mut cache = Cache::default();
    let one = [piece(1, 1_023, Some(Life::Short)), piece(2, 5, None)];
    check(&mut cache, 0, &one, [1_028, 0, 0, 0]);
    check(&mut cache, 1, &one, [1_028, 0, 0, 0]);
}

#[test]
fn each_part_is_written_for_the_life_of_the_breakpoint_after_it() {
    let mut cache = Cache::default();
    let one = [
        piece(1, 2_000, Some(Life::Long)),
        piece(2, 300, Some(Life::Short)),
        piece(3, 7, None),
    ];
    check(&mut cache, 0, &one, [7, 0, 300, 2_000]);
    check(&mut cache, 400, &one, [7, 2_000, 300, 0]);
}

#[test]
fn twenty_positions_are_looked_at() {
    for (between, expected) in [(18, 2_000), (19, 0)] {
        let mut cache = Cache::default();
        check(
            &mut cache,
            0,
            &[piece(1, 2_000, Some(Life::Short))],
            [0, 0, 2_000, 0],
        );
        let mut longer = vec![piece(1, 2_000, None)];
        longer.extend((0..between).map(|_| piece(2, 10, None)));
        longer.push(piece(3, 10, Some(Life::Short)));
        let all = prefixes(b"model", &longer);
        let read = cache.by_breakpoints(&all, RULES, at(1)).read;
        assert_eq!(read, expected, "{between} pieces between");
    }
}

#[test]
fn a_run_is_one_position() {
    let mut cache = Cache::default();
    check(
        &mut cache,
        0,
        &[piece(1, 2_000, Some(Life::Short))],
        [0, 0, 2_000, 0],
    );
    let mut longer = vec![piece(1, 2_000, None), piece(2, 10, None)];
    longer.extend((0..50).map(|_| Segment {
        joins: true,
        ..piece(2, 10, None)
    }));
    longer.push(piece(3, 10, Some(Life::Short)));
    check(&mut cache, 1, &longer, [0, 2_000, 520, 0]);
}

#[test]
fn an_entry_is_readable_when_its_answer_has_begun() {
    let mut cache = Cache::default();
    let all = prefixes(b"model", &[piece(1, 2_000, Some(Life::Short))]);
    let slow = Moment {
        begins: at(3).now,
        ..at(0)
    };
    assert_eq!(cache.by_breakpoints(&all, RULES, slow).write, 2_000);
    assert_eq!(cache.by_breakpoints(&all, RULES, at(2)).read, 0);
    assert_eq!(cache.by_breakpoints(&all, RULES, at(3)).read, 2_000);
}

#[test]
fn by_prefix_in_steps_of_128() {
    let mut cache = Cache::default();
    let first = prefixes(b"model", &[piece(1, 1_000, None), piece(2, 300, None)]);
    let share = cache.by_prefix(&first, RULES, Life::Short, at(0));
    assert_eq!((share.fresh, share.read, share.write), (20, 0, 1_280));
    let next = prefixes(
        b"model",
        &[
            piece(1, 1_000, None),
            piece(2, 300, None),
            piece(3, 200, None),
        ],
    );
    let share = cache.by_prefix(&next, RULES, Life::Short, at(1));
    assert_eq!((share.fresh, share.read, share.write), (92, 1_280, 128));
    let other = prefixes(b"model", &[piece(9, 1_300, None)]);
    assert_eq!(cache.by_prefix(&other, RULES, Life::Short, at(2)).read, 0);
}
