//! What a piece of code asks of the allocator, counted on the thread that runs it.
//!
//! In: a closure. Out: its result, how often it allocated, and the bytes it took and gave back. Work that is counted is the
//! same on every machine and under every load; time is not. The benchmarks of tasks count with this file too.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator with a count.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What was asked of the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    /// Calls that gave memory, growth of what was there included.
    pub times: u64,
    /// Bytes that were asked for, growth as if it were new.
    pub bytes: u64,
    /// Bytes that were given back.
    pub freed: u64,
}

thread_local! {
    // const and without a destructor, so that reading it never allocates
    static COUNT: Cell<Allocated> = const { Cell::new(Allocated { times: 0, bytes: 0, freed: 0 }) };
}

fn count(taken: usize, freed: usize) {
    COUNT.with(|count| {
        let Allocated { times, bytes, freed: before } = count.get();
        let times = times + u64::from(taken > 0);
        count.set(Allocated { times, bytes: bytes + taken as u64, freed: before + freed as u64 });
    });
}

#[expect(unsafe_code, reason = "the trait is unsafe; every call goes to the system's allocator as it came")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// What a closure gives and what it asked of the allocator.
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, Allocated) {
    let before = COUNT.get();
    let result = work();
    let after = COUNT.get();
    let allocated = Allocated {
        times: after.times - before.times,
        bytes: after.bytes - before.bytes,
        freed: after.freed - before.freed,
    };
    (result, allocated)
}
