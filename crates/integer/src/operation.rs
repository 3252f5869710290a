//! What can be computed, and what programs are recorded for.

/// Logic of two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logic {
    And,
    Or,
    Xor,
}

impl Logic {
    #[cfg(test)]
    pub const ALL: [Self; 3] = [Self::And, Self::Or, Self::Xor];

    pub fn of<T>(self, a: T, b: T) -> T
    where
        T: std::ops::BitAnd<Output = T>
            + std::ops::BitOr<Output = T>
            + std::ops::BitXor<Output = T>,
    {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// What two integers are compared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

impl Order {
    #[cfg(test)]
    pub const ALL: [Self; 6] = [
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
        Self::Equal,
        Self::NotEqual,
    ];

    /// Whether the sign of a difference is one of those that are meant.
    pub fn holds(self, sign: i32) -> bool {
        match self {
            Self::Less => sign < 0,
            Self::LessOrEqual => sign <= 0,
            Self::Greater => sign > 0,
            Self::GreaterOrEqual => sign >= 0,
            Self::Equal => sign == 0,
            Self::NotEqual => sign != 0,
        }
    }

    /// In the plain.
    #[cfg(test)]
    pub fn of<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        self.holds(if a < b { -1 } else { i32::from(a > b) })
    }
}

/// Ways to move bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    ShiftLeft,
    ShiftRight,
    RotateLeft,
    RotateRight,
}

impl Move {
    #[cfg(test)]
    pub const ALL: [Self; 4] =
        [Self::ShiftLeft, Self::ShiftRight, Self::RotateLeft, Self::RotateRight];

    pub fn is_left(self) -> bool {
        matches!(self, Self::ShiftLeft | Self::RotateLeft)
    }

    /// Whether bits that leave at one end come in at the other.
    pub fn turns(self) -> bool {
        matches!(self, Self::RotateLeft | Self::RotateRight)
    }
}

/// Which bits of numbers are counted ([`FheUint::count`](crate::FheUint::count)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// Those that are 1.
    Ones,
    /// Those that are 0.
    Zeros,
    /// Those that are 1 from the highest on, up to the first 0.
    LeadingOnes,
    /// Those that are 0 from the highest on, up to the first 1.
    LeadingZeros,
    /// Those that are 1 from the lowest on, up to the first 0.
    TrailingOnes,
    /// Those that are 0 from the lowest on, up to the first 1.
    TrailingZeros,
    /// Those below the highest one: the logarithm to base 2, rounded down, and 0 of 0.
    BelowHighest,
}

impl Count {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 7] = [
        Self::Ones,
        Self::Zeros,
        Self::LeadingOnes,
        Self::LeadingZeros,
        Self::TrailingOnes,
        Self::TrailingZeros,
        Self::BelowHighest,
    ];
}

/// An operation on numbers of digits, or on conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Carries propagated, and errors as of fresh results.
    Clean,
    Add,
    Subtract,
    Negate,
    Absolute,
    Multiply,
    /// Quotient and remainder.
    Divide,
    Logic(Logic),
    Not,
    Compare(Order),
    Minimum,
    Maximum,
    /// A condition, then what it chooses from.
    Select,
    Move(Move, u32),
    /// By an encrypted number of bits.
    MoveBy(Move),
    /// To so many digits.
    Cast(usize),
    /// The result, and whether it left the range.
    AddOverflowing,
    SubtractOverflowing,
    MultiplyOverflowing,
    /// Bits, as a number of so many digits.
    Count(Count, usize),
    /// Of all operands.
    Sum,
    /// Whether the first operand is one of the others, which are known.
    IsIn,
    /// Of a table whose entries are the other operands, known numbers and what stands beside them
    /// in turn: that, and whether the first operand is in it.
    Find,
    /// Of conditions.
    ConditionLogic(Logic),
    ConditionNot,
    ConditionSelect,
    /// Of a condition, as a number of so many digits.
    FromCondition(usize),
}

/// All that decides what is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request<D> {
    pub operation: Operation,
    pub signed: bool,
    /// Of each operand.
    pub operands: Vec<Operand<D>>,
}

/// One operand of a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand<D> {
    /// What an engine knows of each digit.
    Digits(Vec<D>),
    /// The same array as an earlier operand.
    Same(usize),
    /// Known digits, lowest first; of a condition 0 or 1.
    Plain(Vec<u8>),
}
