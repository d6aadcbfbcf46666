#![deny(unused_must_use)]

use tachograph_publish::Timer;

fn measure(timer: &Timer) {
    timer.start();
}

fn main() {}
