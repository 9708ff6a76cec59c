mod ends;
mod kinds;
mod limits;
mod net;
mod outside;
mod stored;
