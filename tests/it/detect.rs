//! Personal data and secrets in values: every kind by its example, texts as data, and laws that hold for all values.
