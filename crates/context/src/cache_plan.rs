//! Where the provider's cache breakpoints go.
