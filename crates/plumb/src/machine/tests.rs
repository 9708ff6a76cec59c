mod ends;
mod kinds;
mod laws;
mod limits;
mod net;
mod outside;
mod random;
mod stored;
