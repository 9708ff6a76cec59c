//! Vitality: pulses of an agent and what they say about its health. No model calls.
