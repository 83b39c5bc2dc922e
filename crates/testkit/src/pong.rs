//! A server for tests of networks.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{self, Receiver};

/// A server on this machine that answers every HTTP request with `pong`. Returns its port, and the text of each request.
pub fn pong_server() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let (mut text, mut buffer) = (Vec::new(), [0; 1024]);
            while !text.ends_with(b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(length) => text.extend_from_slice(&buffer[..length]),
                }
            }
            sender.send(String::from_utf8_lossy(&text).into_owned()).ok();
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npong").ok();
        }
    });
    (port, requests)
}
