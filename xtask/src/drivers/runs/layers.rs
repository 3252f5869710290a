//! Runs under the Khronos validation layer, which checks every call of Vulkan and every module.

#![allow(unsafe_code, reason = "a call of Vulkan that is wrong on purpose")]

use super::{Outcome, chromium, succeeds, this_program, version};
use anyhow::{Context, Result, bail};
use ash::vk;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const LAYER: &str = "VK_LAYER_KHRONOS_validation";

/// Complaints that are known, with their reason.
const KNOWN: [(&str, &str); 1] = [(
    "VUID-StandaloneSpirv-None-10684",
    "naga lays arrays of workgroup memory out as those of buffers (gfx-rs/wgpu, issue 7696)",
)];

/// What a buffer of no bytes is told by.
const CONTROL: &str = "VUID-VkBufferCreateInfo-size-00912";

/// How often a layer complained by a rule, with one example.
type Complaints = BTreeMap<String, (usize, String)>;

/// A layer with its settings, in a folder of its own.
struct Layer {
    folder: PathBuf,
}

impl Layer {
    fn prepare() -> Result<Self> {
        let library = chromium()?.join("libVkLayer_khronos_validation.so");
        let folder = crate::drivers::apt::below_target("layers")?;
        let manifest = serde_json::json!({
            "file_format_version": "1.2.0",
            "layer": {
                "name": LAYER,
                "type": "GLOBAL",
                "library_path": library,
                "api_version": "1.3.0",
                "implementation_version": "1",
                "description": "Khronos validation layer",
                "instance_extensions": [
                    { "name": "VK_EXT_debug_report", "spec_version": "9" },
                    { "name": "VK_EXT_debug_utils", "spec_version": "1" },
                    { "name": "VK_EXT_validation_features", "spec_version": "2" }
                ]
            }
        });
        std::fs::write(folder.join("validation.json"), manifest.to_string())?;
        Ok(Self { folder })
    }

    fn log(&self) -> PathBuf {
        self.folder.join("complaints.txt")
    }

    /// Runs this program with `words` under the layer; what it complained of, by rule, with one
    /// example of each.
    fn complaints(&self, words: &[&str]) -> Result<(Complaints, bool)> {
        let settings = format!(
            "khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG\n\
             khronos_validation.report_flags = error,warn\n\
             khronos_validation.enable_message_limit = false\n\
             khronos_validation.log_filename = {}\n",
            self.log().display()
        );
        std::fs::write(self.folder.join("vk_layer_settings.txt"), settings)?;
        std::fs::remove_file(self.log()).ok();
        let good = succeeds(self.under(this_program()?.args(words)))?;
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        Ok((by_rule(&text), good))
    }

    fn under<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("VK_LAYER_PATH", &self.folder)
            .env("VK_INSTANCE_LAYERS", LAYER)
            .env("VK_LAYER_SETTINGS_PATH", &self.folder)
    }
}

/// Messages by the rule that they name; what names none stands under its first words.
fn by_rule(text: &str) -> Complaints {
    let mut all = Complaints::new();
    for line in text.lines().filter(|line| line.starts_with("Validation ")) {
        let rule = line.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
        let rule = rule.into_iter().find(|word| word.starts_with("VUID-"));
        let Some(rule) = rule.or_else(|| line.get(..60)) else { continue };
        let (count, _) = all.entry(rule.to_owned()).or_insert_with(|| (0, line.to_owned()));
        *count += 1;
    }
    all
}

/// Cases on this machine's software driver under the layer, which first has to notice a call that
/// is wrong.
///
/// # Errors
/// If the layer cannot be had or is not heard.
pub fn run() -> Result<Outcome> {
    let layer = Layer::prepare()?;
    let (control, _) = layer.complaints(&["drivers", "--here", "wrong-call"])?;
    if !control.contains_key(CONTROL) {
        bail!("the layer says nothing of a buffer without bytes: {control:?}");
    }
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let vectors = vectors.display().to_string();
    let mut good = true;
    let mut known = 0;
    for words in [
        &["vectors", &vectors, "--device", "wgpu:llvmpipe"][..],
        &["drivers", "--here", "cases", "--device", "wgpu:llvmpipe@core-full"],
    ] {
        let (complaints, passed) = layer.complaints(words)?;
        good &= passed;
        for (rule, (count, example)) in complaints {
            if let Some((_, why)) = KNOWN.iter().find(|(name, _)| *name == rule) {
                println!("  {rule}, {count} times, is known: {why}");
                known += count;
            } else {
                good = false;
                println!("  {rule}, {count} times: {example}");
            }
        }
    }
    let what = format!(
        "vectors and cases on llvmpipe under the Khronos validation layer of {}; {known} \
         complaints that are known ({})",
        version(),
        KNOWN.map(|(rule, _)| rule).join(", ")
    );
    Ok((what, good))
}

/// Makes a buffer of no bytes.
///
/// # Errors
/// If there is no loader or device.
pub fn wrong_call() -> Result<bool> {
    // SAFETY: the loader is a Vulkan loader, structures outlive the calls, and everything is
    // destroyed once. The call that breaks a rule of Vulkan is what layers are for: a software
    // driver makes an empty buffer of it or refuses it.
    unsafe {
        let entry = ash::Entry::load().context("the Vulkan loader")?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        let instance = entry.create_instance(&info, None).context("a Vulkan instance")?;
        let physical = instance.enumerate_physical_devices()?;
        let physical = *physical.first().context("no Vulkan device")?;
        let priorities = [1.0];
        let queue = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queue);
        let device = instance.create_device(physical, &info, None)?;
        let info = vk::BufferCreateInfo::default().usage(vk::BufferUsageFlags::STORAGE_BUFFER);
        if let Ok(buffer) = device.create_buffer(&info, None) {
            device.destroy_buffer(buffer, None);
        }
        device.destroy_device(None);
        instance.destroy_instance(None);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_by_their_rule() {
        let text = "Validation Error: [ VUID-a-b-1 ] | MessageID = 0x1\nvkX(): wrong\n\
                    Validation Error: [ VUID-a-b-1 ] | MessageID = 0x1\n\
                    Validation Warning: something that names no rule and is long enough to cut\n";
        let found = by_rule(text);
        assert_eq!(found["VUID-a-b-1"].0, 2);
        assert_eq!(found.len(), 2);
    }
}
