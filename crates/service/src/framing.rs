//! Several byte strings in one body: each behind its length, four bytes, the lowest first.

/// The parts as one body.
///
/// # Panics
/// For a part of 4 GiB or more, which no body of this service may have.
pub fn join(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::with_capacity(parts.iter().map(|part| 4 + part.len()).sum());
    for part in parts {
        let length = u32::try_from(part.len()).expect("bodies are below 4 GiB");
        body.extend(length.to_le_bytes());
        body.extend(part);
    }
    body
}

/// The `COUNT` parts of a body.
///
/// # Errors
/// A sentence, for a body of another number of parts, or one that ends within a part.
pub fn split<const COUNT: usize>(mut body: &[u8]) -> Result<[&[u8]; COUNT], String> {
    let mut parts = [&[][..]; COUNT];
    for (index, part) in parts.iter_mut().enumerate() {
        let (length, rest) = body
            .split_first_chunk::<4>()
            .ok_or_else(|| format!("the body ends after {index} of {COUNT} parts"))?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > rest.len() {
            return Err(format!(
                "part {index} should have {length} bytes, and {} are left of the body",
                rest.len()
            ));
        }
        (*part, body) = rest.split_at(length);
    }
    match body.len() {
        0 => Ok(parts),
        more => Err(format!("{more} bytes follow the {COUNT} parts of the body")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_is_split() {
        let body = join(&[vec![1, 2], Vec::new(), vec![3]]);
        assert_eq!(split::<3>(&body), Ok([&[1, 2][..], &[], &[3]]));
    }

    #[test]
    fn other_bodies_are_refused_in_words() {
        let body = join(&[vec![1, 2], vec![3]]);
        for (cut, why) in [
            (body.len() - 1, "part 1 should have 1 bytes, and 0 are left"),
            (6, "the body ends after 1 of 2 parts"),
            (3, "the body ends after 0 of 2 parts"),
        ] {
            let error = split::<2>(&body[..cut]).expect_err("it is cut");
            assert!(error.contains(why), "{error}");
        }
        let error = split::<1>(&body).expect_err("it has two");
        assert!(error.contains("5 bytes follow"), "{error}");
    }
}
