//! Texts of this package for people.

pub(crate) const fn no_server_address() -> &'static str {
    "an address such as `https://celador.example/` is expected, without a name or password in it"
}

pub(crate) const fn insecure_address() -> &'static str {
    "beyond loopback an address begins with `https://`, because others could read what is sent"
}

pub(crate) const fn no_header_text() -> &'static str {
    "a token or an address has a character that HTTP does not send"
}

pub(crate) const fn no_answer_of_celador() -> &'static str {
    "the answer is no answer of Celador"
}

pub(crate) const fn known_by_the_token() -> &'static str {
    "a server knows who answers by the token: leave `by` out"
}
