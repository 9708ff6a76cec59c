//! Which resource class a turn gets from its role, its content and its pin.
