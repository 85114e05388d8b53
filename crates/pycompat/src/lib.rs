//! Text that equals CPython's: float repr, round, fixed formats, json.dump, the csv dialect, literals, random.Random.
#![forbid(unsafe_code)]
