//! Report pages in a browser: what they show, what a click does, what a hostile name cannot do.
//!
//! Without Chromium (`chromium` on Debian) the tests print `skipped: …`. `PERFDB_SCREENSHOTS=FOLDER` keeps pictures of the pages.

mod behaviour;
mod browser;
mod reports;
