//! Calling models: streaming clients for Anthropic and OpenAI-compatible endpoints, and the three ways to
//! make a summary.
