//! The name of a stream: its driver, its minor number, and the directory in which processes find it. `open::device::named` asks there.

use std::sync::Arc;

use headwater_os::abstract_socket::Listener;
use headwater_os::files;

use super::directory::{Directory, link_node, node};
use crate::error::Result;
use crate::message::link::MuxId;

/// Where a stream is found.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    driver: &'static str,
    directory: Arc<Directory>,
    minor: u32,
}

impl Name {
    /// The stream of a minor number of that driver, in that directory.
    pub fn new(driver: &'static str, directory: Arc<Directory>, minor: u32) -> Name {
        Name { driver, directory, minor }
    }

    /// The name of another stream of the driver.
    pub fn of_minor(&self, minor: u32) -> Name {
        Name { minor, ..self.clone() }
    }

    /// Where the driver's streams are found.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    pub fn driver_name(&self) -> &'static str {
        self.driver
    }

    /// The minor number of the partner, where a driver pairs streams.
    pub fn partner(&self) -> u32 {
        self.minor ^ 1
    }

    /// Removes the socket. For the last process that has the stream open.
    pub fn remove_socket(&self) {
        self.remove_socket_of(self.minor);
    }

    /// As [`Name::remove_socket`], of another stream of the driver whose number this process has locked.
    pub fn remove_socket_of(&self, minor: u32) {
        let _ = self.directory.remove_socket(&node(self.driver, minor));
    }

    /// The name of the socket at which a link is handed over.
    pub fn link_node(&self, id: MuxId) -> String {
        link_node(self.driver, self.minor, id)
    }

    /// The socket of a link that was made just now. Its id is of no other link of the stream.
    pub fn listen_for_link(&self, id: MuxId) -> Result<Listener> {
        self.remove_link(id);
        self.directory.listen(&self.link_node(id))
    }

    /// Removes the socket of a link that was undone.
    pub fn remove_link(&self, id: MuxId) {
        let _ = self.directory.remove_socket(&self.link_node(id));
    }

    /// Removes the sockets of all links of a stream whose last process was killed.
    pub fn remove_links(&self) {
        let own = node(self.driver, self.minor);
        let names = files::names_in(self.directory.as_fd()).unwrap_or_default();
        for name in names.iter().filter(|name| name.len() > own.len() && name.starts_with(&own)) {
            let _ = self.directory.remove_socket(name);
        }
    }
}
