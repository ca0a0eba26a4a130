//! Conversation contexts and the protocols that agents and their clients speak about them.
//!
//! In: messages, tasks and what describes a context; requests of Bindu and Aion clients; what Aletheia agents keep. Out:
//! the answers of those protocols, from a [`Database`](crate::Database). The rules (which transition is allowed,
//! what a list or a conversation shows) are functions of data in [`ContextStatus`], [`ListQuery`] and [`conversation`];
//! [`Conversations`] carries them out on what is stored, [`answer`] speaks JSON-RPC over it, and a server has only to move
//! bytes. Rule numbers such as `K3` are those of the contract in `docs/contexts.md`. Nothing here opens a socket but the
//! stores of [`aletheia`].
//!
//! ```
//! use celador_store::conversation::{Conversations, Incoming, ConversationSettings, answer};
//! use celador::Timestamp;
//! use celador_store::{Database, Location, StoreLimits};
//!
//! let database = Database::open(&Location::Memory, &StoreLimits::default())?;
//! let conversations = Conversations::new(database, || uuid::Uuid::new_v4().as_u128());
//! let now: Timestamp = "2026-01-15T12:00:00Z".parse()?;
//! let sent = conversations.send(Some("did:web:kim"), &Incoming::default(), now)?;
//!
//! let request = br#"{"jsonrpc": "2.0", "id": 1, "method": "GetContexts"}"#;
//! let bytes = answer(&conversations, &ConversationSettings::default(), Some("did:web:kim"), request, now);
//! let expected = format!(r#"{{"jsonrpc":"2.0","id":1,"result":["{}"]}}"#, sent.context_id);
//! assert_eq!(String::from_utf8(bytes)?, expected);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod aletheia;
mod bad_params;
mod card;
mod context;
mod extension;
mod history;
mod id;
mod lifecycle;
mod list;
mod members;
mod messages;
mod methods;
mod number;
mod older;
mod refusal;
mod retention;
mod rpc;
mod service;
mod settings;
mod tables;
mod uuid;
mod window;

pub use aletheia::{ContextStore, StoredContext};
pub use card::{AgentCard, Card};
pub use context::{Changes, Context, DEFAULT_ROLE, Details};
pub use extension::{EXTENSION_HEADERS, EXTENSIONS, Extension, activated};
pub use history::{Artifact, Conversation, Message, TaskRecord, conversation};
pub use id::MAX_ID_BYTES;
pub use lifecycle::{A2aTaskState, ContextStatus, owns, sees};
pub use list::{ListQuery, Page, SortBy, SortOrder};
pub use refusal::{ContextRefusal, ConversationError};
pub use rpc::{Reply, TokenScope, answer, error, forbidden, needed_scope, unauthenticated};
pub use service::{Conversations, Incoming, Sent};
pub use settings::{ConversationSettings, HistoryOrder, ListShape};
pub use window::Window;
