//! `cargo xtask devices`

use anyhow::Result;
use girih::Device;

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
    if let Some(path) = &arguments.json {
        crate::record::write_json(path, &serde_json::to_value(&found.devices)?)?;
        if path == "-" {
            return Ok(true);
        }
    }
    for device in &found.devices {
        let transforms: Vec<String> = device.transforms.iter().map(ToString::to_string).collect();
        let software = if device.software { " (software)" } else { "" };
        println!("{:<12} {}{software}", device.id, device.name);
        println!("{:<12} transforms {}", "", transforms.join(", "));
        for note in &device.notes {
            println!("{:<12} {note}", "");
        }
    }
    for line in &found.absent {
        println!("absent: {line}");
    }
    Ok(true)
}
