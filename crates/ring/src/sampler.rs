//! Secrets, errors and masks from a ChaCha20 stream.
