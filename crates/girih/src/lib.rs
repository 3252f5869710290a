//! girih
