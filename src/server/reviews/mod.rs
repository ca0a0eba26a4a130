//! What people are asked: lists and answers, the page, the stream of changes, webhooks.

mod inbox;
pub(crate) mod review_page;
pub(crate) mod review_stream;
pub(crate) mod review_webhook;

#[cfg(feature = "schema")]
pub(crate) use inbox::{AnswerReview, ReviewPage, ReviewedReview, ReviewsQuery};
pub(crate) use inbox::{Expiring, answer, expire, list, names_of, read, streamed};
