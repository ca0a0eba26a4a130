//! Counts the heap allocations of a benchmark: each call that asks the system's allocator for memory is one.
//!
//! The count is exact for a program with one thread. It is read and written, not incremented atomically: a locked
//! increment would cost an engine that allocates more than it costs one that does not.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what is asked of the system's allocator.
struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() {
    COUNT.store(so_far().wrapping_add(1), Ordering::Relaxed);
}

/// The allocations since the program began.
pub fn so_far() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

#[expect(unsafe_code, reason = "the trait is unsafe; every call goes to the system's allocator as it came")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(pointer, layout, size) }
    }
}
