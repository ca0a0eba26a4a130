//! The claims of the user for whom a task begins: out of the user's own token, which is verified like a caller's.
//!
//! In: the user and, if the runtime has one, their token. Out: the user with the claims of that token. What the runtime says of
//! itself never counts, and what it says of its user counts no more than the user's id does: where callers need no token it is
//! taken, elsewhere only if the operator allows it. Nothing here keeps or prints a token.

use crate::messages;
use crate::problem::{Kind, Problem};
use crate::service::Service;
use celador::task::User;
use tracing::info;

impl Service {
    /// The user with what is known of them.
    ///
    /// # Errors
    /// [`Kind::UserToken`] for a token that is not valid or names somebody else, and for claims beside it;
    /// [`Kind::PlainClaims`] for claims that nobody vouches for.
    pub(crate) fn user(&self, user: User, token: Option<&str>) -> Result<User, Problem> {
        let Some(token) = token else {
            let are_believed = !self.authority.is_required() || self.settings.allow_plain_claims;
            return if user.claims.is_none() || are_believed {
                Ok(user)
            } else {
                Err(Kind::PlainClaims.into())
            };
        };
        if user.claims.is_some() {
            return Err(Problem::new(Kind::UserToken, messages::claims_and_token()));
        }
        let claims = self.authority.claims(token, &user.id, self.now()).map_err(|refused| {
            info!(reason = refused.as_str(), "the token of a user was not accepted");
            Problem::from(Kind::UserToken)
        })?;
        Ok(User { claims: Some(claims), ..user })
    }
}
