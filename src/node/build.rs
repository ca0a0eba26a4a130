//! Links an addon of Node.

fn main() {
    napi_build::setup();
}
