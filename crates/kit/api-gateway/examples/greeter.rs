//! A function that greets, called with some events of API Gateway: a good request, one with two mistakes, and one that takes too long. It
//! needs no AWS: `cargo run --example greeter`

use std::error::Error;
use std::time::{Duration, SystemTime};

use api_gateway::{Clock, Document, Failure, HttpFunction, JSON, Mistake, Mistakes, Parameters, Request, Response};
use serde_json::json;

enum Problem {
    InvalidParameters(Vec<Mistake>),
    OutOfTime,
}

impl Failure for Problem {
    fn out_of_time() -> Self {
        Self::OutOfTime
    }

    fn cause(&self) -> Option<(&'static str, &(dyn Error + 'static))> {
        None
    }

    fn respond(self, request_id: &str) -> Response {
        let document = |kind: &str, title, status, detail| {
            Document::new(format!("urn:example:problem:{kind}"), title, status, detail, request_id)
        };
        match self {
            Self::InvalidParameters(errors) => {
                let detail = "Correct the parameters that `errors` lists.";
                let mut document = document("invalid-parameters", "Invalid parameters", 400, detail);
                document.errors = errors;
                document.respond(&[])
            }
            Self::OutOfTime => {
                let document = document("unavailable", "Temporarily unavailable", 503, "Send the request again.");
                document.respond(&[("retry-after", "1")])
            }
        }
    }
}

async fn greet(request: &Request) -> Result<Response, Problem> {
    let mut parameters = Parameters::read(request.query_string(), &["name", "times"]);
    let name = parameters.one("name", |text| Ok::<_, String>(text.to_owned()));
    let times = parameters.one("times", |text| text.parse::<usize>().map_err(|_| "must be a number"));
    let read = name.and_then(|name| Ok((name, times?)));
    let (name, times) = parameters.finish(read).map_err(|Mistakes(mistakes)| Problem::InvalidParameters(mistakes))?;
    let name = name.unwrap_or_else(|| "World".to_owned());
    if name == "Godot" {
        // It never ends: the deadline is reached.
        std::future::pending::<()>().await;
    }
    let greetings = vec![format!("Hello, {name}"); times.unwrap_or(1)];
    Ok(Response::json(200, JSON, json!(greetings).to_string()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let function = HttpFunction::new("greeter", "Example", "1", Clock::system());
    for query in ["name=Ada&times=2", "nmae=Ada&times=two", "name=Godot"] {
        let context = json!({"requestId": "r-1", "http": {"method": "GET"}});
        let event = json!({"rawPath": "/hello", "rawQueryString": query, "requestContext": context});
        let request: Request = serde_json::from_value(event)?;
        // In a function it is the deadline of the invocation. The response is sent half a second before it.
        let deadline = SystemTime::now() + Duration::from_secs(1);
        let response = function.respond(&request, "/hello", deadline, greet(&request)).await;
        println!("{query}: {} {}", response.status_code, response.body.unwrap_or_default());
    }
    Ok(())
}
