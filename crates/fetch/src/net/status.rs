//! The meaning of HTTP statuses for the user.

use super::error::{Error, Kind};
use super::http::{Client, Reply, shown};

/// Returns whether the same request may be answered differently a little later.
pub fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// The error for a status that is no success, with advice where there is any.
pub fn error(client: &Client, address: &str, reply: &Reply) -> Error {
    let code = reply.header("x-error-code").unwrap_or_default();
    let said = reply
        .header("x-error-message")
        .map(|text| format!(" (`{}`)", shown(text)))
        .unwrap_or_default();
    let token = client.has_token_for(&reply.url);
    let status = reply.status;
    let (kind, advice) = match (status, code) {
        (_, "EntryNotFound") => (
            Kind::NotFound,
            "the repository has no such file at this commit",
        ),
        (_, "RevisionNotFound") => (Kind::NotFound, "the repository has no such commit"),
        (_, "GatedRepo") if token => (
            Kind::Denied,
            "the repository is gated: agree to its terms on its page with the account of the token",
        ),
        (_, "GatedRepo") => (
            Kind::Denied,
            "the repository is gated: agree to its terms on its page, then set HF_TOKEN or run `hf auth login`",
        ),
        (401 | 404, "RepoNotFound") if !token => (
            Kind::NotFound,
            "there is no such repository, or it is private and needs HF_TOKEN",
        ),
        (401 | 404, "RepoNotFound") => (
            Kind::NotFound,
            "there is no such repository, or the token may not see it",
        ),
        (401, _) if token => (
            Kind::Denied,
            "the token is not accepted; it may have expired",
        ),
        (401, _) => (
            Kind::Denied,
            "a login is needed; for the Hub set HF_TOKEN or run `hf auth login`",
        ),
        (403, _) => (
            Kind::Denied,
            "access is refused; a proxy or the terms of the site may be the reason",
        ),
        (404 | 410, _) => (Kind::NotFound, "there is nothing at this address any more"),
        (407, _) => (
            Kind::Denied,
            "the proxy wants a login: put it into HTTPS_PROXY as http://user:password@host:port",
        ),
        _ => (Kind::Protocol, "no success"),
    };
    Error::new(
        kind,
        format!("{address}: the server says {status}: {advice}{said}"),
    )
}
