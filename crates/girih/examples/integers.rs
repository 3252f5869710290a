//! Prices encrypted orders: products, a discount for large ones, what a budget leaves, shares.
//!
//! ```text
//! $ cargo run --release --example integers
//! 12 x  731 =   8772, less  1096: pays  7676 of a budget of 20000, 4 parts of 1919
//! 40 x  904 =  36160, less  4520: too much for a budget of 20000
//! ..
//! 2232 look-ups for 4 orders in 11.2 s
//! ```

mod common;
#[path = "common/tfhe.rs"]
mod parties;

use clap::Parser;
use common::Failure;
use girih::tfhe::prelude::*;
use parties::Parties;
use std::process::ExitCode;
use std::time::Instant;

/// Prices encrypted orders, all at once.
#[derive(Parser)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: common::Options,
    /// Orders, 1 to 10000.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    orders: u16,
}

/// From here on an order is a large one.
const LARGE: u16 = 5000;
/// What an order may cost.
const BUDGET: u16 = 20_000;
/// An order is paid in so many parts.
const PARTS: u16 = 4;

type Money = FheUint<16>;

/// What the shop gives back for each order.
struct Priced<M, B> {
    price: M,
    discount: M,
    fits: B,
    part: M,
}

/// Whoever computes sees no number: neither pieces nor prices, nor which orders are large.
fn price(pieces: &Money, each: &Money) -> girih::integer::Result<Priced<Money, FheBool>> {
    let price = (pieces * each)?;
    let discount = price.greater_or_equal(LARGE)?.select(&price.shr(3)?, 0u16)?;
    let pays = (&price - &discount)?;
    let fits = pays.less_or_equal(BUDGET)?;
    let part = fits.select(&pays.div(PARTS)?, 0u16)?;
    Ok(Priced { price, discount, fits, part })
}

fn plain_price(pieces: u16, each: u16) -> Priced<u16, bool> {
    let price = pieces.wrapping_mul(each);
    let discount = if price >= LARGE { price >> 3 } else { 0 };
    let fits = price - discount <= BUDGET;
    let part = if fits { (price - discount) / PARTS } else { 0 };
    Priced { price, discount, fits, part }
}

fn main() -> ExitCode {
    common::exit(|| run(&Arguments::parse()))
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    // With a compression key results come home in few bytes.
    let Parties { client, server, device } =
        Parties::start_with(&arguments.options, "TFHERS_2_2_GROUP_2", |client, keys| {
            keys.with_compression(client)
        })?;
    let integers = Integers::new(server)?;

    let orders: Vec<(u16, u16)> = (0..arguments.orders)
        .map(|i| (12 + 28 * (i % 3), 731 + i.wrapping_mul(173) % 900))
        .collect();
    let (pieces, each): (Vec<u16>, Vec<u16>) = orders.iter().copied().unzip();
    let upload = |values: &[u16]| integers.upload(&Money::encrypt(&client, values)?);
    let (encrypted_pieces, encrypted_each) = (upload(&pieces)?, upload(&each)?);

    let start = Instant::now();
    let priced = price(&encrypted_pieces, &encrypted_each)?;
    integers.synchronize()?;
    let seconds = start.elapsed().as_secs_f64();

    let read = |money: &Money| integers.download_compressed(money)?.decrypt(&client);
    let (prices, discounts) = (read(&priced.price)?, read(&priced.discount)?);
    let (parts, fits) = (read(&priced.part)?, integers.download(&priced.fits)?.decrypt(&client)?);
    let bytes = |b: usize| b as f64 / orders.len() as f64;
    let home = bytes(integers.download_compressed(&priced.price)?.results().bytes());
    let whole = bytes(4 * integers.download(&priced.price)?.ciphertexts().words().len());
    for (i, &(pieces, each)) in orders.iter().enumerate() {
        let (price, discount, part) = (prices[i], discounts[i], parts[i]);
        let pays = price - discount;
        print!("{pieces:>3} x {each:>4} = {price:>6}, less {discount:>5}: ");
        match fits[i] {
            true => println!("pays {pays:>5} of a budget of {BUDGET}, {PARTS} parts of {part}"),
            false => println!("too much for a budget of {BUDGET}"),
        }
        let want = plain_price(pieces, each);
        let want = ([want.price, want.discount, want.part].map(u128::from), want.fits);
        if ([price, discount, part], fits[i]) != want {
            return Err("that is wrong".into());
        }
    }
    let look_ups = integers.look_ups();
    println!("{look_ups} look-ups for {} orders in {seconds:.1} s", orders.len());
    println!("a price came home in {home:.0} bytes, where its ciphertexts have {whole:.0}");
    let figures = serde_json::json!({
        "orders": orders.len(), "look_ups": look_ups, "seconds": seconds, "price_bytes": home,
    });
    parties::record(&arguments.options, "integers", (&device, integers.server()), &figures)
}
