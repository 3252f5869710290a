//! A client and the service over a real connection.

use girih::tfhe::prelude::*;
use girih_service::framing::{join, split};
use girih_service::{BITS, Limits, Service};
use std::error::Error;
use tokio::net::TcpListener;

/// A toy: its keys take a second to make, and hide nothing.
const SET: &str = "INSECURE_INTEGERS";

type Amounts = FheUint<BITS>;

/// Starts a service with room for two keys, on a thread of its own; its address.
fn start() -> String {
    let (send, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("threads");
        runtime.block_on(async move {
            let set = ParameterSet::by_name(SET).expect("a built-in set");
            let limits = Limits { keys: 2, integers: 8, ..Limits::default() };
            let service = Service::new(Device::open("cpu").expect("there is one"), set, limits);
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            send.send(listener.local_addr().expect("it is bound")).expect("somebody waits");
            axum::serve(listener, service.router()).await.expect("it serves");
        });
    });
    format!("http://{}", address.recv().expect("it starts"))
}

/// The status and the body of an answer.
fn post(url: &str, body: &[u8]) -> Result<(u16, Vec<u8>), Box<dyn Error>> {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut answer = agent.post(url).send(body)?;
    Ok((answer.status().as_u16(), answer.body_mut().read_to_vec()?))
}

fn refused(url: &str, body: &[u8], status: u16, why: &str) {
    let (found, text) = post(url, body).expect("it answers");
    let text = String::from_utf8_lossy(&text);
    assert!(found == status && text.contains(why), "{found}: {text}");
}

// ANCHOR: keys
/// A client, and the name that the service knows its keys by.
fn client(service: &str) -> Result<(ClientKey, String), Box<dyn Error>> {
    let client = ClientKey::generate(&ParameterSet::by_name(SET)?)?;
    let keys = EvaluationKeys::generate(&client, &NoProgress)?;
    let (status, name) = post(&format!("{service}/keys"), &keys.to_bytes()?)?;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&name));
    Ok((client, String::from_utf8(name)?))
}
// ANCHOR_END: keys

#[test]
fn a_client_computes_far_away_and_is_refused_in_words() -> Result<(), Box<dyn Error>> {
    let service = start();
    // ANCHOR: client
    let (client, name) = client(&service)?;
    let encrypt = |values: &[u16]| Amounts::encrypt(&client, values)?.to_bytes();
    let (amounts, limits) = (encrypt(&[120, 80, 65_535])?, encrypt(&[100, 100, 65_535])?);
    let url = format!("{service}/keys/{name}/cap");
    let body = join(&[amounts.clone(), limits.clone()]);
    let (status, answer) = post(&url, &body)?;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&answer));
    let [capped, above] = split::<2>(&answer)?;
    assert_eq!(Encrypted::<Amounts>::from_bytes(capped)?.decrypt(&client)?, [100, 80, 65_535]);
    assert_eq!(Encrypted::<FheBool>::from_bytes(above)?.decrypt(&client)?, [true, false, false]);
    // ANCHOR_END: client

    refused(&format!("{service}/keys/nobody/cap"), &body, 404, "send them to /keys");
    refused(&url, &body[..body.len() - 1], 400, "are left of the body");
    refused(&url, &join(&[amounts.clone(), encrypt(&[1])?]), 400, "3");
    refused(&url, &join(&[encrypt(&[0; 9])?, limits.clone()]), 400, "9");
    // It hangs up, before or after the client has read why.
    let long = post(&url, &vec![0; 64 << 20]).map(|(status, _)| status);
    assert!(matches!(long, Ok(413) | Err(_)), "{long:?}");
    let mut changed = body.clone();
    changed[40] ^= 1;
    refused(&url, &changed, 400, "");
    let stranger = ClientKey::generate(&ParameterSet::by_name(SET)?)?;
    let theirs = Amounts::encrypt(&stranger, &[1u16, 2, 3])?.to_bytes()?;
    refused(&url, &join(&[theirs, limits]), 400, "key");
    refused(&format!("{service}/keys"), b"no keys", 400, "");
    Ok(())
}

#[test]
fn the_keys_used_longest_ago_make_room() -> Result<(), Box<dyn Error>> {
    let service = start();
    let (_, first) = client(&service)?;
    let _others = [client(&service)?, client(&service)?];
    refused(&format!("{service}/keys/{first}/cap"), b"", 404, "no longer");
    Ok(())
}
