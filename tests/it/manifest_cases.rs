//! Documents of the specification's own cases: what must be valid is, and what must not be is refused at its path.
