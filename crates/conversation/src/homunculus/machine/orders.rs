//! The orders that a strategy collects while it is asked.

use context::Tokens;
use context::extract::Room;
use context::pin::{Origin, PinError, PinId, Pinned, Pins, Subject, is_foreign};
use history::Route;

use super::{Asked, Machine, State};
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
    /// The pins with those ordered so far, once one was.
    pins: Option<Pins>,
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
            pins: None,
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

    /// Lets compaction go on where it had stopped.
    pub(super) fn go_on(&mut self) {
        if self.machine.stopped.is_some() {
            // What became of it is among the actions.
            let _ = self.give(Command::Resume);
        }
    }

    /// Orders a summary without a model that makes the view fit, with `keep` of the window verbatim behind
    /// it, or as little as there must be. The request waits for it.
    ///
    /// # Errors
    /// Where no cut leaves room for a summary, or it would break another rule.
    pub fn extract(&mut self, keep: f64) -> Result<(), Refusal> {
        let (cut, room) = self.place(keep)?;
        let route = Route::Extractive;
        match self.give(Command::Prepare { cut, room, route }) {
            // One that is being made is as good.
            Ok(()) | Err(Refusal::AlreadyPreparing) => self.give(Command::Pause),
            Err(refusal) => Err(refusal),
        }
    }

    /// The cut and the room for a summary with which the view fits.
    fn place(&self, keep: f64) -> Result<(usize, Room), Refusal> {
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
        Ok((cut, room.ok_or(Refusal::TooLittleGain(Tokens::ZERO))?))
    }

    /// Returns true if a summary is being made without a model.
    pub(super) fn is_making(&self) -> bool {
        matches!(&self.machine.state, State::Preparing(it) if it.route == Route::Extractive)
    }

    /// Pins a text, or what a handle names ([`Subject::named`]). A pin in force, named by its id or its text,
    /// stays.
    ///
    /// # Errors
    /// Where it cannot be pinned; then nothing has changed.
    pub fn pin(&mut self, named: &str) -> Result<(), Refusal> {
        if self.about == About::Pin {
            // It is asked about, and set already.
            return Ok(());
        }
        self.try_to_pin(named).map_err(|error| {
            let refusal = Refusal::from(&error);
            self.tell(Telemetry::NotPinned(error));
            refusal
        })
    }

    fn try_to_pin(&mut self, named: &str) -> Result<(), PinError> {
        let path = self.asked.path;
        let words = path.words().ok_or(PinError::Unknown)?;
        let pins = self.pins.get_or_insert_with(|| words.pins().clone());
        let subject = Subject::named(named);
        if in_force(pins, named).is_some() {
            return Ok(());
        }
        let turns = path.turns();
        // The words of a tool and of the model gain no authority by way of a strategy.
        if matches!(&subject, Subject::Text(text) if is_foreign(text, turns)) {
            return Err(PinError::Foreign);
        }
        let text = subject.text(turns)?;
        let added = pins.add(&text, Origin::Strategy, None, words.counter())?;
        let Pinned::Added(id) = added else {
            return Ok(());
        };
        let pin = pins.get(id).cloned();
        let action = pin.map(|pin| Action::Pin(pin, subject.users_turn(turns)));
        self.actions.extend(action);
        Ok(())
    }

    /// Says that a pin is not kept: one with this id or this text, or of what this handle names.
    pub fn unpin(&mut self, named: &str) {
        let path = self.asked.path;
        let mut id = named.to_owned();
        if let Some(words) = path.words() {
            let pins = self.pins.get_or_insert_with(|| words.pins().clone());
            let by_handle = || {
                let text = Subject::named(named).text(path.turns()).ok()?;
                in_force(pins, &text)
            };
            if let Some(found) = in_force(pins, named).or_else(by_handle) {
                // It is in force, so there is one to remove.
                let _ = pins.remove(found);
                id = found.to_string();
            }
            // The file may have been read again since.
            let subject = Subject::named(named);
            let reads = pins.iter().filter(|pin| pin.origin == Origin::Strategy);
            let reads = reads.filter(|pin| subject.is_read(&pin.text));
            for read in reads.map(|pin| pin.id).collect::<Vec<_>>() {
                let _ = pins.remove(read);
                self.actions.push(Action::Unpin(read.to_string()));
            }
        }
        self.actions.push(Action::Unpin(id));
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

/// The pin in force with this id or this text.
fn in_force(pins: &Pins, named: &str) -> Option<PinId> {
    let by_id = PinId::parse(named).filter(|&id| pins.get(id).is_some());
    by_id.or_else(|| Some(PinId::of(named)).filter(|&id| pins.get(id).is_some()))
}
