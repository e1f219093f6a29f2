//! One request and its answer. The only file that speaks HTTP.

use std::io::Read;
use std::time::Duration;

use ureq::http::HeaderMap;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, http};
use url::Url;

use super::endpoint::with_login;
use super::error::{Error, Kind, Result};
use super::proxy::Proxies;
use super::settings::Settings;
use super::token::Token;

/// The most redirects that are followed: a few more than browsers and curl follow.
const MOST_REDIRECTS: usize = 10;

/// Sends requests, and follows redirects without carrying the token to another host.
pub struct Client {
    agent: Agent,
    hub: Option<Url>,
    token: Option<Token>,
    login: Option<Token>,
    proxies: Proxies,
}

/// A server's answer.
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The address that answered, after all redirects.
    pub url: Url,
    headers: HeaderMap,
    /// The body, as it comes over the wire.
    pub body: Box<dyn Read>,
}

/// The part of a file that is sent: `bytes 2-7/8`, or `bytes */8` when none is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first and the last byte, counted from 0.
    pub part: Option<(u64, u64)>,
    /// Bytes of the whole file.
    pub total: Option<u64>,
}

/// The reason why there is no answer.
#[derive(Debug)]
pub enum Failure {
    /// Trying again may help.
    Passing(String),
    /// Trying again does not help here.
    Lasting(Error),
}

/// The end of following redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// To wherever it leads.
    Anywhere,
    /// Up to the first answer of the Hub that names the commit: its redirects lead to storage.
    ToTheCommit,
}

impl Client {
    /// A client for `settings`.
    pub fn new(settings: &Settings) -> Result<Self> {
        if settings.offline {
            return Err(Error::new(
                Kind::Offline,
                "offline: no connection is opened",
            ));
        }
        let mut tls = TlsConfig::builder();
        if let Some(path) = &settings.certificates {
            let pem = std::fs::read(path).map_err(|error| Error::disk(path, "read", &error))?;
            let found = parse_pem(&pem).filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            });
            tls = tls.root_certs(RootCerts::from(found));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("totune/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .timeout_resolve(Some(settings.connect_timeout))
            .timeout_connect(Some(settings.connect_timeout))
            // The handshake of TLS is part of sending. There is no limit for the whole body: a slow line is no fault.
            .timeout_send_request(Some(settings.connect_timeout + settings.silence))
            .timeout_recv_response(Some(settings.silence))
            .timeout_per_read(Some(settings.silence))
            .tls_config(tls.build())
            // Each request has that of its address.
            .proxy(None)
            .build();
        Ok(Self {
            agent: config.new_agent(),
            hub: Url::parse(&settings.endpoint).ok(),
            token: settings.token.clone(),
            login: settings.login.clone(),
            proxies: settings.proxies.clone(),
        })
    }

    /// Sends a request with `headers`, and follows redirects.
    pub fn send(
        &self,
        method: http::Method,
        address: &str,
        headers: &[(&str, &str)],
        follow: Follow,
    ) -> std::result::Result<Reply, Failure> {
        let lasting = |message: String| Failure::Lasting(Error::new(Kind::Protocol, message));
        let mut url =
            Url::parse(address).map_err(|error| lasting(format!("{address}: {error}")))?;
        let mut seen = vec![url.clone()];
        loop {
            let reply = self.once(&method, &url, headers)?;
            if !matches!(reply.status, 301 | 302 | 303 | 307 | 308) {
                return Ok(reply);
            }
            let Some(to) = reply.header("location") else {
                return Err(lasting(format!(
                    "{address}: a redirect ({}) to nowhere",
                    reply.status
                )));
            };
            let next = url
                .join(to)
                .ok()
                .filter(|next| matches!(next.scheme(), "http" | "https") && next.has_host())
                .ok_or_else(|| {
                    lasting(format!(
                        "{address}: a redirect to `{}`, which is no address",
                        shown(to)
                    ))
                })?;
            let away = next.origin() != url.origin();
            if follow == Follow::ToTheCommit && away && reply.header("x-repo-commit").is_some() {
                return Ok(reply);
            }
            if url.scheme() == "https" && next.scheme() == "http" {
                return Err(lasting(format!(
                    "{address}: a redirect from https to http, to {}",
                    plain(&next)
                )));
            }
            if seen.contains(&next) || seen.len() > MOST_REDIRECTS {
                return Err(lasting(format!(
                    "{address}: redirects without end, {} of them, the last to {}",
                    seen.len(),
                    plain(&next)
                )));
            }
            seen.push(next.clone());
            url = next;
        }
    }

    fn once(
        &self,
        method: &http::Method,
        url: &Url,
        headers: &[(&str, &str)],
    ) -> std::result::Result<Reply, Failure> {
        let mut request = http::Request::builder().method(method).uri(url.as_str());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        match (&self.token, &self.login) {
            (Some(token), _) if self.is_hub(url) => {
                request = request.header("authorization", format!("Bearer {}", token.secret()));
            }
            (None, Some(login)) if self.is_hub(url) => {
                request = request.uri(with_login(url, login).as_str());
            }
            _ => {}
        }
        // The only thing that can be wrong by now is a header's value; none of it is worth showing, it may be the token.
        let request = request.body(()).map_err(|_| {
            Failure::Lasting(Error::new(
                Kind::Protocol,
                format!(
                    "{}: a header, such as the token, has characters that cannot be sent",
                    plain(url)
                ),
            ))
        })?;
        let proxy = self.proxies.of(url).map_err(Failure::Lasting)?;
        let request = self.agent.configure_request(request);
        let reply = self
            .agent
            .run(request.proxy(proxy.cloned()).build())
            .map_err(|error| failure(url, &error))?;
        let (parts, body) = reply.into_parts();
        Ok(Reply {
            status: parts.status.as_u16(),
            url: url.clone(),
            headers: parts.headers,
            body: Box::new(body.into_reader()),
        })
    }

    /// Returns whether `url` is on the same scheme, host and port as the Hub.
    fn is_hub(&self, url: &Url) -> bool {
        self.hub
            .as_ref()
            .is_some_and(|hub| hub.origin() == url.origin())
    }

    /// Returns whether a token would be sent to `url`.
    pub fn has_token_for(&self, url: &Url) -> bool {
        self.token.is_some() && self.is_hub(url)
    }
}

fn failure(url: &Url, error: &ureq::Error) -> Failure {
    let message = match error {
        ureq::Error::Timeout(_) => format!("{}: no answer in time ({error})", plain(url)),
        _ => format!("{}: {error}", plain(url)),
    };
    match error {
        ureq::Error::Http(_)
        | ureq::Error::BadUri(_)
        | ureq::Error::InvalidProxyUrl
        | ureq::Error::LargeResponseHeader(..) => {
            Failure::Lasting(Error::new(Kind::Protocol, message))
        }
        // A certificate does not become valid by asking again.
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) | ureq::Error::Pem(_) => {
            Failure::Lasting(Error::new(
                Kind::Network,
                format!(
                    "{message}; behind a proxy that opens TLS, name its certificates with SSL_CERT_FILE"
                ),
            ))
        }
        ureq::Error::HostNotFound => Failure::Lasting(Error::new(Kind::Network, message)),
        _ => Failure::Passing(message),
    }
}

/// An address without possible secrets: user, password, and the query that signs a link to storage.
pub fn plain(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

/// Text of a server, fit for a line of a message.
pub fn shown(text: &str) -> String {
    let text: String = text.chars().take(200).collect();
    text.escape_debug().to_string()
}

impl Reply {
    /// A header, if it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().map(str::trim)
    }

    /// The length of the body as stated by the server.
    pub fn length(&self) -> Option<u64> {
        self.header("content-length")?.parse().ok()
    }

    /// `Content-Range`, as far as it can be read.
    pub fn range(&self) -> Option<Range> {
        let (part, total) = self
            .header("content-range")?
            .strip_prefix("bytes")?
            .trim()
            .split_once('/')?;
        let total = total.trim().parse().ok();
        if part.trim() == "*" {
            return Some(Range { part: None, total });
        }
        let (first, last) = part.split_once('-')?;
        Some(Range {
            part: Some((first.trim().parse().ok()?, last.trim().parse().ok()?)),
            total,
        })
    }

    /// The wait that the server requests, where it says so in seconds.
    pub fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after")?
            .parse()
            .ok()
            .map(Duration::from_secs)
    }

    /// Returns whether the server calls the body a web page.
    pub fn is_page(&self) -> bool {
        let kind = self
            .header("content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        kind.starts_with("text/html") || kind.starts_with("application/xhtml")
    }
}
