//! OpenAI Chat Completions and Responses, as the strict provider speaks them.

#[cfg(test)]
mod chat;
#[cfg(test)]
mod client;
#[cfg(test)]
mod responses;
