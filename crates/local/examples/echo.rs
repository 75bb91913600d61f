//! A Lambda for the tests of this crate: what it does is in the request's path and body.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process;

use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let api = std::env::var("AWS_LAMBDA_RUNTIME_API").map_err(io::Error::other)?;
    loop {
        let invocation = exchange(&api, "GET", "next", "")?;
        let (head, event) = invocation.split_once("\r\n\r\n").ok_or(io::ErrorKind::InvalidData)?;
        let mut lines = head.lines();
        let request_id = lines.find_map(|line| line.strip_prefix("lambda-runtime-aws-request-id: "));
        let request_id = request_id.ok_or(io::ErrorKind::InvalidData)?;
        let event: Value = serde_json::from_str(event)?;
        let body = event["body"].as_str().unwrap_or_default();

        let echo =
            json!({"statusCode": 200, "headers": {"content-type": "application/json"}, "body": event.to_string()});
        let (outcome, answer) = match event["rawPath"].as_str() {
            Some("/answer") => ("response", body.to_owned()),
            Some("/error") => ("error", json!({"errorType": "Refused", "errorMessage": "as asked"}).to_string()),
            Some("/exit") => process::exit(1),
            Some("/meet") => {
                // Whoever listens there decides when this goes on.
                TcpStream::connect(body)?.read_to_end(&mut Vec::new())?;
                ("response", json!({"process": process::id()}).to_string())
            }
            _ => ("response", echo.to_string()),
        };
        exchange(&api, "POST", &format!("{request_id}/{outcome}"), &answer)?;
    }
}

/// One request to the Runtime API, and all of its response.
fn exchange(api: &str, method: &str, path: &str, body: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(api)?;
    write!(
        stream,
        "{method} /2018-06-01/runtime/invocation/{path} HTTP/1.1\r\nhost: {api}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}
