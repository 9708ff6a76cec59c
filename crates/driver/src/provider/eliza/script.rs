//! The rules of ELIZA: keywords, patterns and answers.

/// A keyword with its patterns.
#[derive(Debug)]
pub(super) struct Rule {
    /// The words that call it up.
    pub keys: &'static [&'static str],
    /// The rule with the highest rank wins.
    pub rank: u8,
    /// Patterns, of which the first that fits is used, and their templates. A star stands for any words;
    /// `{0}` is the first star, said back.
    pub patterns: &'static [(&'static str, &'static [&'static str])],
}

/// Words as they are said back.
pub(super) const REFLECTIONS: &[(&str, &str)] = &[
    ("i", "you"),
    ("me", "you"),
    ("my", "your"),
    ("mine", "yours"),
    ("myself", "yourself"),
    ("am", "are"),
    ("i'm", "you are"),
    ("i've", "you have"),
    ("i'll", "you will"),
    ("you", "I"),
    ("your", "my"),
    ("yours", "mine"),
    ("yourself", "myself"),
    ("you're", "I am"),
    ("was", "were"),
];

/// Answers if no rule matches.
pub(super) const FALLBACK: &[&str] = &[
    "Go on, please.",
    "What comes to mind next?",
    "How would you say that to someone who was not there?",
    "Let us stay with that for a moment.",
];

/// Answers that return to an earlier topic.
pub(super) const MEMORY: &[&str] = &[
    "Earlier you spoke of your {0}. Does that have to do with it?",
    "I am still thinking of your {0}.",
    "Shall we go back to your {0}?",
];

/// The keywords.
pub(super) const RULES: &[Rule] = &[
    Rule {
        keys: &["dream", "dreamt", "dreamed", "dreams"],
        rank: 9,
        patterns: &[
            (
                "* dream of *",
                &[
                    "What happens in the dream about {1}?",
                    "When did {1} first turn up in a dream?",
                ],
            ),
            (
                "*",
                &["What do you make of the dream?", "Who else was in it?"],
            ),
        ],
    },
    Rule {
        keys: &[
            "computer",
            "computers",
            "machine",
            "machines",
            "program",
            "programs",
        ],
        rank: 8,
        patterns: &[(
            "*",
            &[
                "Are you speaking of machines in general, or of this one?",
                "What should a machine be able to do for you?",
                "What about machines troubles you?",
            ],
        )],
    },
    Rule {
        keys: &["always", "never", "everybody", "nobody", "everyone"],
        rank: 7,
        patterns: &[(
            "*",
            &[
                "Is there an exception?",
                "Which case do you have in mind?",
                "Without any exception?",
            ],
        )],
    },
    Rule {
        keys: &[
            "mother", "father", "brother", "sister", "son", "daughter", "wife", "husband",
        ],
        rank: 6,
        patterns: &[
            (
                "* my mother *",
                &[
                    "What else does your mother do?",
                    "And your mother, what would she say?",
                ],
            ),
            (
                "* my father *",
                &[
                    "What else does your father do?",
                    "And your father, what would he say?",
                ],
            ),
            (
                "* my brother *",
                &[
                    "What else does your brother do?",
                    "And your brother, what would he say?",
                ],
            ),
            (
                "* my sister *",
                &[
                    "What else does your sister do?",
                    "And your sister, what would she say?",
                ],
            ),
            (
                "*",
                &["Who else belongs to the family?", "How close are you?"],
            ),
        ],
    },
    Rule {
        keys: &["need", "want", "wish"],
        rank: 5,
        patterns: &[
            (
                "* i need *",
                &[
                    "What would change if you had {1}?",
                    "Who else knows that you need {1}?",
                ],
            ),
            (
                "* i want *",
                &["What would you do with {1}?", "Since when do you want {1}?"],
            ),
            (
                "* i wish *",
                &[
                    "What keeps it from being so that {1}?",
                    "And if it came true that {1}?",
                ],
            ),
        ],
    },
    Rule {
        keys: &["am", "i'm", "feel"],
        rank: 4,
        patterns: &[
            (
                "* i am *",
                &[
                    "How long have you been {1}?",
                    "What does it mean to you to be {1}?",
                ],
            ),
            (
                "* i'm *",
                &[
                    "How long have you been {1}?",
                    "What does it mean to you to be {1}?",
                ],
            ),
            (
                "* i feel *",
                &[
                    "When do you feel {1}?",
                    "Where in the day does it begin that you feel {1}?",
                ],
            ),
        ],
    },
    Rule {
        keys: &["because"],
        rank: 3,
        patterns: &[(
            "* because *",
            &[
                "Would it be otherwise if not {1}?",
                "Are there other reasons than that {1}?",
            ],
        )],
    },
    Rule {
        keys: &["remember"],
        rank: 5,
        patterns: &[
            (
                "* i remember *",
                &[
                    "What brings {1} back to you now?",
                    "What else comes with {1}?",
                ],
            ),
            (
                "* do you remember *",
                &[
                    "Did you expect me to forget {1}?",
                    "What about {1} should I know?",
                ],
            ),
        ],
    },
    Rule {
        keys: &["you", "your", "you're"],
        rank: 2,
        patterns: &[
            (
                "* are you *",
                &[
                    "Would it matter to you if I were {1}?",
                    "Do you take me to be {1}?",
                ],
            ),
            (
                "* can you *",
                &[
                    "You would like me to {1}, then?",
                    "What if I could not {1}?",
                ],
            ),
            (
                "*",
                &[
                    "We were speaking of you, not of me.",
                    "Why do you ask that of me?",
                ],
            ),
        ],
    },
    Rule {
        keys: &["i"],
        rank: 1,
        patterns: &[
            (
                "* i have *",
                &[
                    "What does it mean to you that you have {1}?",
                    "How did you come by {1}?",
                ],
            ),
            (
                "* i can't *",
                &[
                    "What would have to be so that you could {1}?",
                    "Have you tried to {1}?",
                ],
            ),
            (
                "* i *",
                &[
                    "You say that you {1}.",
                    "Can you say more about why you {1}?",
                ],
            ),
        ],
    },
    Rule {
        keys: &["my"],
        rank: 1,
        patterns: &[("* my *", &["Your {1}?", "Tell me more about your {1}."])],
    },
    Rule {
        keys: &["what", "why", "how", "when", "where", "who"],
        rank: 1,
        patterns: &[(
            "*",
            &[
                "What would you answer yourself?",
                "What makes you ask?",
                "Whom have you asked before?",
            ],
        )],
    },
    Rule {
        keys: &["yes", "no", "perhaps", "maybe"],
        rank: 0,
        patterns: &[(
            "*",
            &["You do not sound certain.", "And what follows from that?"],
        )],
    },
    Rule {
        keys: &["hello", "hi", "hey"],
        rank: 0,
        patterns: &[("*", &["Hello. What shall we speak about?", "Hello again."])],
    },
];
