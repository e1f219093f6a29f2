//! A login in an address, as in `http://user:password@host`: a secret that no message may show.

use url::Url;

use super::token::Token;

/// The address without a login, and the login, `user:password`.
pub fn without_login(address: &str) -> (String, Option<Token>) {
    let start = address.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = address.split_at(start);
    // Where it is no address, such as with a `/` in the password, too much is left out rather than too little.
    let end = match Url::parse(address) {
        Ok(url) if url.has_host() => rest.find(['/', '?', '#']).unwrap_or(rest.len()),
        _ => rest.len(),
    };
    match rest[..end].rfind('@') {
        Some(at) => (
            format!("{scheme}{}", &rest[at + 1..]),
            Token::new(&rest[..at]),
        ),
        None => (address.to_string(), None),
    }
}

/// The address with the login, for a request.
pub fn with_login(url: &Url, login: &Token) -> Url {
    let mut url = url.clone();
    let (user, password) = match login.secret().split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login.secret(), None),
    };
    // Both fail only for an address without a host, to which no request is sent.
    let _ = url.set_username(user);
    let _ = url.set_password(password);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_login_stays_in_the_address() {
        for (address, expected, login) in [
            ("https://hub/x@y", "https://hub/x@y", None),
            (
                "http://bob:s3@hub:81/hf",
                "http://hub:81/hf",
                Some("bob:s3"),
            ),
            ("http://bob@hub", "http://hub", Some("bob")),
            ("http://bob:s@3@hub?a=@", "http://hub?a=@", Some("bob:s@3")),
            ("http://bob:s/3@hub", "http://hub", Some("bob:s/3")),
            ("bob:s3@hub/hf", "hub/hf", Some("bob:s3")),
            ("bob:s/3@hub", "hub", Some("bob:s/3")),
        ] {
            let (found, secret) = without_login(address);
            assert_eq!(found, expected, "{address}");
            assert_eq!(secret.as_ref().map(Token::secret), login, "{address}");
        }
    }

    #[test]
    fn a_request_has_the_login_as_it_was_written() {
        let url = Url::parse("http://hub/x").expect("an address");
        let with = |login: &str| with_login(&url, &Token::new(login).expect("a login"));
        assert_eq!(with("bob:s%403").as_str(), "http://bob:s%403@hub/x");
        assert_eq!(with("bob").as_str(), "http://bob@hub/x");
    }
}
