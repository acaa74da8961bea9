//! Identifies the test of a result, from a banner or from `--test`. Called by the reader; parses no figures.

use super::units::of_letter;

/// The direction of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// UDP_STREAM: one-way; messages that do not fit are lost.
    UdpStream,
    /// TCP_STREAM: one-way.
    TcpStream,
    /// UDP_RR: request and answer.
    UdpRr,
    /// TCP_RR: request and answer.
    TcpRr,
}

impl Kind {
    /// Returns the kind for a protocol and a direction as netperf prints them.
    pub fn of(protocol: &str, direction: &str) -> Option<Kind> {
        match (protocol.to_ascii_uppercase().as_str(), direction) {
            ("UDP", "Send") => Some(Kind::UdpStream),
            ("TCP", "Send") => Some(Kind::TcpStream),
            ("UDP", "Send|Recv") => Some(Kind::UdpRr),
            ("TCP", "Send|Recv") => Some(Kind::TcpRr),
            _ => None,
        }
    }

    /// Returns the kind with netperf's own name.
    fn named(name: &str) -> Option<Kind> {
        match name {
            "UDP_STREAM" => Some(Kind::UdpStream),
            "TCP_STREAM" => Some(Kind::TcpStream),
            "UDP_RR" => Some(Kind::UdpRr),
            "TCP_RR" => Some(Kind::TcpRr),
            _ => None,
        }
    }
}

/// The facts about a test that are known before its figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Test {
    /// The name in the banner or in `--test`; empty if there is neither.
    pub name: String,
    /// The kind; `None` if it is unknown or not imported.
    pub kind: Option<Kind>,
    /// The direction of an omni test whose banner names no protocol.
    pub direction: Option<String>,
    /// Whether TCP_NODELAY was set (`-D`).
    pub nodelay: bool,
    /// Whether UDP sockets were connected (`-n`).
    pub connected: bool,
    /// Requests in transit beside the first one.
    pub burst: u32,
    /// Whether the other end is on another machine.
    pub remote: bool,
    /// The unit of results without a head, by the letter of `-f` in `--test`.
    pub unit: Option<&'static str>,
}

/// The test names in banners of this version and of older ones.
const BANNERS: [(&str, Kind); 5] = [
    ("UDP STREAM", Kind::UdpStream),
    ("UDP UNIDIRECTIONAL SEND", Kind::UdpStream),
    ("TCP STREAM", Kind::TcpStream),
    ("UDP REQUEST/RESPONSE", Kind::UdpRr),
    ("TCP REQUEST/RESPONSE", Kind::TcpRr),
];

impl Test {
    /// Parses `--test`: a test's name, optionally followed by `/nodelay` or `/connected`, and by the letter of `-f`.
    ///
    /// # Errors
    /// The possible values.
    pub fn told(text: &str) -> Result<Test, String> {
        let (name, options) = text.split_once('/').unwrap_or((text, ""));
        let letter = options.rsplit('/').next().unwrap_or_default();
        let unit = of_letter(letter);
        let option = if unit.is_some() {
            options.strip_suffix(letter).unwrap_or_default().trim_end_matches('/')
        } else {
            options
        };
        let kind = Kind::named(&name.to_ascii_uppercase());
        let fits = match option {
            "" => true,
            "nodelay" => kind == Some(Kind::TcpStream) || kind == Some(Kind::TcpRr),
            "connected" => kind == Some(Kind::UdpRr) || kind == Some(Kind::UdpStream),
            _ => false,
        };
        if kind.is_none() || !fits {
            return Err(format!(
                "--test {text}: UDP_STREAM, UDP_RR, TCP_STREAM or TCP_RR is meant; behind it /connected for UDP sockets by \
                 `-- -n`, /nodelay for TCP by `-- -D`, and /K, or another letter, for `-f K`"
            ));
        }
        let (nodelay, connected) = (option == "nodelay", option == "connected");
        Ok(Test { name: name.to_owned(), kind, nodelay, connected, unit, ..Test::default() })
    }

    /// Parses a banner: `MIGRATED UDP STREAM TEST from ... to localhost () port 0 AF_INET : demo`.
    pub fn of_banner(text: &str) -> Option<Test> {
        let (name, rest) = text.split_once(" TEST ")?;
        if !rest.starts_with("from ") && !rest.starts_with("to ") {
            return None;
        }
        let name = name.trim_start_matches("MIGRATED ").trim();
        let to = rest.strip_prefix("to ").or_else(|| rest.rsplit_once(" to ").map(|(_, to)| to)).unwrap_or("");
        let options: Vec<&str> = rest.split(" : ").skip(1).map(str::trim).collect();
        let burst = options.iter().find_map(|option| option.strip_prefix("first burst ")?.parse().ok());
        Some(Test {
            kind: BANNERS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind),
            direction: name.strip_prefix("OMNI ").map(str::to_owned),
            name: name.to_owned(),
            nodelay: options.contains(&"nodelay"),
            connected: false,
            unit: None,
            burst: burst.unwrap_or(0),
            remote: !is_loopback(to.split_whitespace().next().unwrap_or("")),
        })
    }

    /// Whether there is neither a banner nor `--test`.
    pub fn is_unknown(&self) -> bool {
        self.name.is_empty()
    }

    /// Returns the reason why a result of this test is not imported, unless there is a more specific one.
    pub fn why_not(&self) -> String {
        match () {
            () if self.is_unknown() => {
                "nothing says which test this is of: say it with --test TCP_RR (or another), or print banners (-P 1)".into()
            }
            () if self.direction.is_some() => {
                "an omni test does not say its protocol: say it with --test, or add the selectors PROTOCOL and DIRECTION"
                    .into()
            }
            () => format!("no row is {} TEST; UDP_STREAM, UDP_RR, TCP_STREAM and TCP_RR are imported", self.name),
        }
    }
}

/// Whether the host is this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    host.is_empty() || host.starts_with("localhost") || host.starts_with("127.") || host == "::1"
}
