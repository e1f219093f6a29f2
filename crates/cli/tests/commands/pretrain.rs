//! Pre-training from the command line: killed and resumed, exported, and given missing names.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use totune_record::read_pretraining;

use crate::support::Checkout;

/// A checkout with the shortened fixture: 40 steps and 20, a checkpoint every 5.
fn checkout() -> Checkout {
    let checkout = Checkout::new().paper("pretraining").in_processes();
    let path = checkout.path("experiments/pretraining/fixture-mlm.toml");
    let text = fs::read_to_string(path).expect("the fixture's settings");
    let text = text
        .replace("\"fixture-mlm\"", "\"tiny\"")
        .replace("491_520", "20_480")
        .replace("checkpoint-every = 25", "checkpoint-every = 5");
    checkout.write("experiments/pretraining/tiny.toml", &text);
    checkout
}

/// Output of a finished run: steps and losses, and the encoder's weights.
fn left(checkout: &Checkout) -> (Vec<(u64, u64)>, Vec<u8>) {
    let rows = read_pretraining(&checkout.path("results/pretraining/tiny")).expect("a log");
    let losses = rows.iter().map(|row| (row.step, row.loss.to_bits()));
    let weights = checkout.path("runs/pretraining/tiny/encoder/model.safetensors");
    (losses.collect(), fs::read(weights).expect("weights"))
}

/// Each choice that this processor has: one of them is not what the run that goes on would take by its own measurement. Where
/// both round alike, as for this small encoder on some processors, the checkpoint still tells them apart.
#[test]
fn a_resumed_run_multiplies_as_the_interrupted_one_did() {
    for choice in ["onednn", "default"] {
        let disturbed = checkout();
        let mut first = disturbed.command(&["pretrain", "tiny", "--steps", "7"]);
        let first = first.env("TOTUNE_F32_PRODUCTS", choice).output();
        let first = first.expect("starts").status.code();
        if choice == "onednn" && first != Some(130) {
            continue;
        }
        assert_eq!(first, Some(130), "{choice}");
        let mut second = disturbed.command(&["pretrain", "tiny", "--resume"]);
        let second = second.env_remove("TOTUNE_F32_PRODUCTS");
        let second = second.env_remove("TOTUNE_BF16_PRODUCTS");
        assert!(second.status().expect("starts").success(), "{choice}");
        let named = format!("\"f32 {choice}, ").replace('"', "\\\"");
        assert!(newest_checkpoint(&disturbed).contains(&named), "{named}");

        let undisturbed = checkout();
        let mut whole = undisturbed.command(&["pretrain", "tiny"]);
        let whole = whole.env("TOTUNE_F32_PRODUCTS", choice).status();
        assert!(whole.expect("starts").success(), "{choice}");
        let [found, expected] = [&disturbed, &undisturbed].map(|checkout| left(checkout).1);
        assert!(found == expected, "{choice}: the weights differ");
    }
}

/// The newest checkpoint of the run, as far as it is text.
fn newest_checkpoint(checkout: &Checkout) -> String {
    let folder = fs::read_dir(checkout.path("runs/pretraining/tiny")).expect("a folder");
    let paths = folder.map(|entry| entry.expect("an entry").path());
    let newest = paths
        .filter(|path| path.to_string_lossy().ends_with(".safetensors"))
        .max();
    let bytes = fs::read(newest.expect("a checkpoint")).expect("reads");
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_run_killed_again_and_again_ends_with_the_same_weights() {
    let undisturbed = checkout();
    let clock = Instant::now();
    undisturbed.succeed(&["pretrain", "tiny"]);
    let whole = clock.elapsed();
    let disturbed = checkout();
    for kill in 1..=6u32 {
        let mut child = disturbed
            .command(&["pretrain", "tiny", "--resume"])
            .spawn()
            .expect("starts");
        sleep(whole * kill / 8);
        child.kill().expect("SIGKILL");
        child.wait().expect("ended");
    }
    disturbed.succeed(&["pretrain", "tiny", "--resume"]);
    let (found, expected) = (left(&disturbed), left(&undisturbed));
    assert!(found.1 == expected.1, "the weights differ");
    // Rows that a kill interrupts cover fewer steps, so the last one of each is compared.
    assert_eq!(
        found.0.last().map(|row| row.0),
        expected.0.last().map(|row| row.0)
    );
}

#[test]
fn an_interrupted_run_says_how_to_continue_and_can_be_exported() {
    let checkout = checkout();
    // What a try without a checkpoint left may be of other settings.
    let vocabulary = "runs/pretraining/tiny/vocab.txt";
    checkout.write(vocabulary, "[PAD]\n[UNK]\n");
    let said = checkout.run(&["pretrain", "tiny", "--steps", "7"]);
    assert_eq!(said.code, Some(130), "{}", said.err);
    let expected = "interrupted after step 7 of 60; rerun with --resume to continue";
    assert!(said.err.contains(expected), "{}", said.err);

    let said = checkout.run(&["pretrain", "tiny"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("has a run that took 7 steps"),
        "{}",
        said.err
    );

    let out = checkout.succeed(&["pretrain", "tiny", "--export"]);
    assert!(out.contains("fixture-prose"), "{out}");
    let encoder = checkout.path("runs/pretraining/tiny/encoder");
    for name in ["model.safetensors", "config.json", "vocab.txt", "card.toml"] {
        assert!(encoder.join(name).is_file(), "{name}");
    }
    let card = fs::read_to_string(encoder.join("card.toml")).expect("a card");
    assert!(card.contains("licence  = \"MIT OR Apache-2.0\""), "{card}");

    let settings = "experiments/pretraining/tiny.toml";
    let text = fs::read_to_string(checkout.path(settings)).expect("the settings");
    assert!(text.contains("share = 0.15"), "{text}");
    checkout.write(settings, &text.replace("share = 0.15", "share = 0.5"));
    let said = checkout.run(&["pretrain", "tiny", "--export"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("settings changed"), "{}", said.err);
}

#[test]
fn an_exported_encoder_is_found_by_its_card_without_a_setting() {
    let checkout = checkout();
    checkout.run(&["pretrain", "tiny", "--steps", "2"]);
    let to = checkout.path("encoders/tiny");
    let to = to.to_str().expect("UTF-8");
    checkout.succeed(&["pretrain", "tiny", "--export", "--to", to]);
    let card = checkout.path("encoders/tiny/card.toml");
    let text = fs::read_to_string(&card).expect("UTF-8");
    assert!(text.contains("trained-on = [\"fixture-prose\"]"), "{text}");
    fs::rename(card, checkout.path("encoders/tiny.toml")).expect("a card");
    let out = checkout.succeed(&["encoders", "check", "tiny"]);
    assert!(out.contains("tiny"), "{out}");
}

#[test]
fn what_is_not_there_is_named() {
    let checkout = checkout();
    let said = checkout.run(&["pretrain", "tinny"]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.err.contains("unknown pre-training run `tinny`"),
        "{}",
        said.err
    );
    assert!(said.err.contains("fixture-mlm, tiny"), "{}", said.err);
    let said = checkout.run(&["pretrain", "tiny", "--export"]);
    assert!(
        said.err.contains("has no checkpoint to export"),
        "{}",
        said.err
    );
    let limit = Duration::from_secs(60);
    let clock = Instant::now();
    let said = checkout.run(&["pretrain", "totune-bert-mini"]);
    assert!(said.err.contains("missing"), "{}", said.err);
    assert!(clock.elapsed() < limit, "refused before anything is read");
}
