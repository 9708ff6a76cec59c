//! Inputs to a conversation, and effects that it asks for.

use context::pin::{Origin, Pin, PinError, PinId};
use context::{Text, Tokens};
use history::{MarkId, Route};
use jiff::Timestamp;
use wire::api::{Failure, Reply};

use crate::adaptive::SoftMoved;
use crate::batch::Batch;
use crate::bill::{Bill, Spent};
use crate::commons::Found;
use crate::flight::Flight;
use crate::homunculus::hosted::StrategyFailure;
use crate::homunculus::{JobId, Preparation, Refusal, Writing};
use crate::incoming::Incoming;
use crate::journal::Served;
use crate::overlay::Overlay;
use crate::proof::Proof;
use crate::regret::Acted;
use crate::rescue::Rescue;
use crate::rewrite::ClientCompaction;
use crate::seal::SealRefusal;
use crate::view::View;
use crate::words::Did;

/// Something that happens to a conversation.
#[derive(Debug)]
pub enum Input<'a, 'r> {
    /// A request that joined it is about to be sent, or was held and asks again.
    Request(&'a Incoming<'r>, &'a mut Flight),
    /// The client compacts with this request, and it is sent on.
    Yield(&'a Incoming<'r>, &'a ClientCompaction, &'a mut Flight),
    /// The client's compaction was answered from the summary that was ready.
    ClientCompacted(&'a ClientCompaction),
    /// A sealed summary of a request that belongs here was not believed.
    SealRefused(SealRefusal),
    /// The bytes of a request could not be made, for this reason; it is sent as it came.
    NotRewritten(String),
    /// The answer is too long to be heard; the rest of it is passed on unwatched.
    Unheard,
    /// The provider refused a request.
    Refused(&'a Flight, u16, Option<&'a Failure>),
    /// A refused request is to be changed so that the provider takes it. Give it again, with the same
    /// rescue, after each [`Effect::Hold`].
    Rescue(&'a Incoming<'r>, &'a mut Flight, &'a mut Rescue),
    /// The provider answered a request. `None`: the answer could not be read.
    Answered(&'a Flight, Option<&'a Reply>, &'a Proof),
    /// An answer was cut off, by the provider or by its client, after so much of it. It is paid for.
    CutOff(&'a Flight, &'a Reply),
    /// The outcome of a request, for its journal.
    Served(Served),
    /// A request has ended: answered, refused, cut, or its client went away.
    Landed(&'a Flight),
    /// A summary has begun to be made.
    Preparing(&'a Preparation),
    /// A summary was made, and whether the store has it.
    Prepared(&'a Preparation, Summary, Stored),
    /// The time that summaries take, as other conversations learned meanwhile.
    Learned(Writing),
    /// A summary was not made.
    Unprepared(&'a Preparation, Unmade),
    /// A person or a program orders something. It is carried out with the next request.
    Order(Order),
    /// A person or a program pins a text.
    Pin(&'a str, Origin),
    /// A pin that was set from outside is removed.
    Unpin(PinId),
    /// A person puts this text in place of the one of this mark, which is ready.
    Reword(MarkId, Text),
    /// The texts that were read from the store.
    Overlay(Overlay),
    /// Texts that a request shows were not stored: they are in memory only.
    Unkept,
    /// The store has lost the content of a turn. The next request has it.
    Damaged,
    /// Something that was to be stored was not: the next request stores everything again.
    NotStored,
    /// There was no request for a while: memory that is not needed may go.
    Rest,
}

/// Something that has to be done. The effects of one input are carried out in order.
#[derive(Debug)]
#[non_exhaustive]
pub enum Effect {
    /// Send the request like this.
    Send(Sending),
    /// Hold the request and ask again once the preparation has ended.
    Hold(Hold),
    /// The conversation went elsewhere meanwhile: send the request as it came.
    Overtaken,
    /// Make this summary.
    Prepare(Preparation, Start),
    /// Stop making this summary.
    Abandon(JobId),
    /// Store this before anything else of this list.
    Store(Batch),
    /// The refused request can be changed: give [`Input::Rescue`].
    Retry(Rescue),
    /// The pin that was set.
    Pinned(Pin),
    /// The text was pinned already, or could not be.
    NotPinned(NotPinned),
    /// True if the text was pinned and no longer is.
    Unpinned(bool),
    /// The order was not taken, for this reason.
    Refuse(Refusal),
    /// Other conversations should know.
    Learn(Lesson),
    /// For logs and metrics.
    Tell(Notice),
}

/// The form in which a request is sent.
#[derive(Debug)]
pub struct Sending {
    /// The view.
    pub view: View,
    /// The size of the view.
    pub tokens: Tokens,
    /// The changes, as words of a closed list.
    pub did: Vec<Did>,
    /// The id of the answer before, where the provider is asked why its cache was missed.
    pub previous: Option<Box<str>>,
}

/// The condition that ends the holding of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Until the preparation has ended, however long it takes.
    Ready,
    /// Until then at the latest.
    Until(Timestamp),
    /// For a summary that is made without a model, which takes milliseconds.
    OnTheSpot,
}

/// The moment at which work on a summary begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At once.
    Now,
    /// With the first byte of the answer: from then on the provider's cache holds the request.
    WithAnswer,
}

/// A summary that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The content: a text, or the provider's own message byte for byte.
    pub text: context::Text,
    /// The size as shown, without the frame of a message.
    pub tokens: Tokens,
    /// The route that produced it.
    pub route: Route,
    /// Identifiers that it does not name and that cannot stand in it.
    pub ledger: Vec<String>,
    /// The losses that the note tells: [`originals::told`](crate::originals::told).
    pub lost: Vec<String>,
    /// Texts that cannot stand in it or in front of it, and are told behind it once it is shown.
    pub beside: context::Text,
    /// The tokens that it used, model by model.
    pub spent: Vec<Spent>,
    /// The routes that failed before, each with the code of its error.
    pub fallen: Vec<(Route, String)>,
    /// The moment at which it was finished.
    pub at: Timestamp,
}

/// The outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The store has it.
    Yes,
    /// The store refused it; it is in memory only.
    No,
}

/// Why a summary was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmade {
    /// Abandoned.
    Abandoned,
    /// Failed; the text says why.
    Failed(String),
}

/// An order from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Begin to prepare a summary.
    Prepare,
    /// Swap the prepared summary in.
    Swap,
    /// Take the newest swap back: show everything again, where it fits.
    Undo,
    /// Show again what was taken back last.
    Redo,
}

/// Why a text was not pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPinned {
    /// Pinned already, as this pin.
    Already(Pin),
    /// The strategy keeps no more.
    Unwanted,
    /// The text cannot be pinned.
    Refused(PinError),
}

/// Something about a model that other conversations should know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lesson {
    /// Its window.
    Window(Found),
    /// The provider accepted an input of this size.
    Accepted(Tokens),
}

/// Something for logs and metrics. No text of the conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// A summary was swapped in.
    Swapped(Route),
    /// The strategy failed; the default took over.
    StrategyFailed(StrategyFailure),
    /// The strategy gave a command; the word says why it was refused.
    Commanded(&'static str, Option<&'static str>),
    /// The summary that the strategy asked for came to nothing.
    CameToNothing(Refusal),
    /// The soft threshold moved.
    SoftMoved(SoftMoved),
    /// The agent acted with something out of its sight.
    Acted(Acted),
    /// The provider's cache was missed, for this reason.
    CacheMissed(String),
    /// The provider changed the input in this way.
    Transformed(String),
    /// An answer was billed.
    Billed(Bill),
    /// A summary cost so many USD.
    Spent(f64),
}
