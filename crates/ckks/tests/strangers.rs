//! Bytes from strangers: how much they can make a decoder do, and what its errors tell.

use girih_backend::NoProgress;
use girih_ckks::{
    Ciphertext, CkksParameters, ClientKey, EvaluationKeys, KeyId, KeyKind, PublicKey, Result,
};
use girih_rlwe::wire::{self, Bytes, Kind};
use std::time::{Duration, Instant};

/// No decoder takes longer on any input below 1 MB.
const LIMIT: Duration = Duration::from_millis(50);

const KINDS: [Kind; 4] = [
    Kind::new(1, "client key"),
    Kind::new(2, "public key"),
    Kind::new(3, "evaluation keys"),
    Kind::new(4, "ciphertext"),
];

fn read(which: usize, bytes: &[u8]) -> Result<()> {
    match which {
        0 => ClientKey::from_bytes(bytes).map(drop),
        1 => PublicKey::from_bytes(bytes).map(drop),
        2 => EvaluationKeys::from_bytes(bytes).map(drop),
        _ => Ciphertext::from_bytes(bytes).map(drop),
    }
}

fn read_for(which: usize, set: &CkksParameters, bytes: &[u8]) -> Result<()> {
    match which {
        0 => ClientKey::from_bytes_for(set, bytes).map(drop),
        1 => PublicKey::from_bytes_for(set, bytes).map(drop),
        2 => EvaluationKeys::from_bytes_for(set, bytes).map(drop),
        _ => Ciphertext::from_bytes_for(set, bytes).map(drop),
    }
}

fn why(result: Result<()>) -> String {
    result.expect_err("must be refused").to_string()
}

/// The least time of five, since other programs run, too.
fn time(mut run: impl FnMut()) -> Duration {
    let once = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..5).map(once).min().expect("five")
}

fn set(name: &str) -> CkksParameters {
    CkksParameters::by_name(name).expect("built in")
}

fn someone() -> KeyId {
    KeyId::from_bytes([1; 16]).expect("not zero")
}

fn is_prime(n: u64) -> bool {
    (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// As many primes and levels as a set on the wire has room for: primes near 2^30, two a level.
fn huge(log2_degree: u32) -> CkksParameters {
    let step = 2u64 << log2_degree;
    let (least, most) = (903_000_000, 1_276_000_000u64);
    let below = (1..).map(|i| most / step * step + 1 - i * step).take_while(|p| *p > least);
    let primes: Vec<u64> = below.filter(|p| is_prime(*p)).take(240).collect();
    let (auxiliary, main) = primes.split_at(primes.len() / 4);
    let list = |values: &[u64]| {
        values.iter().map(|value| value.to_string()).collect::<Vec<_>>().join(", ")
    };
    let states: Vec<_> = (2..=main.len() / 2).map(|i| format!("[{}, 0]", 2 * i)).collect();
    let digits: Vec<u64> =
        main.chunks(auxiliary.len() - 1).map(|digit| digit.len() as u64).collect();
    let text = format!(
        "name = 'INSECURE_HUGE'\nlog2_degree = {log2_degree}\nscale = {}.0\nterminal = []\n\
         main = [{}]\nauxiliary = [{}]\nstates = [{}]\ndigits = [{}]\n",
        1u64 << 60,
        list(main),
        list(auxiliary),
        states.join(", "),
        list(&digits)
    );
    CkksParameters::from_toml(&text).unwrap_or_else(|e| panic!("{e}"))
}

/// What a set costs before the payload is looked at, and what a payload costs that lies.
#[test]
fn sets_and_keys_from_strangers_take_no_time() {
    // The built-in sets are made once.
    let _ = set("CKKS_D40");
    for huge in [huge(17), huge(14)] {
        assert!(huge.top_level() > 40, "{}", huge.top_level());
        for (which, kind) in KINDS.into_iter().enumerate() {
            let empty = wire::encode(kind, &huge, Some(someone()), 0, &()).expect("small");
            let took = time(|| assert!(read(which, &empty).is_err()));
            assert!(took < LIMIT, "{} of {huge}: {took:?}", kind.name());
        }
        // Lengths that no level has are found out without trying all of them for long.
        for len in [0usize, 4, 4 << 17, 900_000] {
            let words = vec![0u8; len];
            let list = vec![(0u64, [0u8; 32], Bytes(&words))];
            let bytes =
                wire::encode(KINDS[2], &huge, Some(someone()), len, &list).expect("below a MB");
            let took = time(|| assert!(why(read(2, &bytes)).contains("bytes of")));
            assert!(took < LIMIT, "{len} bytes of a key: {took:?}");
        }
    }
    // As many keys as fit a megabyte, all of them in order.
    let text = "name = 'INSECURE_SMALL'\nlog2_degree = 8\nscale = 1073741824.0\n\
                terminal = []\nmain = [786433, 1179649, 1073872897]\n\
                auxiliary = [2147352577, 2146959361]\nstates = [[3, 0]]\ndigits = [2, 1]\n";
    let small = CkksParameters::from_toml(text).expect("valid");
    let client = ClientKey::generate_seeded_for_tests(&small, [3; 32]).expect("it is made");
    let kinds = (1..91).filter_map(|by| KeyKind::rotation(&small, by));
    let keys = EvaluationKeys::generate(&client, kinds, &NoProgress).expect("they are made");
    let bytes = keys.to_bytes().expect("serializes");
    assert!((600_000..1_000_000).contains(&bytes.len()), "{}", bytes.len());
    let took = time(|| read(2, &bytes).expect("good keys"));
    assert!(took < LIMIT, "{took:?}");
}

#[test]
fn what_is_of_another_set_is_refused_before_its_payload() {
    let (mine, other) = (set("INSECURE_CKKS_D40_N10"), set("INSECURE_CKKS_D35_N10"));
    let client = ClientKey::generate_seeded_for_tests(&mine, [1; 32]).expect("it is made");
    let keys = EvaluationKeys::generate(&client, [KeyKind::DenseToSparse], &NoProgress);
    let all = [
        client.to_bytes().expect("serializes").to_vec(),
        client.public_key().expect("made").to_bytes().expect("serializes"),
        keys.expect("memory").to_bytes().expect("serializes"),
        client.encrypt_at(&[0.5], 0).expect("a number").to_bytes().expect("serializes"),
    ];
    for (which, bytes) in all.iter().enumerate() {
        read(which, bytes).expect("good bytes");
        read_for(which, &mine, bytes).expect("its own set");
        let text = why(read_for(which, &other, bytes));
        let named = text.contains("D35_N10")
            && (text.contains("they are of INSECURE_CKKS_D40_N10") || text.contains("at most"));
        assert!(named, "{text}");
        // A payload that makes no sense is not what is complained of.
        let set_len = usize::from(u16::from_le_bytes([bytes[32], bytes[33]]));
        let mut cut = bytes[..34 + set_len + 16].to_vec();
        wire::reseal(&mut cut);
        assert!(why(read_for(which, &other, &cut)).contains("they are of INSECURE_CKKS_D40_N10"));
        assert!(why(read_for(which, &mine, &cut)).contains("truncated"));
        // A key or ciphertext must say whose it is.
        let mut nameless = bytes.clone();
        nameless[16..32].fill(0);
        wire::reseal(&mut nameless);
        assert!(why(read(which, &nameless)).contains("they name no client key"));
        // More than the set needs is refused by its length, whatever it holds.
        if which != 2 {
            let mut long = bytes.clone();
            long.resize(bytes.len() + (1 << 20), 0);
            wire::reseal(&mut long);
            assert!(why(read_for(which, &mine, &long)).contains("at most"), "{which}");
            assert!(why(read(which, &long)).contains("at most"), "{which}");
        }
    }
}

/// Sets of other numbers cannot pass for those that are known.
#[test]
fn built_in_names_are_taken_on_the_wire_as_well() {
    let known = set("INSECURE_CKKS_D40_N10");
    let client = ClientKey::generate_seeded_for_tests(&known, [1; 32]).expect("it is made");
    let bytes = client.encrypt_at(&[0.5], 0).expect("a number").to_bytes().expect("serializes");
    // The canonical form begins with the name's length, the name, and the description's.
    let (name, at) = (known.name().as_bytes(), 34 + 1 + known.name().len());
    assert_eq!(&bytes[35..at], name);
    let mut changed = bytes.clone();
    let scale = known.literal().scale.to_le_bytes();
    let place = changed.windows(8).position(|w| w == scale).expect("the scale is in it");
    // Another scale, by one unit in the last place.
    changed[place] ^= 1;
    wire::reseal(&mut changed);
    let text = why(read(3, &changed));
    assert!(text.contains("take another name"), "{text}");
}

/// Whoever can make a service decrypt must not learn from its errors what came out.
#[test]
fn errors_of_decryption_tell_nothing_of_values() {
    let set = set("INSECURE_CKKS_D40_N10");
    let client = ClientKey::generate_seeded_for_tests(&set, [1; 32]).expect("it is made");
    let text = |values: &[f64]| {
        let ciphertext = client.encrypt_at(values, 0).expect("numbers");
        client.decrypt_to_share(&ciphertext, 120, 1e-6).expect_err("nothing would be left").to_string()
    };
    let texts = [[0.0, 0.0], [1.0, -1.0], [0.125, 0.75]].map(|values| text(&values));
    assert!(texts.iter().all(|t| *t == texts[0]), "{texts:?}");
}
