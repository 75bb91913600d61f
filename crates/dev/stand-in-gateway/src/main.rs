//! Runs the gateway as a process: `stand-in-gateway PORT [SECRET]`. It prints its URL, and runs until it is killed.

use std::error::Error;
use std::net::Ipv4Addr;

use stand_in_gateway::{Settings, StandIn};
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments.next().ok_or("usage: stand-in-gateway PORT [SECRET]; port 0 means any free port")?.parse()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let gateway = StandIn::start(listener, Settings { secret: arguments.next(), ..Settings::default() })?;
    println!("{}", gateway.url());
    std::future::pending().await
}
