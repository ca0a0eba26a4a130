//! Sessions between a client and a server that are lists of messages, with the engine in this process.

mod attacks;
mod calls;
mod fixture;
mod later;
mod lists;
mod over_http;
mod properties;
mod rows;
