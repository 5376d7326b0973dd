// code_rust ROUNDS - Rust: a method of a generic type and a closure, which use most of the time. Tells how much.
use std::hint::black_box;
use std::time::Instant;

mod shapes {
    pub struct Mixer<T>(pub T);

    impl Mixer<u64> {
        #[inline(never)]
        pub fn stir(&self, mut state: u64, rounds: u64) -> u64 {
            for _ in 0..rounds {
                state = std::hint::black_box(state) / 3 + self.0; // hottest
            }
            state
        }
    }
}

#[inline(never)]
fn outer(rounds: u64) -> u64 {
    let mixer = shapes::Mixer(0xfffffffffffff_u64);
    black_box(mixer.stir(1, rounds)) + 1
}

fn main() {
    let rounds: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let start = Instant::now();
    let state = black_box(outer(rounds));
    println!("truth wall_s {}", start.elapsed().as_secs_f64());
    std::process::exit((state == 0) as i32);
}
