//! `girih-service --device cuda:0`: serves until Ctrl-C.

use clap::Parser;
use girih::tfhe::prelude::*;
use girih_service::{Limits, Service};
use std::error::Error;
use tokio::net::TcpListener;
use tokio::signal::ctrl_c;

/// Computes on encrypted integers for whoever sends keys and ciphertexts.
#[derive(Parser)]
struct Arguments {
    /// Where to listen. A service for others stands behind a proxy that speaks TLS and knows them.
    #[arg(long, default_value = "127.0.0.1:8080")]
    listen: String,
    /// The device that computes: cpu, cuda:0, wgpu:0, ..
    #[arg(long, default_value = "cpu")]
    device: String,
    /// The parameter set of its clients.
    #[arg(long, default_value = "GIRIH_2_2")]
    set: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let set = ParameterSet::by_name(&arguments.set)?;
    let service = Service::new(Device::open(&arguments.device)?, set, Limits::default());
    let listener = TcpListener::bind(&arguments.listen).await?;
    println!("{} on {}, http://{}", arguments.set, arguments.device, listener.local_addr()?);
    let stop = async { drop(ctrl_c().await) };
    axum::serve(listener, service.router()).with_graceful_shutdown(stop).await?;
    Ok(())
}
