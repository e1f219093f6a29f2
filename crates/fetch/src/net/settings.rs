//! Settings from the environment, by the rules of Python's huggingface_hub.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::endpoint::without_login;
use super::proxy::Proxies;
use super::token::Token;

/// The default of `HF_ENDPOINT`: the address of the Hub.
pub const HUB: &str = "https://huggingface.co";

/// The settings of fetching, from the environment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The Hub's cache: `HF_HUB_CACHE`, else `HF_HOME/hub`, else `~/.cache/huggingface/hub`.
    pub hub_cache: PathBuf,
    /// Address of the Hub without a slash at its end and without a login: `HF_ENDPOINT`.
    pub endpoint: String,
    /// The login in `HF_ENDPOINT`, `user:password`; where there is a token, that is sent instead.
    pub login: Option<Token>,
    /// No socket is opened: `HF_HUB_OFFLINE` (or `TRANSFORMERS_OFFLINE`) is `1`, `ON`, `YES` or `TRUE`.
    pub offline: bool,
    /// Sent to the endpoint's host and nowhere else: `HF_TOKEN`, else the file that `hf auth login` writes.
    pub token: Option<Token>,
    /// The proxies: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    pub(super) proxies: Proxies,
    /// A PEM file of certificates to trust instead of the built-in ones: `SSL_CERT_FILE`, `REQUESTS_CA_BUNDLE` or
    /// `CURL_CA_BUNDLE`.
    pub certificates: Option<PathBuf>,
    /// Longest time to wait for a connection.
    pub connect_timeout: Duration,
    /// Longest silence of a server, at the start or between bytes: `HF_HUB_DOWNLOAD_TIMEOUT` in seconds.
    pub silence: Duration,
    /// Attempts in a row without a new byte, for each address.
    pub attempts: u32,
    /// Pause after the first failed attempt; it doubles from one to the next.
    pub pause: Duration,
    /// Longest pause, also when a server requests a longer one.
    pub longest_pause: Duration,
}

impl Settings {
    /// Reads the settings; `look_up` gives the value of an environment variable.
    ///
    /// A variable that is set to nothing counts as not set. In paths, `~` and `$VARIABLE` are replaced.
    pub fn read(look_up: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| look_up(name).filter(|value| !value.is_empty());
        let home = text("HOME").unwrap_or_default();
        let path =
            |name: &str| text(name).map(|value| PathBuf::from(expand(&value, &home, &look_up)));
        let on = |name: &str| text(name).map(|value| is_true(&value));

        let user_cache =
            || path("XDG_CACHE_HOME").unwrap_or_else(|| Path::new(&home).join(".cache"));
        let hub_home = path("HF_HOME").unwrap_or_else(|| user_cache().join("huggingface"));
        // HUGGINGFACE_HUB_CACHE and HUGGING_FACE_HUB_TOKEN are older names that Python still reads.
        let hub_cache = path("HF_HUB_CACHE")
            .or_else(|| path("HUGGINGFACE_HUB_CACHE"))
            .unwrap_or_else(|| hub_home.join("hub"));
        let token_file = path("HF_TOKEN_PATH").unwrap_or_else(|| hub_home.join("token"));
        let token = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]
            .iter()
            .find_map(|name| Token::new(&text(name)?))
            .or_else(|| Token::new(&std::fs::read_to_string(token_file).ok()?))
            .filter(|_| on("HF_HUB_DISABLE_IMPLICIT_TOKEN") != Some(true));
        let endpoint = text("HF_ENDPOINT").unwrap_or_else(|| HUB.to_string());
        let (endpoint, login) = without_login(&endpoint);
        let seconds = |name: &str| {
            text(name)?
                .parse()
                .ok()
                .filter(|&seconds: &u64| seconds > 0)
        };
        Self {
            hub_cache,
            endpoint: endpoint.trim_end_matches('/').to_string(),
            login,
            offline: on("HF_HUB_OFFLINE").or_else(|| on("TRANSFORMERS_OFFLINE")) == Some(true),
            token,
            proxies: Proxies::read(&look_up),
            certificates: ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"]
                .iter()
                .find_map(|name| path(name)),
            connect_timeout: Duration::from_secs(20),
            silence: Duration::from_secs(seconds("HF_HUB_DOWNLOAD_TIMEOUT").unwrap_or(30)),
            attempts: 5,
            pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(60),
        }
    }

    /// The settings of this process.
    pub fn of_process() -> Self {
        Self::read(|name| std::env::var(name).ok())
    }
}

/// Reads a switch like huggingface_hub.
fn is_true(value: &str) -> bool {
    ["1", "ON", "YES", "TRUE"].contains(&value.to_uppercase().as_str())
}

/// Replaces a leading `~`, and `$NAME` and `${NAME}` if they are set.
fn expand(text: &str, home: &str, look_up: impl Fn(&str) -> Option<String>) -> String {
    let text = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => text.to_string(),
    };
    let mut parts = text.split('$');
    let mut expanded = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let braced = part.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let bare = part.len()
            - part
                .trim_start_matches(|c: char| c == '_' || c.is_ascii_alphanumeric())
                .len();
        let (name, rest) = braced.unwrap_or_else(|| part.split_at(bare));
        match look_up(name).filter(|_| !name.is_empty()) {
            Some(value) => expanded.extend([value.as_str(), rest]),
            None => expanded.extend(["$", part]),
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Settings {
        Settings::read(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn the_cache_is_where_python_has_it() {
        let home = ("HOME", "/home/ada");
        for (variables, expected) in [
            (vec![home], "/home/ada/.cache/huggingface/hub"),
            (vec![home, ("XDG_CACHE_HOME", "/x")], "/x/huggingface/hub"),
            (
                vec![home, ("XDG_CACHE_HOME", "/x"), ("HF_HOME", "/h")],
                "/h/hub",
            ),
            (vec![home, ("HF_HOME", "~/h")], "/home/ada/h/hub"),
            (
                vec![home, ("HF_HOME", "$BIG/h"), ("BIG", "/big")],
                "/big/h/hub",
            ),
            (
                vec![home, ("HF_HOME", "${BIG}er/$NONE"), ("BIG", "/big")],
                "/biger/$NONE/hub",
            ),
            (vec![home, ("HF_HOME", "/h"), ("HF_HUB_CACHE", "/c")], "/c"),
            (
                vec![
                    home,
                    ("HF_HUB_CACHE", ""),
                    ("HUGGINGFACE_HUB_CACHE", "/old"),
                ],
                "/old",
            ),
        ] {
            assert_eq!(
                read(&variables).hub_cache,
                Path::new(expected),
                "{variables:?}"
            );
        }
    }

    #[test]
    fn offline_is_a_switch_in_any_case() {
        for (value, expected) in [
            ("1", true),
            ("on", true),
            ("Yes", true),
            ("TRUE", true),
            ("0", false),
            ("", false),
            ("off", false),
        ] {
            assert_eq!(
                read(&[("HF_HUB_OFFLINE", value)]).offline,
                expected,
                "{value:?}"
            );
        }
        assert!(read(&[("TRANSFORMERS_OFFLINE", "1")]).offline);
        assert!(!read(&[("HF_HUB_OFFLINE", "0"), ("TRANSFORMERS_OFFLINE", "1")]).offline);
    }

    #[test]
    fn the_endpoint_has_no_slash_at_its_end() {
        assert_eq!(read(&[]).endpoint, HUB);
        assert_eq!(
            read(&[("HF_ENDPOINT", "http://mirror:81/hf/")]).endpoint,
            "http://mirror:81/hf"
        );
    }

    #[test]
    fn the_token_is_the_variable_else_the_file() {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::write(home.path().join("token"), " hf_file \r\n").expect("written");
        let at = home.path().to_str().expect("a path");
        let elsewhere = format!("{at}/none");
        let secret = |variables: &[(&str, &str)]| {
            read(variables)
                .token
                .map(|token| token.secret().to_string())
        };
        assert_eq!(secret(&[("HF_HOME", at)]).as_deref(), Some("hf_file"));
        assert_eq!(
            secret(&[("HF_HOME", at), ("HF_TOKEN", "hf_env\n")]).as_deref(),
            Some("hf_env")
        );
        assert_eq!(
            secret(&[("HF_HOME", at), ("HF_TOKEN_PATH", &elsewhere)]),
            None
        );
        assert_eq!(
            secret(&[("HF_HOME", at), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "yes")]),
            None
        );
    }

    #[test]
    fn a_token_and_a_login_are_never_printed() {
        let settings = read(&[
            ("HF_TOKEN", "hf_secret"),
            ("HF_ENDPOINT", "http://bob:secret@mirror"),
        ]);
        assert!(settings.token.is_some() && settings.login.is_some());
        assert!(!format!("{settings:?}").contains("secret"));
    }
}
