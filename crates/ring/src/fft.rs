//! Folded f64 FFT of negacyclic polynomials.
