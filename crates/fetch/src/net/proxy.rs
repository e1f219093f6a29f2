//! The proxy for an address: that of its scheme, else the one for all. `NO_PROXY` lists hosts that are reached without it.

use ureq::{Proxy, ProxyProtocol, http};
use url::Url;

use super::error::{Error, Kind, Result};

/// The proxies of the environment.
#[derive(Clone, Debug)]
pub struct Proxies {
    https: Route,
    http: Route,
}

/// The route to a server.
#[derive(Clone, Debug)]
enum Route {
    Direct,
    Through(Proxy),
    /// A variable has a value that cannot be used; not an error before an address needs it.
    Refused {
        why: String,
        /// Stands for `NO_PROXY`.
        except: Option<Proxy>,
    },
}

impl Proxies {
    /// Reads the variables, in capital or small letters; `look_up` gives the value of one.
    pub fn read(look_up: impl Fn(&str) -> Option<String>) -> Self {
        let route = |names: &[&'static str]| {
            let set = |name: &&'static str| {
                let value = look_up(name).filter(|value| !value.trim().is_empty())?;
                Some((*name, value))
            };
            let excepted = ["NO_PROXY", "no_proxy"].iter().find_map(set);
            let excepted = excepted.map_or(String::new(), |(_, hosts)| hosts);
            match names.iter().find_map(set) {
                None => Route::Direct,
                Some((name, value)) => Route::read(name, value.trim(), &excepted),
            }
        };
        Self {
            https: route(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            http: route(&["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]),
        }
    }

    /// The proxy for `url`, if it is not reached directly.
    ///
    /// # Errors
    /// When the variable for it has a value that cannot be used.
    pub fn of(&self, url: &Url) -> Result<Option<&Proxy>> {
        let route = match url.scheme() {
            "https" => &self.https,
            _ => &self.http,
        };
        match route {
            Route::Direct => Ok(None),
            Route::Through(proxy) => Ok(Some(proxy)),
            Route::Refused { why, except } => {
                let uri: Option<http::Uri> = url.as_str().parse().ok();
                let excepted = |proxy: &Proxy| uri.is_some_and(|uri| proxy.is_no_proxy(&uri));
                if except.as_ref().is_some_and(excepted) {
                    return Ok(None);
                }
                Err(Error::new(Kind::Network, why.as_str()))
            }
        }
    }
}

impl Route {
    /// The route of variable `name`. Its value is never shown, since it may have a password in it.
    fn read(name: &str, value: &str, excepted: &str) -> Self {
        let refused = |found: &str| {
            let why = format!(
                "{name}: found {found}; expected an HTTP proxy, such as http://user:password@proxy:3128"
            );
            let except = Proxy::builder(ProxyProtocol::Http);
            let except = with_exceptions(except, excepted).build().ok();
            Self::Refused { why, except }
        };
        let Ok(proxy) = Proxy::new(value) else {
            return refused("a value that is no address of a proxy");
        };
        if !matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https) {
            return refused("a SOCKS proxy, which is not supported");
        }
        let mut copy = Proxy::builder(proxy.protocol())
            .host(proxy.host())
            .port(proxy.port());
        if let Some(user) = proxy.username() {
            copy = copy.username(user);
        }
        if let Some(password) = proxy.password() {
            copy = copy.password(password);
        }
        match with_exceptions(copy, excepted).build() {
            Ok(proxy) => Self::Through(proxy),
            Err(_) => refused("a value that is no address of a proxy"),
        }
    }
}

fn with_exceptions(mut builder: ureq::ProxyBuilder, hosts: &str) -> ureq::ProxyBuilder {
    for host in hosts
        .split(',')
        .map(str::trim)
        .filter(|host| !host.is_empty())
    {
        builder = builder.no_proxy(host);
    }
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The proxy for an address as `host:port`, `direct`, or the error.
    fn route(variables: &[(&str, &str)], address: &str) -> String {
        let proxies = Proxies::read(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.to_string())
        });
        match proxies.of(&Url::parse(address).expect("an address")) {
            Ok(None) => "direct".to_string(),
            Ok(Some(proxy)) => format!("{}:{}", proxy.host(), proxy.port()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_proxy_of_the_scheme_goes_before_the_one_for_all() {
        let all = [
            ("ALL_PROXY", "socks5://all:1"),
            ("https_proxy", "http://bob:s3cret@secure:2"),
            ("HTTP_PROXY", "plain:3"),
        ];
        assert_eq!(route(&all, "https://hub/x"), "secure:2");
        assert_eq!(route(&all, "http://hub/x"), "plain:3");
        let one = [("all_proxy", "http://all:1"), ("HTTPS_PROXY", "")];
        assert_eq!(route(&one, "https://hub/x"), "all:1");
        assert_eq!(route(&all[2..], "https://hub/x"), "direct");
        assert_eq!(route(&[], "http://hub/x"), "direct");
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_refused_by_the_name_of_its_variable() {
        for (variable, value, words) in [
            (
                "ALL_PROXY",
                "socks5h://bob:s3cret@all:1",
                "ALL_PROXY: found a SOCKS proxy",
            ),
            (
                "https_proxy",
                "socks4://all",
                "https_proxy: found a SOCKS proxy",
            ),
            (
                "HTTPS_PROXY",
                "http://bob:s 3cret@x",
                "HTTPS_PROXY: found a value that is no address",
            ),
            (
                "HTTPS_PROXY",
                "ftp://x",
                "HTTPS_PROXY: found a value that is no address",
            ),
        ] {
            let said = route(&[(variable, value)], "https://hub/x");
            assert!(said.starts_with(words), "{said}");
            assert!(!said.contains("3cret"), "{said}");
            let with = [(variable, value), ("NO_PROXY", "else, .hub,hub")];
            assert_eq!(route(&with, "https://hub/x"), "direct");
        }
    }

    #[test]
    fn hosts_without_a_proxy_are_known_to_it() {
        let proxies = Proxies::read(|name| match name {
            "HTTP_PROXY" => Some("http://bob:s%403@proxy".to_string()),
            "no_proxy" => Some("localhost, .inside".to_string()),
            _ => None,
        });
        let url = Url::parse("http://hub/x").expect("an address");
        let proxy = proxies.of(&url).expect("usable").expect("a proxy");
        for (host, expected) in [("localhost", true), ("a.inside", true), ("inside", false)] {
            let uri = format!("http://{host}/").parse().expect("an address");
            assert_eq!(proxy.is_no_proxy(&uri), expected, "{host}");
        }
        assert_eq!(proxy.password(), Some("s@3"));
        assert!(!format!("{proxies:?}").contains("s%403"), "{proxies:?}");
    }
}
