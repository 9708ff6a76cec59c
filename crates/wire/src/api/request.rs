//! A request body: its top-level fields and its messages, by byte range.

use std::borrow::Cow;
use std::ops::Range;

use context::{Role, TokenCounter, Turn, TurnId};

use super::error::{ApiError, Position};
use super::json::scan::{Fault, Kind, Scanner, Span, Why};
use super::json::tree::Tree;
use super::json::unescape::unescape;
use super::limits::Limits;
use super::message::{Element, Message};
use super::recall::{Nothing, Recall};
use super::{Dialect, parts};

/// A request body, read in one pass without copies. Turns, hashes and cache
/// breakpoints of a message are computed on demand.
///
/// Of a repeated top-level key, the last one counts, as in most readers.
#[derive(Clone, Debug)]
pub struct Request<'b> {
    pub(super) dialect: Dialect,
    pub(super) body: &'b str,
    pub(super) depth: usize,
    pub(super) fields: Vec<Member>,
    pub(super) list: List,
    pub(super) elements: Vec<Element>,
    /// The number of elements in front that are the operator's instructions.
    pub(super) lead: usize,
    /// The end of each message's elements; they start where those of the message before end.
    pub(super) ends: Vec<usize>,
}

/// A top-level member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub key: Span,
    pub escaped: bool,
    pub value: Span,
}

/// The value under the key of the messages.
#[derive(Clone, Copy, Debug)]
pub(super) enum List {
    /// No list. Legal on Responses, where the provider may hold the conversation.
    Missing,
    /// A string, which Responses takes for one user message.
    Bare(Span),
    /// A list.
    Listed(Span),
}

/// A top-level field of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'b> {
    /// The key.
    pub key: Cow<'b, str>,
    /// The value as raw JSON.
    pub value: &'b str,
    /// The range of the value in the body.
    pub span: Span,
}

/// The operator's instructions outside the messages.
#[derive(Clone, PartialEq, Eq)]
pub struct Instructions<'b> {
    /// The value as raw JSON.
    pub raw: &'b str,
    /// The range in the body.
    pub span: Span,
    /// The readable text; texts of several blocks are joined by line feeds.
    pub text: String,
    /// The number of messages that they are; 0 where they are a field.
    pub messages: usize,
}

impl<'b> Request<'b> {
    /// Reads `body` under the default limits.
    ///
    /// # Errors
    /// See [`Self::parse_with`].
    pub fn parse(dialect: Dialect, body: &'b [u8]) -> Result<Self, ApiError> {
        Self::parse_with(dialect, body, Limits::default())
    }

    /// Reads `body` under `limits`.
    ///
    /// # Errors
    /// Anything but one JSON object in UTF-8 within the limits; a missing list of messages, except
    /// on Responses, where `input` may be absent or a string.
    pub fn parse_with(dialect: Dialect, body: &'b [u8], limits: Limits) -> Result<Self, ApiError> {
        Self::parse_recalling(dialect, body, limits, &mut Nothing)
    }

    /// Reads `body`, except the messages that `recall` recognizes.
    ///
    /// # Errors
    /// See [`Self::parse_with`].
    pub fn parse_recalling(
        dialect: Dialect,
        body: &'b [u8],
        limits: Limits,
        recall: &mut dyn Recall,
    ) -> Result<Self, ApiError> {
        let text = checked_text(body, limits)?;
        let mut request = Self {
            dialect,
            body: text,
            depth: limits.depth_in_force(),
            fields: Vec::new(),
            list: List::Missing,
            elements: Vec::new(),
            lead: 0,
            ends: Vec::new(),
        };
        let mut scanner = Scanner::new(body, request.depth);
        if scanner.peek() != Some(b'{') {
            return Err(no_object(scanner, body));
        }
        request
            .read(&mut scanner, limits.messages, recall)
            .map_err(|fault| fault.in_body(body))?;
        if matches!(request.list, List::Missing) && !request.may_lack_messages() {
            let key = dialect.list_key();
            return Err(ApiError::NoMessages { key });
        }
        request.group();
        Ok(request)
    }

    /// The dialect it was read as.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The unchanged body.
    #[must_use]
    pub const fn body(&self) -> &'b [u8] {
        self.body.as_bytes()
    }

    /// The top-level fields in their order, repeated keys included.
    pub fn fields(&self) -> impl Iterator<Item = Field<'b>> {
        self.fields.iter().map(|member| self.field_of(member))
    }

    /// The top-level field `key`.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<Field<'b>> {
        let members = self.fields.iter().rev();
        members
            .map(|member| self.field_of(member))
            .find(|field| field.key == key)
    }

    /// The text of the top-level field `key`, where it is a string.
    #[must_use]
    pub fn field_text(&self, key: &str) -> Option<Cow<'b, str>> {
        let inner = self.field(key)?.value.strip_prefix('"')?;
        Some(unescape(inner.strip_suffix('"')?))
    }

    /// The value of the top-level field `key`, where it can be read.
    pub(super) fn field_json(&self, key: &str) -> Option<serde_json::Value> {
        serde_json::from_str(self.field(key)?.value).ok()
    }

    /// Returns `true` if the top-level field `key` is there and not `null`.
    #[must_use]
    pub fn sets(&self, key: &str) -> bool {
        self.field(key).is_some_and(|field| field.value != "null")
    }

    /// Returns `true` if the provider holds state of the conversation, so that the request is only
    /// part of it.
    #[must_use]
    pub fn is_held_by_provider(&self) -> bool {
        let keys = self.dialect.facts().keys.provider_state;
        keys.iter().any(|key| self.sets(key))
    }

    /// The model that is asked for.
    #[must_use]
    pub fn model(&self) -> Option<Cow<'b, str>> {
        self.field_text("model")
    }

    /// Returns `true` if the request asks for an event stream.
    #[must_use]
    pub fn streams(&self) -> bool {
        self.field("stream")
            .is_some_and(|field| field.value == "true")
    }

    /// The operator's instructions: `system` (Anthropic), `instructions` (Responses), the system
    /// messages that begin the list (Chat).
    #[must_use]
    pub fn instructions(&self) -> Option<Instructions<'b>> {
        let span = self.instructions_span()?;
        let raw = span.of(self.body);
        let text = |span: Span, key: Option<&str>| {
            let tree = Tree::parse(span.of(self.body), self.depth).ok()?;
            let value = key.map_or(Some(tree.root()), |key| tree.root().get(key));
            Some(parts::flatten(value, parts::opaque).0.to_string())
        };
        let lead = self.elements.iter().take(self.lead);
        let lead: Option<Vec<String>> = lead.map(|it| text(it.span, Some("content"))).collect();
        let text = match lead? {
            none if none.is_empty() => text(span, None)?,
            texts => texts.join("\n"),
        };
        Some(Instructions {
            raw,
            span,
            text,
            messages: self.lead,
        })
    }

    /// The range of [`Self::instructions`].
    fn instructions_span(&self) -> Option<Span> {
        let Some(key) = self.dialect.facts().keys.instructions else {
            let last = self.lead.checked_sub(1)?;
            let (first, last) = (self.elements.first()?, self.elements.get(last)?);
            let (start, end) = (first.span.start, last.span.end);
            return Some(Span { start, end });
        };
        let field = self.field(key).filter(|field| field.value != "null")?;
        Some(field.span)
    }

    /// The operator's instructions as raw JSON.
    #[must_use]
    pub fn instructions_raw(&self) -> Option<&'b str> {
        Some(self.instructions_span()?.of(self.body))
    }

    /// The tool definitions as raw JSON. Providers count roughly this text.
    #[must_use]
    pub fn tools(&self) -> Option<Field<'b>> {
        self.field("tools")
    }

    /// Returns `true` if at least one tool is defined.
    pub(super) fn has_tools(&self) -> bool {
        self.tools()
            .is_some_and(|tools| !matches!(tools.value, "[]" | "null"))
    }

    /// The range of the message list (for a bare `input` string, of the string).
    #[must_use]
    pub const fn list_span(&self) -> Option<Span> {
        match self.list {
            List::Missing => None,
            List::Bare(span) | List::Listed(span) => Some(span),
        }
    }

    /// The number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns `true` if there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The message `index`.
    ///
    /// On Anthropic and Chat it is one element of the list. On Responses, consecutive items that the
    /// model made (reasoning, text, calls) are one message, as they are one response. The system messages
    /// that begin a list on Chat are no messages but the [instructions](Self::instructions).
    #[must_use]
    pub fn message(&self, index: usize) -> Option<Message<'_>> {
        self.ends.get(index)?;
        Message::new(self, index, self.elements.get(self.elements_of(index))?)
    }

    /// The messages in order.
    pub fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        (0..self.len()).filter_map(|index| self.message(index))
    }

    /// The elements of the list that make up the message `index`; empty where there is none.
    #[must_use]
    pub fn elements_of(&self, index: usize) -> Range<usize> {
        let ends = |index| self.ends.get(index).copied();
        let start = index.checked_sub(1).map_or(Some(self.lead), ends);
        start
            .zip(ends(index))
            .map_or(0..0, |(start, end)| start..end)
    }

    /// All messages as turns, the first one placed at the root.
    #[must_use]
    pub fn turns(&self, counter: &dyn TokenCounter) -> Vec<Turn> {
        let mut parent = TurnId::ROOT;
        let mut turns = Vec::with_capacity(self.len());
        for message in self.messages() {
            let turn = message.draft().after(parent, counter);
            parent = turn.id();
            turns.push(turn);
        }
        turns
    }

    fn field_of(&self, member: &Member) -> Field<'b> {
        Field {
            key: key_text(self.body, member),
            value: member.value.of(self.body),
            span: member.value,
        }
    }

    fn may_lack_messages(&self) -> bool {
        let facts = self.dialect.facts();
        facts.layout.loose_list && self.field(facts.keys.list).is_none()
    }

    fn read(
        &mut self,
        scanner: &mut Scanner<'b>,
        most: usize,
        recall: &mut dyn Recall,
    ) -> Result<(), Fault> {
        let list_key = self.dialect.list_key();
        scanner.members(|scanner, kind, key| {
            let escaped = kind == Kind::Escaped;
            let mut member = Member {
                key,
                escaped,
                value: key,
            };
            member.value = if key_text(self.body, &member) == list_key {
                self.read_list(scanner, most, recall)?
            } else {
                scanner.skip()?
            };
            self.fields.push(member);
            Ok(())
        })?;
        scanner.finish()
    }

    fn read_list(
        &mut self,
        scanner: &mut Scanner<'b>,
        most: usize,
        recall: &mut dyn Recall,
    ) -> Result<Span, Fault> {
        self.elements.clear();
        match scanner.peek() {
            Some(b'[') => {
                let dialect = self.dialect;
                let (body, elements) = (self.body, &mut self.elements);
                let span = scanner.elements(|scanner| {
                    if elements.len() == most {
                        return Err(Fault {
                            at: scanner.at(),
                            why: Why::TooMany(most),
                        });
                    }
                    let index = elements.len();
                    scanner.peek();
                    if let Some((bytes, role)) = recall.known(index, scanner.rest()) {
                        let span = scanner.pass(bytes);
                        elements.push(Element { span, role });
                        return Ok(());
                    }
                    let read = read_element(dialect, body, scanner)?;
                    recall.was_read(index, read.span.of(body), read.role);
                    elements.push(read);
                    Ok(())
                })?;
                self.list = List::Listed(span);
                Ok(span)
            }
            Some(b'"') if self.dialect.facts().layout.loose_list => {
                let span = scanner.skip()?;
                let role = Role::User;
                recall.was_read(0, span.of(self.body), role);
                self.elements.push(Element { span, role });
                self.list = List::Bare(span);
                Ok(span)
            }
            _ => {
                self.list = List::Missing;
                scanner.skip()
            }
        }
    }

    /// Groups elements into messages, those in front apart that are instructions.
    fn group(&mut self) {
        let facts = self.dialect.facts();
        let joins = facts.layout.joins_assistant;
        let is_system = |element: &&Element| element.role == Role::System;
        if facts.keys.instructions.is_none() {
            self.lead = self.elements.iter().take_while(is_system).count();
        }
        let mut previous = None;
        for (index, element) in self.elements.iter().enumerate().skip(self.lead) {
            let same = joins && element.role == Role::Assistant;
            match self.ends.last_mut() {
                Some(end) if same && previous == Some(Role::Assistant) => *end = index + 1,
                _ => self.ends.push(index + 1),
            }
            previous = Some(element.role);
        }
    }
}

/// `body` as text, if it is short enough and UTF-8.
pub(super) fn checked_text(body: &[u8], limits: Limits) -> Result<&str, ApiError> {
    let limit = limits.bytes_in_force();
    if body.len() > limit {
        let bytes = body.len();
        return Err(ApiError::TooLarge { bytes, limit });
    }
    // The fast check does not say where it fails; the slow one does.
    simdutf8::basic::from_utf8(body).map_err(|_| {
        let valid = std::str::from_utf8(body).map_or_else(|error| error.valid_up_to(), str::len);
        ApiError::Encoding {
            at: Position::in_body(body, valid),
        }
    })
}

/// The error for a body that is not an object.
pub(super) fn no_object(mut scanner: Scanner<'_>, body: &[u8]) -> ApiError {
    match scanner.skip().and_then(|_| scanner.finish()) {
        Ok(()) => ApiError::NotAnObject,
        Err(fault) => fault.in_body(body),
    }
}

fn key_text<'b>(body: &'b str, member: &Member) -> Cow<'b, str> {
    let quoted = member.key.of(body);
    let inner = quoted
        .get(1..quoted.len().saturating_sub(1))
        .unwrap_or_default();
    if member.escaped {
        unescape(inner)
    } else {
        Cow::Borrowed(inner)
    }
}

/// Reads one element of the list: its extent, and its role as far as `role` and `type` tell it.
fn read_element(dialect: Dialect, body: &str, scanner: &mut Scanner<'_>) -> Result<Element, Fault> {
    if scanner.peek() != Some(b'{') {
        let span = scanner.skip()?;
        let role = Role::Other;
        return Ok(Element { span, role });
    }
    let mut role = None;
    let mut kind = None;
    let span = scanner.members(|scanner, key_kind, key| {
        let member = Member {
            key,
            escaped: key_kind == Kind::Escaped,
            value: scanner.skip()?,
        };
        match &*key_text(body, &member) {
            "role" => role = string(member.value.of(body)),
            "type" => kind = string(member.value.of(body)),
            _ => {}
        }
        Ok(())
    })?;
    let role = (dialect.table().messages.role)(kind.as_deref(), role.as_deref());
    Ok(Element { span, role })
}

fn string(raw: &str) -> Option<Cow<'_, str>> {
    raw.strip_prefix('"')?.strip_suffix('"').map(unescape)
}
