//! The section's numbers.

use super::price::{Cache, Edit, Rates};
use crate::units::Tokens;

fn rates(write: f64, read: f64) -> Rates {
    Rates {
        write,
        read,
        output: 5.0,
    }
}

#[test]
fn an_edit_pays_back_after_the_documented_turns() {
    for (write, read, factor) in [
        (1.25, 0.1, 11.5),
        (1.25, 0.05, 24.0),
        (1.25, 0.025, 49.0),
        (2.0, 0.1, 19.0),
        (2.0, 0.05, 39.0),
        (2.0, 0.025, 79.0),
    ] {
        let turns = edit(0, 3_000, 1_000).pays_after(Cache::Warm, rates(write, read));
        assert!((turns - factor * 3.0).abs() < 1e-9, "{turns}");
    }
}

fn edit(written: u64, kept: u64, freed: u64) -> Edit {
    Edit {
        written: Tokens::new(written),
        kept: Tokens::new(kept),
        freed: Tokens::new(freed),
    }
}

#[test]
fn an_edit_that_frees_nothing_never_pays_and_a_cold_one_pays_at_once() {
    let rates = rates(1.25, 0.1);
    assert!(edit(0, 1, 0).pays_after(Cache::Warm, rates).is_infinite());
    assert!(edit(5, 1, 0).pays_after(Cache::Cold, rates).is_infinite());
    assert_eq!(edit(5, 9, 1).pays_after(Cache::Cold, rates), 0.0);
    // What is written anew is written at the full price of writing.
    assert!((edit(8, 0, 100).pays_after(Cache::Warm, rates) - 1.0).abs() < 1e-9);
    let free_reading = Rates { read: 0.0, ..rates };
    assert!(
        edit(1, 1, 1)
            .pays_after(Cache::Warm, free_reading)
            .is_infinite()
    );
}

mod rules {
    //! Every plan against the providers' rules, checked by code of its own.

    use proptest::prelude::*;

    use super::super::{
        Block, BlockKind, CachePlan, Conflict, Layout, Reason, Section, Ttl, anthropic,
    };
    use crate::units::Tokens;

    fn block(section: Section, kind: BlockKind, tokens: u64) -> Block {
        Block {
            section,
            kind,
            tokens: Tokens::new(tokens),
            client: None,
        }
    }

    fn any_kind() -> impl Strategy<Value = BlockKind> {
        prop::sample::select(vec![
            BlockKind::Content,
            BlockKind::Content,
            BlockKind::ToolUse,
            BlockKind::ToolResult,
            BlockKind::Uncacheable,
        ])
    }

    fn any_blocks() -> impl Strategy<Value = Vec<Block>> {
        let head = (0_u64..3_000, 0_u64..3_000);
        let messages = prop::collection::vec((any_kind(), 0_u64..900), 0..80);
        let client = prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..5);
        (head, messages, client).prop_map(|((tools, system), messages, client)| {
            let mut blocks = vec![
                block(Section::Tools, BlockKind::Content, tools),
                block(Section::System, BlockKind::Content, system),
            ];
            let message = |(kind, tokens)| block(Section::Messages, kind, tokens);
            blocks.extend(messages.into_iter().map(message));
            for (index, long) in client {
                let length = blocks.len();
                let ttl = if long { Ttl::Long } else { Ttl::Short };
                blocks[index.index(length)].client = Some(ttl);
            }
            blocks
        })
    }

    /// The provider's answer to a request with these breakpoints, written from its rules.
    fn refused(blocks: &[Block], automatic: Option<Ttl>, plan: &CachePlan) -> bool {
        let mut marks: Vec<(usize, Ttl)> = plan
            .breakpoints
            .iter()
            .map(|breakpoint| (breakpoint.block, breakpoint.ttl))
            .collect();
        if let Some(ttl) = automatic {
            let cacheable =
                |block: &Block| block.kind != BlockKind::Uncacheable && block.tokens > Tokens::ZERO;
            if let Some(last) = blocks.iter().rposition(cacheable) {
                marks.push((last, ttl));
            }
        }
        marks.sort_by_key(|(block, _)| *block);
        let mut shorter_seen = false;
        let mut order_broken = false;
        for (_, ttl) in &marks {
            order_broken |= shorter_seen && *ttl == Ttl::Long;
            shorter_seen |= *ttl == Ttl::Short;
        }
        let on_thinking = marks
            .iter()
            .any(|(block, _)| blocks[*block].kind == BlockKind::Uncacheable);
        marks.len() > 4 || order_broken || on_thinking
    }

    fn prefix(blocks: &[Block], end: usize) -> u64 {
        blocks[..=end].iter().map(|block| block.tokens.get()).sum()
    }

    proptest! {
        #[test]
        fn anthropics_rules_hold(
            blocks in any_blocks(),
            automatic in prop::option::of(prop::sample::select(vec![Ttl::Short, Ttl::Long])),
            places in (0_usize..90, 0_usize..90, 0_usize..90),
            long in any::<bool>(),
        ) {
            let layout = Layout {
                blocks: &blocks,
                automatic,
                summary_end: Some(places.0).filter(|end| *end < blocks.len()),
                volatile_from: Some(places.1).filter(|from| *from < blocks.len()),
                written: Some(places.2).filter(|block| *block < blocks.len()),
            };
            let rules = anthropic::Rules {
                min_tokens: Tokens::new(1_024),
                ttl: if long { Ttl::Long } else { Ttl::Short },
            };
            let plan = anthropic::plan(&layout, &rules);
            let clients: Vec<(usize, Ttl)> = (0..)
                .zip(&blocks)
                .filter_map(|(index, block)| Some((index, block.client?)))
                .collect();
            let kept: Vec<(usize, Ttl)> = plan
                .breakpoints
                .iter()
                .filter(|breakpoint| breakpoint.reason == Reason::Client)
                .map(|breakpoint| (breakpoint.block, breakpoint.ttl))
                .collect();
            prop_assert_eq!(kept, clients, "the client's own stay");
            prop_assert_eq!(refused(&blocks, automatic, &plan), plan.conflict.is_some());
            if plan.conflict.is_some() {
                prop_assert_eq!(plan.added().count(), 0);
            }
            let tail = layout.volatile_from.unwrap_or(blocks.len());
            for added in plan.added() {
                prop_assert!(prefix(&blocks, added.block) >= 1_024);
                prop_assert!(added.block < tail, "nothing volatile is written");
            }
            prop_assert_eq!(&plan, &anthropic::plan(&layout, &rules));
        }
    }

    const RULES: anthropic::Rules = anthropic::Rules {
        min_tokens: Tokens::new(1_024),
        ttl: Ttl::Short,
    };

    /// Tools, system, and `turns` messages of 200 tokens.
    fn conversation(turns: usize) -> Vec<Block> {
        let mut blocks = vec![
            block(Section::Tools, BlockKind::Content, 2_000),
            block(Section::System, BlockKind::Content, 1_000),
        ];
        blocks.extend(vec![
            block(Section::Messages, BlockKind::Content, 200);
            turns
        ]);
        blocks
    }

    fn check(layout: &Layout<'_>, expected: &[(usize, Reason)]) {
        let plan = anthropic::plan(layout, &RULES);
        let got: Vec<(usize, Reason)> = plan
            .breakpoints
            .iter()
            .map(|breakpoint| (breakpoint.block, breakpoint.reason))
            .collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn the_places_and_their_reasons() {
        let blocks = conversation(30);
        let layout = Layout {
            blocks: &blocks,
            summary_end: Some(3),
            volatile_from: Some(31),
            written: Some(28),
            ..Layout::default()
        };
        check(
            &layout,
            &[
                (1, Reason::Instructions),
                (3, Reason::Summary),
                (30, Reason::BeforeTail),
            ],
        );
        // More than 20 positions on, the old entry would not be found from the new breakpoint.
        let far = Layout {
            written: Some(8),
            ..layout
        };
        check(
            &far,
            &[
                (1, Reason::Instructions),
                (3, Reason::Summary),
                (8, Reason::Written),
                (30, Reason::BeforeTail),
            ],
        );
        let automatic = Layout {
            automatic: Some(Ttl::Short),
            ..far
        };
        check(
            &automatic,
            &[
                (3, Reason::Summary),
                (8, Reason::Written),
                (30, Reason::BeforeTail),
            ],
        );
    }

    #[test]
    fn a_run_of_calls_is_one_position() {
        let mut blocks = conversation(1);
        blocks.extend(vec![block(Section::Messages, BlockKind::ToolUse, 50); 30]);
        blocks.extend(vec![
            block(Section::Messages, BlockKind::ToolResult, 50);
            30
        ]);
        let positions = anthropic::positions(&blocks);
        assert_eq!(positions[..4], [0, 1, 2, 3]);
        assert_eq!((positions[32], positions[33], positions[62]), (3, 4, 4));
        let layout = Layout {
            blocks: &blocks,
            written: Some(2),
            ..Layout::default()
        };
        check(
            &layout,
            &[(1, Reason::Instructions), (62, Reason::BeforeTail)],
        );
    }

    #[test]
    fn a_longer_lifetime_of_the_client_pulls_ours_along() {
        let mut blocks = conversation(10);
        blocks[9].client = Some(Ttl::Long);
        let layout = Layout {
            blocks: &blocks,
            ..Layout::default()
        };
        let plan = anthropic::plan(&layout, &RULES);
        let ttls: Vec<Ttl> = plan
            .breakpoints
            .iter()
            .map(|breakpoint| breakpoint.ttl)
            .collect();
        assert_eq!(ttls, [Ttl::Long, Ttl::Long, Ttl::Short]);
    }

    #[test]
    fn what_the_client_did_wrong_is_said() {
        let mut blocks = conversation(10);
        for block in blocks.iter_mut().take(5) {
            block.client = Some(Ttl::Short);
        }
        let conflict = |blocks: &[Block]| {
            anthropic::plan(
                &Layout {
                    blocks,
                    ..Layout::default()
                },
                &RULES,
            )
            .conflict
        };
        assert_eq!(conflict(&blocks), Some(Conflict::TooMany));
        blocks[4].client = None;
        blocks[3].client = Some(Ttl::Long);
        assert_eq!(conflict(&blocks), Some(Conflict::TtlOrder));
        blocks[3].client = Some(Ttl::Short);
        blocks[3].kind = BlockKind::Uncacheable;
        assert_eq!(conflict(&blocks), Some(Conflict::Uncacheable));
    }
}
