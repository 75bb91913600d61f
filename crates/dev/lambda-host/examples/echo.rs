//! A Lambda function for the tests of this crate. For an HTTP request, path and body select what it does. For messages
//! of a queue, records of a stream and schedules, it sends the event to the test that listens at the address in
//! `HANDLER`.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
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

        let name = std::env::var("AWS_LAMBDA_FUNCTION_NAME").map_err(io::Error::other)?;
        let headers = json!({"content-type": "application/json", "function-name": name});
        let echo = json!({"statusCode": 200, "headers": headers, "body": event.to_string()});
        let (outcome, response) = match event["rawPath"].as_str() {
            None if std::env::var_os("HANDLER").is_some() => match response_of_test(&event)?.split_once(' ') {
                Some(("response", response)) => ("response", response.to_owned()),
                Some(("error", response)) => ("error", response.to_owned()),
                _ => process::exit(1),
            },
            Some("/respond") => ("response", body.to_owned()),
            Some("/error") => ("error", json!({"errorType": "Refused", "errorMessage": "as asked"}).to_string()),
            Some("/exit") => process::exit(1),
            Some("/print") => {
                // One line that is not UTF-8, and one that is.
                io::stdout().write_all(b"\xff\nprinted\n")?;
                ("response", json!({}).to_string())
            }
            Some("/connect") => {
                // The listener closes the connection when this function may continue.
                TcpStream::connect(body)?.read_to_end(&mut Vec::new())?;
                ("response", json!({"process": process::id()}).to_string())
            }
            _ => ("response", echo.to_string()),
        };
        exchange(&api, "POST", &format!("{request_id}/{outcome}"), &response)?;
    }
}

/// Sends the event to the test, and returns the test's response.
fn response_of_test(event: &Value) -> io::Result<String> {
    let mut handler = TcpStream::connect(std::env::var("HANDLER").map_err(io::Error::other)?)?;
    handler.write_all(json!({"process": process::id(), "event": event}).to_string().as_bytes())?;
    handler.shutdown(Shutdown::Write)?;
    let mut response = String::new();
    handler.read_to_string(&mut response)?;
    Ok(response)
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
