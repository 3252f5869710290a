//! girih and TFHE-rs's own servers beside each other: the same client, the same keys, the same
//! ciphertexts, on the same host, one after the other. Every result is decrypted by the client of
//! TFHE-rs and compared with the plain one.
//!
//! `--help` says what can be asked for.

mod arguments;
mod record;
mod taking_over;
mod width;

use arguments::{HELP, Theirs, Wanted};
use girih_tfhe_rs::ServerKey;
use record::Record;
use std::time::Instant;
use tfhe::{ClientKey, CompressedServerKey, ConfigBuilder, set_server_key};

type Failure = Box<dyn std::error::Error>;

/// `less` gives a condition, `select` chooses by one, `max` does both. `transfer` moves an amount
/// between balances, unless the sender has too little or the receiver would have too much: two
/// comparisons, a sum, a difference, two choices.
const OPERATIONS: [&str; 7] = ["add", "mul", "less", "select", "max", "div", "transfer"];

/// A client of TFHE-rs's default parameters on CPUs, or of those on GPUs: by name, since the
/// default of a build with `gpu` is the latter.
fn client(multi_bit: bool) -> ClientKey {
    use tfhe::shortint::AtomicPatternParameters;
    use tfhe::shortint::parameters::v1_8::{
        V1_8_PARAM_GPU_MULTI_BIT_GROUP_4_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128 as GROUPS,
        V1_8_PARAM_MESSAGE_2_CARRY_2_KS_PBS_TUNIFORM_2M128 as DEFAULT,
    };
    let parameters: AtomicPatternParameters =
        if multi_bit { GROUPS.into() } else { DEFAULT.into() };
    ClientKey::generate(ConfigBuilder::with_custom_parameters(parameters))
}

/// Gives this thread and those of the pool TFHE-rs's own server, and says how it is called.
fn set_theirs(which: Theirs, keys: &CompressedServerKey) -> &'static str {
    match which {
        Theirs::Cpu => {
            let server = keys.decompress();
            rayon::broadcast(|_| set_server_key(server.clone()));
            set_server_key(server);
            "TFHE-rs CPU"
        }
        #[cfg(feature = "gpu")]
        Theirs::Gpu => {
            let server = keys.decompress_to_gpu();
            rayon::broadcast(|_| set_server_key(server.clone()));
            set_server_key(server);
            "TFHE-rs GPU"
        }
        #[cfg(not(feature = "gpu"))]
        Theirs::Gpu => unreachable!("refused where the command line is read"),
    }
}

fn main() -> Result<(), Failure> {
    if std::env::args().any(|word| word == "--help" || word == "-h") {
        println!("{HELP}");
        return Ok(());
    }
    let wanted = Wanted::parse(std::env::args().skip(1))?;
    let device = girih::device::Device::open(&wanted.device)?;
    let client = client(wanted.multi_bit);
    let keys = CompressedServerKey::new(&client);
    if wanted.taking_over {
        return taking_over::run(&wanted, &device, &client, &keys);
    }

    let begin = Instant::now();
    let server = ServerKey::load(device.backend(), &keys)?;
    server.integers().synchronize()?;
    let time = begin.elapsed();
    let name = format!("{} ({})", device.info().id, device.info().name);
    println!("{name}, {}, {} threads of the host", server.set(), rayon::current_num_threads());
    let mut record = Record::new(name, server.set().to_string(), wanted.json.clone());
    record.loaded("girih", time)?;
    // What is measured is the pace of a server that has been running.
    let waited = Instant::now();
    let kernels = server.integers().server().engine().settle()?;
    if kernels > 0 {
        println!(
            "waited {:.1} s for {kernels} kernels of long lists",
            waited.elapsed().as_secs_f64()
        );
    }

    let mut theirs = None;
    if let Some(which) = wanted.theirs {
        let begin = Instant::now();
        let name = set_theirs(which, &keys);
        record.loaded(name, begin.elapsed())?;
        theirs = Some(name);
    }
    for &bits in &wanted.widths {
        let run = match bits {
            8 => width::eight,
            32 => width::thirty_two,
            _ => width::sixty_four,
        };
        for &count in &wanted.counts {
            run(&wanted, count, &client, &server, theirs, &mut record)?;
        }
    }
    println!("all results right");
    Ok(())
}
