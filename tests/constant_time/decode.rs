//! As much of x86-64's encoding as it takes to say which registers an operand in memory is
//! addressed by.

use std::ops::Range;

/// A digest of the registers that the instruction at `at` addresses memory by, and of the dividend
/// of a division; 0 without either, and for memory at `aside`. [`UNKNOWN`] for an instruction that
/// gathers or scatters by a vector.
///
/// # Safety
/// `at` points at an instruction.
pub unsafe fn touched(at: *const u8, registers: &[i64; 23], aside: Range<u64>) -> u64 {
    // SAFETY: instructions have the bytes that are read: each is read after those that say so.
    let byte = |i: usize| unsafe { *at.add(i) };
    digest(&byte, registers, &aside)
}

/// Order of `gregs` for the numbers of instructions.
const PLACES: [i32; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Map of an opcode: of one byte, after 0F, after 0F 38, after 0F 3A.
struct Head {
    map: u8,
    opcode: u8,
    /// Place of the byte after the opcode.
    next: usize,
    index_high: u8,
    base_high: u8,
    is_vector: bool,
}

fn head(byte: &dyn Fn(usize) -> u8) -> Head {
    let mut i = 0;
    while matches!(
        byte(i),
        0x66 | 0x67 | 0xf0 | 0xf2 | 0xf3 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65
    ) {
        i += 1;
    }
    let high = |b: u8| (b >> 1 & 1, b & 1);
    match byte(i) {
        0xc5 => {
            return Head {
                map: 1,
                opcode: byte(i + 2),
                next: i + 3,
                index_high: 0,
                base_high: 0,
                is_vector: true,
            };
        }
        0xc4 | 0x62 => {
            // The bits are stored inverted.
            let (index_high, base_high) = high(!byte(i + 1) >> 5);
            let at = if byte(i) == 0xc4 { i + 3 } else { i + 4 };
            let map = byte(i + 1) & 7;
            return Head {
                map,
                opcode: byte(at),
                next: at + 1,
                index_high,
                base_high,
                is_vector: true,
            };
        }
        _ => {}
    }
    let (mut index_high, mut base_high) = (0, 0);
    if byte(i) & 0xf0 == 0x40 {
        (index_high, base_high) = high(byte(i));
        i += 1;
    }
    let (map, i) = match (byte(i), byte(i + usize::from(byte(i) == 0x0f))) {
        (0x0f, 0x38) => (2, i + 2),
        (0x0f, 0x3a) => (3, i + 2),
        (0x0f, _) => (1, i + 1),
        _ => (0, i),
    };
    Head { map, opcode: byte(i), next: i + 1, index_high, base_high, is_vector: false }
}

/// Whether a byte that names operands follows.
fn has_operands(head: &Head) -> bool {
    match (head.map, head.opcode) {
        (0, 0x00..=0x3f) => head.opcode & 7 < 4,
        (0, 0x63 | 0x69 | 0x6b | 0x80..=0x8f | 0xc0 | 0xc1 | 0xc6 | 0xc7 | 0xd0..=0xd3) => true,
        (0, 0xd8..=0xdf | 0xf6 | 0xf7 | 0xfe | 0xff) => true,
        (0, _) => false,
        (1, 0x05..=0x09 | 0x0b | 0x0e | 0x30..=0x37 | 0x77 | 0xa0..=0xa2 | 0xa8..=0xaa) => false,
        (1, 0x80..=0x8f | 0xc8..=0xcf) => head.is_vector,
        _ => true,
    }
}

fn digest(byte: &dyn Fn(usize) -> u8, registers: &[i64; 23], aside: &Range<u64>) -> u64 {
    let value = |number: u8| registers[PLACES[usize::from(number & 15)] as usize] as u64;
    let mix = |sum: u64, x: u64| (sum ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let at = |sum: u64, address: u64| {
        if aside.contains(&address) { sum } else { mix(sum, address) }
    };
    let head = head(byte);
    // Strings: source, target, count.
    if head.map == 0 && matches!(head.opcode, 0xa4..=0xa7 | 0xaa..=0xaf) {
        return mix(mix(mix(1, value(6)), value(7)), value(1));
    }
    if !has_operands(&head) {
        return 0;
    }
    let operands = byte(head.next);
    let (mode, register, low) = (operands >> 6, operands >> 3 & 7, operands & 7);
    let mut sum = 0;
    if head.map == 0 && matches!(head.opcode, 0xf6 | 0xf7) && register >= 6 {
        sum = mix(mix(2, value(0)), value(2));
        if mode == 3 {
            sum = mix(sum, value(low | head.base_high << 3));
        }
    }
    // An address that is computed and not used, and an instruction that does nothing.
    let is_idle = match head.map {
        0 => head.opcode == 0x8d,
        1 => !head.is_vector && matches!(head.opcode, 0x19..=0x1f),
        _ => false,
    };
    if mode == 3 || is_idle {
        return sum;
    }
    if low != 4 {
        // Relative to the instruction: no register.
        let is_relative = mode == 0 && low == 5;
        return if is_relative { sum } else { at(sum, value(low | head.base_high << 3)) };
    }
    let scaled = byte(head.next + 1);
    let (shift, index, base) = (scaled >> 6, scaled >> 3 & 7, scaled & 7);
    let mut address = 0u64;
    if !(mode == 0 && base == 5) {
        address = value(base | head.base_high << 3);
    }
    if head.is_vector && head.map == 2 && matches!(head.opcode, 0x90..=0x93 | 0xa0..=0xa3) {
        return UNKNOWN;
    }
    let index = index | head.index_high << 3;
    if index != 4 {
        address = address.wrapping_add(value(index) << shift);
    }
    at(sum, address)
}

/// What a gather or a scatter gives, whose addresses lie in a vector.
pub const UNKNOWN: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    /// Instructions as GNU as encodes them, and by which registers they address memory.
    #[test]
    fn operands_in_memory() {
        let mut registers = [0; 23];
        for (number, &place) in PLACES.iter().enumerate() {
            registers[place as usize] = 1 << (2 * number);
        }
        let of = |bytes: &[u8]| {
            let padded: Vec<u8> = bytes.iter().copied().chain([0x90; 15]).collect();
            digest(&|i| padded[i], &registers, &(0..0))
        };
        let plain = |address: u64| {
            let moved = [0x8b, 0x07];
            let mut registers = registers;
            registers[libc::REG_RDI as usize] = address as i64;
            let padded: Vec<u8> = moved.iter().copied().chain([0x90; 15]).collect();
            digest(&|i| padded[i], &registers, &(0..0))
        };
        let at = |number: u32| 1u64 << (2 * number);
        for (bytes, want) in [
            // mov eax, [rdi]; mov rax, [r15 + 8]; mov ecx, [rsp + 4]
            (&[0x8b, 0x07][..], Some(at(7))),
            (&[0x49, 0x8b, 0x47, 0x08], Some(at(15))),
            (&[0x8b, 0x4c, 0x24, 0x04], Some(at(4))),
            // mov rax, [r8 + r9*4]; movzx eax, byte ptr [rsi + rcx]
            (&[0x4b, 0x8b, 0x04, 0x88], Some(at(8) + 4 * at(9))),
            (&[0x0f, 0xb6, 0x04, 0x0e], Some(at(6) + at(1))),
            // mov eax, [rip + 4]; lea rax, [rdi + rsi]; nop dword ptr [rax + rax]; mov eax, edi
            (&[0x8b, 0x05, 4, 0, 0, 0], None),
            (&[0x48, 0x8d, 0x04, 0x37], None),
            (&[0x0f, 0x1f, 0x44, 0x00, 0x00], None),
            (&[0x89, 0xf8], None),
            // vmovdqu ymm0, [r10 + r11]; vmovdqu ymm0, [rdi]; vpmulld ymm0, ymm0, [rsi]
            (&[0xc4, 0x81, 0x7e, 0x6f, 0x04, 0x1a], Some(at(10) + at(11))),
            (&[0xc5, 0xfe, 0x6f, 0x07], Some(at(7))),
            (&[0xc4, 0xe2, 0x7d, 0x40, 0x06], Some(at(6))),
            // vmovdqu64 zmm0, [r9]; jne; ret; push rax; imul eax, [rdx], 100
            (&[0x62, 0xd1, 0xfe, 0x48, 0x6f, 0x01], Some(at(9))),
            (&[0x0f, 0x85, 0, 0, 0, 0], None),
            (&[0xc3], None),
            (&[0x50], None),
            (&[0x6b, 0x02, 0x64], Some(at(2))),
        ] {
            assert_eq!(of(bytes), want.map_or(0, plain), "{bytes:x?}");
        }
        // vpgatherdd ymm0, [rax + ymm1], ymm2
        assert_eq!(of(&[0xc4, 0xe2, 0x6d, 0x90, 0x04, 0x08]), UNKNOWN);
        // div ecx notes its operands.
        assert_ne!(of(&[0xf7, 0xf1]), 0);
        assert_eq!(of(&[0xf7, 0xe1]), 0);
    }
}
