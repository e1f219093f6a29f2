//! Compiles the C++ of the fused operations against the libtorch that tch links.

const SOURCES: [&str; 3] = [
    "src/fused/shim.cpp",
    "src/fused/crf/crf.cpp",
    "src/fused/projected_lstm/projected_lstm.cpp",
];

fn main() {
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
    }
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    #[cfg(feature = "tch")]
    compile_shim();
}

#[cfg(feature = "tch")]
fn compile_shim() {
    let Ok(libtorch) = std::env::var("LIBTORCH") else {
        panic!(
            "the feature `tch` needs LIBTORCH, the folder of libtorch 2.11.0; `./justw` sets it up"
        );
    };
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .flag_if_supported("-Wno-unused-parameter")
        .opt_level(3)
        .include(format!("{libtorch}/include"))
        .include(format!("{libtorch}/include/torch/csrc/api/include"))
        .files(SOURCES)
        .compile("totune_shim");
}
