//! A server process, from its first line to its last. It is stopped by a signal, so on Unix only.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};

use crate::program;

/// A program that listens until it is told to end.
pub struct Listening {
    child: Child,
    address: String,
}

impl Listening {
    /// Starts it and waits until it says where it listens.
    pub fn start(arguments: &[&str]) -> Self {
        Self::of(program(arguments))
    }

    /// Starts a command that ends as the program.
    pub fn of(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the program starts");
        let mut line = String::new();
        // One byte at a time, so that nothing behind the line is lost.
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::with_capacity(1, stdout)
            .read_line(&mut line)
            .expect("a line");
        let address = line.trim().strip_prefix("listening on http://");
        let address = address.expect("an address").to_owned();
        Self { child, address }
    }

    /// The URL that the server printed.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The whole answer to a request, head included.
    pub fn ask(&self, line: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        write!(
            stream,
            "{line} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nx-api-key: sk-secret\r\n\
             anthropic-version: 2023-06-01\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .expect("it takes a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("UTF-8");
        answer
    }

    /// Asks it to end as a service manager does. All it said, and its exit code.
    pub fn end(mut self) -> (String, Option<i32>) {
        let id = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &id]).status();
        assert!(told.expect("kill").success());
        let exit = self.child.wait().expect("it ends").code();
        let mut said = String::new();
        let mut stdout = self.child.stdout.take().expect("a pipe");
        stdout.read_to_string(&mut said).expect("UTF-8");
        let mut stderr = self.child.stderr.take().expect("a pipe");
        stderr.read_to_string(&mut said).expect("UTF-8");
        (said, exit)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It has ended, unless a check before failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A gateway in front of a simulated provider.
pub struct Served {
    _provider: Listening,
    pub gateway: Listening,
}

impl Served {
    pub fn start(more: &[&str]) -> Self {
        let provider = Listening::start(&["sim", "--listen", "127.0.0.1:0"]);
        let url = provider.url();
        let serve = ["serve", "--listen", "127.0.0.1:0", "--store", "memory"];
        let upstreams = ["--anthropic-url", &url, "--openai-url", &url];
        let gateway = Listening::start(&[&serve[..], &upstreams, more].concat());
        Self {
            _provider: provider,
            gateway,
        }
    }
}
