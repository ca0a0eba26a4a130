//! What people are asked: lists and answers, the page, the stream of changes, webhooks.

mod inbox;
pub(crate) mod review_page;
pub(crate) mod review_stream;
pub(crate) mod review_webhook;

pub(crate) use inbox::{Expiring, answer, answered, expire, list, listed, names_of, read, streamed};
