//! Rendering of results: console tables, JSON, CSV, Markdown, HTML.
#![forbid(unsafe_code)]
