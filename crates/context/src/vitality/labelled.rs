//! A labelled set of loops and of healthy repetition, generated from seeds: precision and recall.

use jiff::{SignedDuration, Timestamp};

use super::{LoopKind, Phase, Pulse, VitalityAnalyzer};
use crate::turn::Outcome;

/// A small generator of pseudo-random numbers (xorshift64*), so that the set is the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 16) as usize % end
    }

    fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn words(&mut self, number: usize) -> String {
        let words: Vec<&str> = (0..number).map(|_| self.pick(WORDS)).collect();
        words.join(" ")
    }

    fn path(&mut self) -> String {
        let (folder, name) = (self.pick(WORDS), self.pick(WORDS));
        format!("src/{folder}/{name}_{}.rs", self.below(90))
    }
}

const WORDS: &[&str] = &[
    "parser", "window", "budget", "token", "archive", "server", "client", "index", "query",
    "render", "buffer", "socket", "cursor", "schema", "branch", "merge", "commit", "filter",
    "route", "handler", "metric", "report", "config", "loader", "writer", "reader", "signal",
    "thread", "worker", "queue",
];

/// One step of an agent.
#[derive(Clone)]
struct Step {
    phase: Phase,
    done: String,
    answer: Option<(String, Outcome)>,
    pause: f64,
}

fn acting(done: String, answer: String, outcome: Outcome) -> Step {
    Step {
        phase: Phase::Acting,
        done,
        answer: Some((answer, outcome)),
        pause: 5.0,
    }
}

/// A step of ordinary work: another command, another file, another answer each time.
fn work(random: &mut Random) -> Step {
    let path = random.path();
    let (number, subject) = (random.below(500), random.words(3));
    let done = match random.below(5) {
        0 => format!("read {{\"path\":\"{path}\",\"offset\":{number}}}"),
        1 => format!("bash {{\"command\":\"cargo test {subject}\"}}"),
        2 => format!("grep {{\"pattern\":\"{subject}\",\"path\":\"{path}\"}}"),
        3 => format!("edit {{\"path\":\"{path}\",\"old\":\"{subject}\",\"new\":\"{number}\"}}"),
        _ => format!("bash {{\"command\":\"git log -n {number} {path}\"}}"),
    };
    let outcome = if random.chance(15) {
        Outcome::Failed
    } else {
        Outcome::Succeeded
    };
    let mut step = acting(done, random.words(12), outcome);
    if random.chance(20) {
        step.phase = Phase::Thinking;
        step.done = random.words(14);
        step.answer = None;
    }
    step
}

fn some_work(random: &mut Random, low: usize, high: usize) -> Vec<Step> {
    (0..random.between(low, high))
        .map(|_| work(random))
        .collect()
}

/// The label of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Label {
    Exact,
    Near,
    Cycle(usize),
    Healthy(&'static str),
}

/// A looping case: some work, then the loop. The answers are known in half of the cases.
fn looping(random: &mut Random, label: Label) -> Vec<Step> {
    let mut steps = some_work(random, 0, 12);
    let known = random.chance(50);
    let mut body: Vec<Step> = match label {
        Label::Exact => {
            let step = work(random);
            vec![step; random.between(3, 10)]
        }
        Label::Near => {
            let rounds = random.between(5, 12);
            near(random, rounds)
        }
        Label::Cycle(period) => {
            let mut round: Vec<Step> = Vec::new();
            while round.len() < period {
                let step = work(random);
                if round.iter().all(|other| other.done != step.done) {
                    round.push(step);
                }
            }
            let rounds = random.between(3, 6);
            (0..rounds * period)
                .map(|at| round[at % period].clone())
                .collect()
        }
        Label::Healthy(_) => Vec::new(),
    };
    // Every fourth of the longer ones is interrupted once.
    if body.len() >= 12 && random.chance(25) {
        let at = random.between(1, 3);
        body.insert(at, work(random));
    }
    if !known {
        body.iter_mut().for_each(|step| step.answer = None);
    }
    steps.extend(body);
    steps
}

/// The same failing attempt with a counter, a time, an id or a word that changes.
fn near(random: &mut Random, rounds: usize) -> Vec<Step> {
    let (subject, path) = (random.words(4), random.path());
    let kind = random.below(4);
    (0..rounds)
        .map(|round| {
            let varied = match kind {
                0 => format!("retry attempt {round}: error in {subject}"),
                1 => format!(
                    "bash {{\"command\":\"make {subject} # {:02}:{:02}:09\"}}",
                    round + 3,
                    round * 4
                ),
                2 => format!(
                    "fetch {{\"id\":\"{:012x}\",\"what\":\"{subject} {path}\"}}",
                    random.next() >> 16
                ),
                _ => format!(
                    "Let me try {subject} in {path} once more, {}",
                    random.pick(&["now", "again", "differently", "please"])
                ),
            };
            let answer = format!("error: {subject} failed after {} ms", random.below(900));
            acting(varied, answer, Outcome::Failed)
        })
        .collect()
}

const HEALTHY: [&str; 12] = [
    "waiting",
    "polling",
    "polling with back-off",
    "similar commands",
    "pages",
    "retry, then success",
    "back-off, then success",
    "batch edit",
    "edit and test",
    "reading again",
    "task list",
    "same prose, other calls",
];

fn healthy(random: &mut Random, kind: &'static str) -> Vec<Step> {
    let mut steps = some_work(random, 0, 12);
    steps.extend(repeated_call(random, kind).unwrap_or_else(|| repeated_habit(random, kind)));
    steps.extend(some_work(random, 0, 6));
    steps
}

/// Healthy cases in which one call, or one kind of call, comes again and again.
fn repeated_call(random: &mut Random, kind: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let (subject, path) = (random.words(3), random.path());
    let rounds = random.between(5, 14);
    let poll = format!("bash {{\"command\":\"gh run view {subject}\"}}");
    match kind {
        "waiting" => steps.extend((0..rounds).map(|_| Step {
            phase: Phase::Waiting,
            ..acting(poll.clone(), "still running".into(), Outcome::Succeeded)
        })),
        "polling" => steps.extend((0..rounds).map(|round| {
            acting(
                poll.clone(),
                format!("{subject}: {} % done", round * 7),
                Outcome::Succeeded,
            )
        })),
        "polling with back-off" => steps.extend((0..rounds.min(8)).map(|round| Step {
            pause: 2.0 * 1.8_f64.powi(round as i32),
            ..acting(poll.clone(), "still running".into(), Outcome::Succeeded)
        })),
        "similar commands" => steps.extend((0..rounds).map(|_| {
            let name = random.words(2).replace(' ', "_");
            acting(
                format!("bash {{\"command\":\"cargo test -p {name}\"}}"),
                "test result: ok. 12 passed".into(),
                Outcome::Succeeded,
            )
        })),
        "pages" => steps.extend((0..rounds).map(|round| {
            let done = format!(
                "read {{\"path\":\"{path}\",\"offset\":{},\"limit\":100}}",
                round * 100
            );
            acting(done, random.words(60), Outcome::Succeeded)
        })),
        "retry, then success" => {
            let error = format!("error: {subject} is locked");
            steps.extend(vec![acting(poll.clone(), error, Outcome::Failed); 2]);
            steps.push(acting(poll, random.words(8), Outcome::Succeeded));
        }
        "back-off, then success" => {
            steps.extend((0..5).map(|round| Step {
                pause: 2.0_f64.powi(round),
                ..acting(
                    poll.clone(),
                    "429 too many requests".into(),
                    Outcome::Failed,
                )
            }));
            steps.push(acting(poll, random.words(8), Outcome::Succeeded));
        }
        _ => return None,
    }
    Some(steps)
}

/// Healthy cases in which a habit comes again and again.
fn repeated_habit(random: &mut Random, kind: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let (subject, path) = (random.words(3), random.path());
    let rounds = random.between(5, 14);
    match kind {
        "batch edit" => steps.extend((0..rounds).map(|round| {
            let file = format!("src/{subject}/part_{round}.rs").replace(' ', "_");
            let done = format!(
                "edit {{\"path\":\"{file}\",\"old\":\"{subject} one\",\"new\":\"{subject} two\"}}"
            );
            acting(
                done,
                format!("The file {file} has been updated."),
                Outcome::Succeeded,
            )
        })),
        "reading again" => {
            let files: Vec<Step> = (0..random.between(3, 6))
                .map(|_| {
                    acting(
                        format!("read {}", random.path()),
                        random.words(40),
                        Outcome::Succeeded,
                    )
                })
                .collect();
            steps.extend(files.clone());
            steps.extend(some_work(random, 0, 3));
            steps.extend(files);
        }
        "task list" => {
            for round in 0..rounds {
                let states: Vec<&str> = (0..rounds)
                    .map(|task| if task < round { "completed" } else { "pending" })
                    .collect();
                steps.push(acting(
                    format!("TodoWrite {}", states.join(" ")),
                    "Todos have been modified".into(),
                    Outcome::Succeeded,
                ));
                steps.extend(some_work(random, 0, 2));
            }
        }
        "same prose, other calls" => {
            for _ in 0..rounds {
                steps.push(Step {
                    phase: Phase::Thinking,
                    answer: None,
                    ..acting(
                        "Now let me look at the next file.".into(),
                        String::new(),
                        Outcome::Succeeded,
                    )
                });
                steps.push(acting(
                    format!("read {}", random.path()),
                    random.words(40),
                    Outcome::Succeeded,
                ));
            }
        }
        _ => {
            for _ in 0..rounds {
                let done = format!(
                    "edit {{\"path\":\"{path}\",\"old\":\"{}\",\"new\":\"{}\"}}",
                    random.words(4),
                    random.words(4)
                );
                steps.push(acting(
                    done,
                    format!("The file {path} has been updated."),
                    Outcome::Succeeded,
                ));
                steps.push(acting(
                    "bash {\"command\":\"cargo check\"}".into(),
                    "Finished".into(),
                    Outcome::Succeeded,
                ));
            }
        }
    }
    steps
}

/// The analyzer's verdict on a case: the last kind of loop it sees.
fn verdict(random: &mut Random, steps: &[Step]) -> Option<LoopKind> {
    let mut analyzer = VitalityAnalyzer::default();
    let mut at = Timestamp::UNIX_EPOCH;
    let mut found = None;
    for step in steps {
        let jitter = 1.0 + (random.below(20) as f64 - 10.0) / 100.0;
        at += SignedDuration::from_secs_f64(step.pause * jitter);
        let mut pulse = Pulse::new("a", at, step.phase, &step.done);
        if let Some((text, outcome)) = &step.answer {
            pulse = pulse.with_answer(text, *outcome);
        }
        if let Some(looping) = analyzer.ingest(pulse).looping {
            found = Some(looping.kind);
        }
    }
    found
}

#[test]
fn precision_and_recall_on_the_labelled_set() {
    let mut random = Random(0x00EB_B71D_E5EE_D001);
    let loops = [
        Label::Exact,
        Label::Near,
        Label::Cycle(2),
        Label::Cycle(3),
        Label::Cycle(4),
        Label::Cycle(5),
    ];
    let (mut hits, mut misses, mut alarms, mut quiet, mut periods) = (0, 0, 0, 0, 0);
    for _ in 0..90 {
        for label in loops {
            let steps = looping(&mut random, label);
            match verdict(&mut random, &steps) {
                Some(LoopKind::Cycle { period }) if label == Label::Cycle(period) => {
                    hits += 1;
                    periods += 1;
                }
                Some(_) => hits += 1,
                None => {
                    misses += 1;
                    println!("missed: {label:?}");
                }
            }
        }
        for kind in HEALTHY {
            let label = Label::Healthy(kind);
            let steps = healthy(&mut random, kind);
            if verdict(&mut random, &steps).is_some() {
                alarms += 1;
                println!("false alarm: {label:?}");
            } else {
                quiet += 1;
            }
        }
    }
    let precision = f64::from(hits) / f64::from(hits + alarms);
    let recall = f64::from(hits) / f64::from(hits + misses);
    println!("precision {precision:.4}, recall {recall:.4}; {hits} loops found, {misses} missed,");
    println!(
        "{alarms} false alarms, {quiet} healthy ones left alone; {periods} periods named right"
    );
    assert!(precision > 0.9, "precision {precision}");
    assert!(recall > 0.9, "recall {recall}");
    assert!(f64::from(periods) > 0.9 * 360.0, "{periods} of 360 periods");
}
