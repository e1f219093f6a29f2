//! Compiles the C++ of the fused operations against the libtorch that tch links.

const SOURCES: [&str; 13] = [
    "src/fused/shim.cpp",
    "src/fused/adamw/rows.cpp",
    "src/fused/observer/observer.cpp",
    "src/fused/attention/attention.cpp",
    "src/fused/char_cnn/char_cnn.cpp",
    "src/fused/crf/crf.cpp",
    "src/fused/softmax_loss/softmax_loss.cpp",
    "src/fused/tensor_memory/tensor_memory.cpp",
    "src/fused/projected_lstm/projected_lstm.cpp",
    "src/fused/lstm/lstm.cpp",
    "src/fused/highway_lstm/highway_lstm.cpp",
    "src/fused/transformer/sublayers.cpp",
    "src/fused/transformer/operators/operators.cpp",
];

/// Read by most of these.
const HEADERS: [&str; 9] = [
    "src/fused/attention/attention.h",
    "src/fused/flushing.h",
    "src/fused/highway_lstm/operations.h",
    "src/fused/levels.h",
    "src/fused/products.h",
    "src/fused/projected_lstm/stacked.h",
    "src/fused/projected_lstm/steps.h",
    "src/fused/shared.h",
    "src/fused/vectors.h",
];

/// Compiled once for each width of vectors; which one runs is decided when the program starts.
const ROWS: [&str; 2] = ["src/fused/lstm/rows.cpp", "src/fused/lstm/rows.h"];

/// The same for the operations between the products of a transformer layer.
const PASSES: [&str; 2] = [
    "src/fused/transformer/passes.cpp",
    "src/fused/transformer/passes.h",
];

fn main() {
    let compiled = SOURCES.into_iter().chain(ROWS).chain(PASSES);
    for source in compiled.chain(HEADERS) {
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
    let x86 = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    let build = || {
        let mut build = cc::Build::new();
        build
            .cpp(true)
            .std("c++17")
            .flag_if_supported("-Wno-unused-parameter")
            // Vectors are only passed between functions that are inlined into one another.
            .flag_if_supported("-Wno-psabi")
            // Floating point exceptions are not used; without this, loops with a branch in them run number by number.
            .flag_if_supported("-fno-trapping-math")
            // Nor is errno, which a root of each number by itself would set.
            .flag_if_supported("-fno-math-errno")
            .opt_level(3);
        if x86 {
            build.define("TOTUNE_X86", None);
        }
        build
    };
    let mut shim = build();
    // A system's header has no warnings.
    shim.flag("-isystem").flag(format!("{libtorch}/include"));
    let threads = with_threads(&mut shim);
    let precompiled = precompile(&mut shim, "ATen/ATen.h");
    shim.files(SOURCES).compile("totune_shim");
    if threads {
        println!("cargo:rustc-link-lib=gomp");
    }
    if let Some(precompiled) = precompiled {
        // Hundreds of megabytes that nothing reads again.
        let _ = std::fs::remove_file(precompiled);
    }
    // Floats in a vector, and rows that share the weights in registers: 16 registers, and 32 for the widest.
    rows(build(), "rows_default", 4, 3, &[]);
    if x86 {
        rows(build(), "rows_avx2", 8, 3, &["-mavx2", "-mfma"]);
        rows(build(), "rows_avx512", 16, 6, &["-mavx512f", "-mfma"]);
    }
    passes(build(), "passes_default", 4, &[]);
    if x86 {
        passes(build(), "passes_avx2", 8, &["-mavx2", "-mfma"]);
        let avx512 = ["f", "bw", "vl", "dq"].map(|part| format!("-mavx512{part}"));
        let flags = avx512.iter().map(String::as_str).chain(["-mfma"]);
        passes(build(), "passes_avx512", 16, &flags.collect::<Vec<_>>());
    }
}

/// Lets `at::parallel_for` of our own files divide its work among LibTorch's threads, which are those of GCC's OpenMP. It
/// is a template, and runs everything on one thread in files that are compiled without OpenMP, as they are by other compilers:
/// those would bring threads of another library.
#[cfg(feature = "tch")]
fn with_threads(build: &mut cc::Build) -> bool {
    let gcc = build.get_compiler().is_like_gnu();
    if gcc {
        build.flag("-fopenmp");
    } else {
        println!(
            "cargo:warning=the C++ compiler is not GCC: totune's own loops will run on one thread"
        );
    }
    gcc
}

/// Compiles a header once for all files of `build`, where the compiler is GCC; LibTorch's takes 15 s in each of them.
#[cfg(feature = "tch")]
fn precompile(build: &mut cc::Build, header: &str) -> Option<String> {
    let compiler = build.get_compiler();
    let out = std::env::var("OUT_DIR").ok()?;
    let first = format!("{out}/first.h");
    let precompiled = format!("{first}.gch");
    std::fs::write(&first, format!("#include <{header}>\n")).ok()?;
    let mut command = compiler.to_command();
    command.args(["-x", "c++-header", &first, "-o", &precompiled]);
    let is_precompiled =
        compiler.is_like_gnu() && command.status().is_ok_and(|status| status.success());
    is_precompiled.then(|| {
        build.flag("-include").flag(&first);
        precompiled
    })
}

#[cfg(feature = "tch")]
fn rows(mut build: cc::Build, level: &str, width: usize, rows: usize, flags: &[&str]) {
    build
        .define("LEVEL", level)
        .define("WIDTH", width.to_string().as_str())
        .define("ROWS", rows.to_string().as_str())
        .flag_if_supported("-ffp-contract=fast");
    for flag in flags {
        build.flag(flag);
    }
    build.file(ROWS[0]).compile(&format!("totune_{level}"));
}

#[cfg(feature = "tch")]
fn passes(mut build: cc::Build, level: &str, width: usize, flags: &[&str]) {
    build
        .define("LEVEL", level)
        .define("WIDTH", width.to_string().as_str())
        .flag_if_supported("-ffp-contract=fast");
    for flag in flags {
        build.flag(flag);
    }
    build.file(PASSES[0]).compile(&format!("totune_{level}"));
}
