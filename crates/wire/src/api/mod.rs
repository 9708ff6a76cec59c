//! Provider requests, responses and streams.
