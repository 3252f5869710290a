//! To the device and back.

use super::ServerKey;
use super::ciphertexts::Ciphertexts;
use super::downloads;
use super::tracked::{Mask, Tracked};
use crate::ciphertext::{Ciphertext, CiphertextHeader};
use crate::{Error, Result};
use girih_backend::block_on;

impl ServerKey {
    /// Copies ciphertexts to the device, as one batch.
    ///
    /// # Errors
    /// [`Error::WrongSet`] and [`Error::WrongKey`] for ciphertexts of another set or client key,
    /// [`Error::Length`] for none, [`Error::Level`], [`Error::Scale`] and [`Error::Length`] when
    /// levels, scales or slots differ within the batch.
    pub fn upload(&self, ciphertexts: &[Ciphertext]) -> Result<Ciphertexts> {
        let Some(first) = ciphertexts.first() else {
            return Err(Error::Length {
                what: "a batch",
                found: 0,
                rule: "at least one ciphertext is needed".into(),
            });
        };
        for (i, x) in ciphertexts.iter().enumerate() {
            self.check_host(x)?;
            let operation = format!("ciphertext {i} of a batch");
            if x.level() != first.level() {
                let rule = format!("the first stands at {}: adjust one of them", first.level());
                return Err(Error::Level { operation, level: x.level(), rule });
            }
            if x.scale() != first.scale() {
                let rule = format!(
                    "its scale 2^{:.4} is not the first one's, 2^{:.4}",
                    x.scale().log2(),
                    first.scale().log2()
                );
                return Err(Error::Scale { operation, rule });
            }
            if x.slots() != first.slots() {
                let rule = format!("the first of the batch has {}", first.slots());
                return Err(Error::Length { what: "a ciphertext", found: x.slots(), rule });
            }
        }
        let known = ciphertexts.iter().map(|x| self.known(x)).collect();
        let shape = (first.level(), first.scale(), first.slots());
        let batch = Ciphertexts::of(self.shared(), shape, known)?;
        let basis = self.chain().level(first.level())?;
        for (i, x) in ciphertexts.iter().enumerate() {
            let [b, a] = batch.places(i);
            self.shared().engine.write(b, basis, x.b())?;
            self.shared().engine.write(a, basis, x.a())?;
        }
        Ok(batch)
    }

    /// Copies a batch back to the host, waiting for the work it depends on.
    ///
    /// # Errors
    /// [`Error::WrongKey`] and [`Error::Order`] for a batch of another server key, and failures of
    /// the device.
    pub fn download(&self, batch: &Ciphertexts) -> Result<Vec<Ciphertext>> {
        block_on(self.download_async(batch))
    }

    /// [`ServerKey::download`] for callers that must not block.
    ///
    /// # Errors
    /// As [`ServerKey::download`].
    pub async fn download_async(&self, batch: &Ciphertexts) -> Result<Vec<Ciphertext>> {
        batch.check_server(self.shared())?;
        let words = self.set().chain().base(batch.level()).len() * self.set().degree();
        let mut ciphertexts = Vec::with_capacity(batch.len());
        for i in 0..batch.len() {
            let mut parts = [vec![0; words], vec![0; words]];
            for (part, place) in parts.iter_mut().zip(batch.places(i)) {
                self.shared().engine.read_async(place, part).await?;
            }
            let [b, a] = parts;
            let known = &batch.known()[i];
            let mut noise = known.estimate().to_noise(self.set(), batch.slots());
            if self.model().is_fresh(noise.deviation, batch.scale()) {
                // Nobody is to take it for one that comes from the client.
                noise.deviation = noise.deviation.next_up();
            }
            let header = CiphertextHeader {
                set: self.set().clone(),
                key: self.key_id(),
                level: batch.level(),
                scale: batch.scale(),
                slots: batch.slots(),
                noise,
            };
            let ciphertext = Ciphertext::from_parts(header, b, a)?;
            self.downloads().insert(&ciphertext, known);
            ciphertexts.push(ciphertext);
        }
        Ok(ciphertexts)
    }

    /// What is known of a ciphertext of the host. One as it was encrypted has an error of its own,
    /// known by its mask: the same bytes have the same error. One that was downloaded from here has
    /// what it had. Of any other nobody knows what it has in common with others.
    fn known(&self, x: &Ciphertext) -> Tracked {
        let exact = |mask| Tracked::exact(self.set().slots(), x.slots(), mask, x.noise().magnitude);
        let noise = x.noise();
        if self.model().is_fresh(noise.deviation, x.scale()) {
            let encoding = self.model().encoding(x.scale(), x.slots());
            return exact(Mask::of(downloads::mask(x))).fresh(noise.deviation, encoding);
        }
        self.downloads().find(x).unwrap_or_else(|mask| exact(mask).with_noise_of(noise))
    }

    fn check_host(&self, x: &Ciphertext) -> Result<()> {
        if x.set() != self.set() {
            return Err(Error::WrongSet {
                what: "a ciphertext",
                expected: self.set().name().into(),
                found: x.set().name().into(),
            });
        }
        if x.key_id() != self.key_id() {
            return Err(Error::WrongKey {
                what: "a ciphertext",
                expected: format!("{:.8}", self.key_id()),
                found: format!("{:.8}", x.key_id()),
            });
        }
        Ok(())
    }
}
