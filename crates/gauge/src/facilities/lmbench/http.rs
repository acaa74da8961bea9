//! `http`: fetches a list of pages from an HTTP server on the same machine, each with a request and a connection of its
//! own.
//!
//! The pages have the sizes of those that LMbench ships for `lat_http`, and the figure counts the bytes of headers and
//! pages, as LMbench does. The server is one process that serves one connection at a time and closes it first, as
//! `lmhttp` does. It reads every page by `read(2)`, where `lmhttp` maps the two large ones, and its header is constant.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use headwater_os::child::Child;
use rustix::fs::{Mode, OFlags, fstat, open, openat};
use rustix::io::read;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{
    AddressFamily, Ipv4Addr, RecvFlags, SendFlags, SocketAddrAny, SocketAddrV4, SocketFlags, SocketType, accept_with,
    bind, connect, getsockname, listen, recv, send, socket_with,
};

use crate::facilities::operation::{Figure, Operation, fork_peer};
use crate::harness::conduct::Job;
use crate::transports::Unavailable;

/// Sizes of the pages in bytes, in the order of the list.
pub const PAGES: [usize; 14] = [16292, 3830, 752, 1322, 773, 596, 125, 125, 116, 270, 640, 4002, 10757, 248];

/// The header that precedes each page.
const HEADER: &str = "HTTP/1.0 200 OK\r\nServer: headwater/1 (lmbench-equivalent http)\r\nContent-Type: text/plain\r\n\
                      Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n";
// The length of `lmhttp`'s header, because the bytes are counted.
const _: () = assert!(HEADER.len() == 138);

/// Bytes per read: more than a header and a page.
const BUFFER: usize = 64 << 10;

/// The backlog of the server's socket. The client makes one connection at a time.
const BACKLOG: i32 = 100;

/// The client, and the process of the server.
#[derive(Debug)]
pub struct Http {
    _server: Child,
    address: SocketAddrAny,
    requests: Vec<String>,
    buffer: Vec<u8>,
    _pages: Pages,
}

impl Operation for Http {
    const ROWS: &'static [(&'static str, &'static str)] =
        &[("http", "14 pages of 40 KB together from an HTTP/1.0 server of this machine, a connection for each")];
    const FIGURE: Figure = Figure::Bandwidth;

    fn quantity(_: &Job) -> f64 {
        PAGES.iter().map(|page| page + HEADER.len()).sum::<usize>() as f64
    }

    fn prepare(job: &Job) -> Result<Http, Unavailable> {
        let pages = Pages::make(job)?;
        let listener = socket().map_err(|error| Unavailable::call("socket", error))?;
        bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| Unavailable::call("bind to 127.0.0.1", error))?;
        listen(&listener, BACKLOG).map_err(|error| Unavailable::call("listen", error))?;
        let address = getsockname(&listener).map_err(|error| Unavailable::call("getsockname", error))?;
        let server = fork_peer(job, || serve(&listener, &pages.open()?))?;
        let requests = (0..PAGES.len()).map(|page| format!("GET /{} HTTP/1.0\r\n\r\n", name(page))).collect();
        Ok(Http { _server: server, address, requests, buffer: vec![0; BUFFER], _pages: pages })
    }

    fn check(&mut self) -> io::Result<()> {
        for (page, &bytes) in PAGES.iter().enumerate() {
            self.fetch(page)?;
            let (header, body) = self.buffer.split_at(HEADER.len());
            if header != HEADER.as_bytes() || body[..bytes] != contents(page) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("the answer for page {page} is not that page"),
                ));
            }
        }
        Ok(())
    }

    fn run(&mut self, operations: u64) -> io::Result<()> {
        for _ in 0..operations {
            for page in 0..PAGES.len() {
                self.fetch(page)?;
            }
        }
        Ok(())
    }
}

impl Http {
    /// Fetches a page with its header into the buffer.
    fn fetch(&mut self, page: usize) -> io::Result<()> {
        let connection = socket()?;
        connect(&connection, &self.address)?;
        let request = self.requests[page].as_bytes();
        if send(&connection, request, SendFlags::NOSIGNAL)? != request.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let mut filled = 0;
        loop {
            match recv(&connection, &mut self.buffer[filled..], RecvFlags::empty())?.0 {
                0 => break,
                more => filled += more,
            }
        }
        match filled {
            whole if whole == HEADER.len() + PAGES[page] => Ok(()),
            other => Err(io::Error::new(io::ErrorKind::InvalidData, format!("page {page} arrived with {other} B"))),
        }
    }
}

#[inline]
fn socket() -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::empty(), None)?;
    set_socket_reuseaddr(&socket, true)?;
    Ok(socket)
}

/// Serves one connection at a time, until the process is killed. The answer to an invalid request is an empty
/// connection.
fn serve(listener: &OwnedFd, directory: &OwnedFd) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let connection = accept_with(listener, SocketFlags::empty())?;
        set_socket_reuseaddr(&connection, true)?;
        let (length, _) = recv(&connection, &mut buffer[..], RecvFlags::empty())?;
        if let Some(name) = page_of(&buffer[..length]) {
            let page = openat(directory, name, OFlags::RDONLY, Mode::empty())?;
            fstat(&page)?;
            send_whole(&connection, HEADER.as_bytes())?;
            loop {
                match read(&page, &mut buffer[..])? {
                    0 => break,
                    length => send_whole(&connection, &buffer[..length])?,
                }
            }
        }
    }
}

fn send_whole(connection: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        bytes = &bytes[send(connection, bytes, SendFlags::NOSIGNAL)?..];
    }
    Ok(())
}

/// Returns the page name of a request, or `None` if it does not request a page.
fn page_of(request: &[u8]) -> Option<&str> {
    let name = str::from_utf8(request).ok()?.strip_prefix("GET /")?.strip_suffix(" HTTP/1.0\r\n\r\n")?;
    let number: usize = name.strip_prefix("page-").filter(|digits| digits.len() == 2)?.parse().ok()?;
    (number < PAGES.len()).then_some(name)
}

/// Returns the name of a page.
fn name(page: usize) -> String {
    format!("page-{page:02}")
}

/// Returns the bytes of a page.
fn contents(page: usize) -> Vec<u8> {
    (0..PAGES[page]).map(|place| (page + place + place / 256) as u8).collect()
}

/// The pages, in a directory within the launch's directory. It is removed on drop.
#[derive(Debug)]
struct Pages(PathBuf);

impl Pages {
    fn make(job: &Job) -> Result<Pages, Unavailable> {
        let path = job.directory.join(format!("{}-pages", job.token));
        let call = |what: &str, error: io::Error| Unavailable::call(&format!("{what} in {}", path.display()), error);
        fs::create_dir(&path).map_err(|error| call("mkdir", error))?;
        // Built before the writes, so that the directory is removed if they fail.
        let pages = Pages(path.clone());
        for page in 0..PAGES.len() {
            fs::write(path.join(name(page)), contents(page)).map_err(|error| call("write", error))?;
        }
        Ok(pages)
    }

    /// Opens the directory of the pages.
    fn open(&self) -> io::Result<OwnedFd> {
        Ok(open(&self.0, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_for_a_page_names_one() {
        assert_eq!(page_of(b"GET /page-07 HTTP/1.0\r\n\r\n"), Some("page-07"));
        for request in [
            "",
            "GET /page-14 HTTP/1.0\r\n\r\n",
            "GET /../page-07 HTTP/1.0\r\n\r\n",
            "GET /page-07 HTTP/1.0\r\n",
            "PUT /page-07 HTTP/1.0\r\n\r\n",
        ] {
            assert_eq!(page_of(request.as_bytes()), None, "{request}");
        }
    }

    #[test]
    fn headers_and_pages_have_as_many_bytes_as_lat_http_reports() {
        // "Avg xfer: 3.2KB, 41.8KB in ..."
        let bytes: usize = PAGES.iter().map(|page| page + HEADER.len()).sum();
        assert_eq!(bytes, 41_780);
        assert!((0..PAGES.len()).all(|page| contents(page).len() == PAGES[page]));
    }
}
