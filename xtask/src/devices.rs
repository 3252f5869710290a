//! `cargo xtask devices`

use anyhow::Result;
use girih::{Device, DeviceInfo};

#[derive(clap::Args)]
pub struct Arguments {
    /// Write the list as JSON to FILE (`-` for standard output).
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(path) = &arguments.json {
        crate::record::check_file("--json", path)?;
    }
    let found = Device::enumerate();
    let sets = crate::ckks::devices::all()?;
    // Opened, as only an open device tells its memory.
    let ckks = |id: &str| crate::ckks::devices::of(&Device::open(id).ok()?, &sets);
    if let Some(path) = &arguments.json {
        let record = |device: &DeviceInfo| -> Result<serde_json::Value> {
            let mut value = serde_json::to_value(device)?;
            value["ckks"] = serde_json::to_value(ckks(&device.id))?;
            Ok(value)
        };
        let all: Vec<_> = found.devices.iter().map(record).collect::<Result<_>>()?;
        crate::record::write_json(path, &all.into())?;
        if path == "-" {
            return Ok(true);
        }
    }
    for device in &found.devices {
        let transforms: Vec<String> = device.transforms.iter().map(ToString::to_string).collect();
        let software = if device.software { " (software)" } else { "" };
        println!("{:<12} {}{software}", device.id, device.name);
        println!("{:<12} transforms {}", "", transforms.join(", "));
        if let Some(ckks) = ckks(&device.id) {
            println!("{:<12} CKKS: {ckks}", "");
        }
        for note in &device.notes {
            println!("{:<12} {note}", "");
        }
    }
    for line in &found.absent {
        println!("absent: {line}");
    }
    Ok(true)
}
