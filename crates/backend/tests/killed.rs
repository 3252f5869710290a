//! A process that is killed while it writes leaves no damaged cache behind.

use girih_backend::{Transform, TunedPlan, TunedPlans, keep_compiled, read_compiled};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names the folder to a child that writes until it is killed.
const FOLDER: &str = "GIRIH_TEST_KILLED_FOLDER";
/// This test, as the child's filter.
const NAME: &str = "killed_writers_leave_no_damaged_cache";
const CHILDREN: u64 = 24;
const KERNELS: u64 = 3;

/// The kernel of one round: any length up to 300 kB, all bytes told by the first.
fn kernel(round: u64) -> Vec<u8> {
    let length = 1 + (round.wrapping_mul(0x9e37_79b9) % 300_000) as usize;
    vec![round as u8; length]
}

fn plans(round: u64) -> TunedPlans {
    let mut plans = TunedPlans::default();
    for size in 0..=round % 40 {
        let options = json!({ "transform": Transform::Ntt, "items": round });
        let plan = TunedPlan::new("a device", &json!({ "size": size }), &options, round as f64);
        plans.put(plan.expect("values are JSON"));
    }
    plans
}

/// What the child does; it ends by itself should nobody kill it.
fn write_on(folder: &Path) {
    let start = Instant::now();
    for round in 0.. {
        keep_compiled(&folder.join(format!("kernel-{}", round % KERNELS)), &kernel(round))
            .expect("writable");
        plans(round).write(&folder.join("plans.json")).expect("writable");
        if start.elapsed() > Duration::from_secs(30) {
            return;
        }
    }
}

/// Whatever is there is one of the things that were written, whole.
fn check(folder: &Path) -> usize {
    let mut found = 0;
    for number in 0..KERNELS {
        let kernel = read_compiled(&folder.join(format!("kernel-{number}"))).expect("whole");
        if let Some(bytes) = kernel {
            assert!(!bytes.is_empty() && bytes.iter().all(|b| *b == bytes[0]));
            found += 1;
        }
    }
    let (plans, note) = TunedPlans::read(&folder.join("plans.json")).expect("whole");
    assert_eq!(note, None);
    found + plans.plans.len()
}

#[test]
fn killed_writers_leave_no_damaged_cache() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return write_on(Path::new(&folder));
    }
    let folder = std::env::temp_dir().join(format!("girih-killed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a writable folder");
    let this = std::env::current_exe().expect("a test runs from a file");
    let mut found = 0;
    for child in 0..CHILDREN {
        let mut writer = Command::new(&this)
            .args([NAME, "--exact", "--nocapture"])
            .env(FOLDER, &folder)
            .stdout(Stdio::null())
            .spawn()
            .expect("this test starts again");
        // From before it writes until it has written often.
        std::thread::sleep(Duration::from_micros(child * child * 300 + child * 137 % 4000));
        writer.kill().expect("still writing");
        writer.wait().expect("killed");
        found = check(&folder);
    }
    assert!(found > 1, "the children wrote something");
    // What they were writing lies beside it under other names, and harms nobody.
    plans(7).write(&folder.join("plans.json")).expect("writable");
    check(&folder);
    std::fs::remove_dir_all(&folder).expect("ours");
}
