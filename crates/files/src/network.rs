//! Ports of this machine.

use std::io;
use std::net::TcpListener;

/// A port of the loopback interface that nobody listens on now. Another program may take it before it is used.
///
/// ```
/// assert_ne!(perfdb_files::network::free_port()?, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
