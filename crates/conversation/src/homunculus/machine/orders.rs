//! The orders that a strategy collects while it is asked.

use context::Tokens;
use history::Route;

use super::{Asked, Machine};
use crate::homunculus::event::{Action, Refusal, Telemetry};
use crate::homunculus::strategy::{Command, Situation};

/// The situation as it is now, and the place to give commands. Each is carried out or refused at once, so
/// that the next one can be decided on what came of it.
#[derive(Debug)]
pub struct Orders<'a> {
    machine: &'a mut Machine,
    asked: &'a Asked<'a>,
    actions: &'a mut Vec<Action>,
    hold: Option<Action>,
    about: About,
}

/// The subject of the question that a strategy is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// The conversation: everything can be ordered.
    Conversation,
    /// A pin: nothing else can.
    Pin,
}

impl<'a> Orders<'a> {
    pub(super) const fn new(
        machine: &'a mut Machine,
        asked: &'a Asked<'a>,
        actions: &'a mut Vec<Action>,
        about: About,
    ) -> Self {
        Self {
            machine,
            asked,
            actions,
            hold: None,
            about,
        }
    }

    /// The situation to decide on, with all orders so far.
    #[must_use]
    pub fn situation(&self) -> Situation<'_> {
        self.machine.situation(self.asked)
    }

    /// Has a command carried out.
    ///
    /// # Errors
    /// Where it would break a rule, or the question was about a pin; then nothing has changed.
    pub fn give(&mut self, command: Command) -> Result<(), Refusal> {
        if self.about == About::Pin {
            return Err(Refusal::CanNotHold);
        }
        let held = self.machine.obey(command, self.asked, self.actions)?;
        self.hold = held.or_else(|| self.hold.take());
        Ok(())
    }

    /// Orders a summary without a model that makes the view fit, with `keep` of the window verbatim behind
    /// it, or as little as there must be. The request waits for it.
    ///
    /// # Errors
    /// Where no cut leaves room for a summary, or it would break another rule.
    pub fn extract(&mut self, keep: f64) -> Result<(), Refusal> {
        let (cut, budget) = {
            let situation = self.situation();
            let path = &situation.path;
            let wanted = path
                .cut_keeping(situation.limits.window.scaled(keep))
                .filter(|&cut| situation.room_at(cut).is_some());
            let cut = wanted
                .or_else(|| path.last_cut())
                .ok_or(Refusal::IllegalCut)?;
            if cut <= situation.shown.from {
                return Err(Refusal::NoProgress);
            }
            let room = situation.room_at(cut);
            (cut, room.ok_or(Refusal::TooLittleGain(Tokens::ZERO))?)
        };
        let route = Route::Extractive;
        match self.give(Command::Prepare { cut, budget, route }) {
            // One that is being made is as good.
            Ok(()) | Err(Refusal::AlreadyPreparing) => self.give(Command::Pause),
            Err(refusal) => Err(refusal),
        }
    }

    /// Says that a pin is not kept.
    pub fn unpin(&mut self, id: &str) {
        self.actions.push(Action::Unpin(id.to_owned()));
    }

    /// Tells the driver something for logs and metrics.
    pub fn tell(&mut self, telemetry: Telemetry) {
        self.actions.push(Action::Telemetry(telemetry));
    }

    /// The hold that was ordered, if one was.
    pub(super) fn hold(self) -> Option<Action> {
        self.hold
    }
}
