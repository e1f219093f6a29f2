//! ELMo from its cards: the original, the fixture, a published biLM, the untrained control.

use super::*;

/// Weights that are all zero, for counting them.
struct Zeros;

impl Weights for Zeros {
    fn take(&mut self, _name: &str, shape: &[usize]) -> anyhow::Result<TensorData> {
        let n = shape.iter().product();
        Ok(TensorData::new(vec![0f32; n], shape.to_vec()))
    }
}

#[test]
fn the_original_has_as_many_parameters_as_its_card_says() {
    let catalogue = EncoderCatalogue::read(&project("encoders")).expect("cards");
    for (name, expected) in [("elmo-original", 93_600_848), ("elmo-small", 13_593_296)] {
        let card = catalogue.find(name).expect("a card");
        let totune_model::Architecture::Elmo(options) = &card.architecture else {
            panic!("{name} is no ELMo");
        };
        let elmo = Elmo::load(options, &mut Zeros, &Device::flex()).expect("an ELMo");
        assert_eq!(elmo.num_params(), expected, "{name}");
        assert_eq!(card.parameters, expected as u64, "{name}");
    }
}

#[test]
fn the_fixture_is_loaded_by_its_card() {
    let catalogue = EncoderCatalogue::read(&project("encoders")).expect("cards");
    let card = catalogue.find("fixture-elmo").expect("a card");
    let roots = [project("fixtures/encoders")];
    let loaded = card.load(&roots, &Device::flex()).expect("an ELMo");
    assert_eq!(loaded.checkpoint_hash.len(), 64);
    let reference = Reference::read();
    let batch = batch(&singles(&reference.sentences[..1]), 0, &Device::flex());
    let states = loaded.encoder.encode(&batch, &Pass::evaluation());
    check(&reference, "skip", 0, &states, 0);
}

/// The biLM of bilm-tf's tests. Its sentences were read three at a time, the k-th of each of three files, and the
/// states were carried on from batch to batch.
#[test]
#[ignore = "needs the real checkpoints under TOTUNE_ENCODERS"]
fn a_real_bilm_gives_its_published_outputs() {
    let root = PathBuf::from(std::env::var_os("TOTUNE_ENCODERS").expect("TOTUNE_ENCODERS"));
    let folder = root.join("elmo-tiny");
    let options = ElmoOptions::read(&folder.join("options.json")).expect("options");
    assert!(!options.lstm.use_skip_connections);
    let text = std::fs::read_to_string(folder.join("lm_embeddings_sentences.json"));
    let texts: Vec<Vec<String>> =
        serde_json::from_str(&text.expect("sentences")).expect("lists of texts");
    let outputs: Vec<Checkpoint> = (0..texts.len())
        .map(|i| {
            let file = folder.join(format!("lm_embeddings_{i}.hdf5"));
            Checkpoint::open(&file).expect("expected outputs")
        })
        .collect();
    for device in devices() {
        let elmo =
            load(&options, &folder.join("lm_weights.hdf5"), &device).with_state(LstmState::Carry);
        for k in 0..texts[0].len() {
            let split = |texts: &Vec<String>| texts[k].split(' ').map(String::from).collect();
            let words: Vec<Words> = texts.iter().map(split).collect();
            let states = elmo.encode(&batch(&singles(&words), 0, &device), &Pass::evaluation());
            for (row, words) in words.iter().enumerate() {
                // [direction, words, width]
                let expected = outputs[row].tensor(&k.to_string()).expect("a sentence");
                let (n, width) = (words.len(), elmo.hidden() / 2);
                assert_eq!(expected.shape, [2, n, width]);
                let top = states.top();
                for direction in 0..2 {
                    let half = [
                        row..row + 1,
                        0..n,
                        direction * width..(direction + 1) * width,
                    ];
                    let found = flat(top.clone().slice(half));
                    let expected = &expected.values[direction * n * width..][..n * width];
                    near(
                        &format!("sentence {k} of file {row}"),
                        &found,
                        expected,
                        TOLERANCE,
                    );
                }
            }
        }
    }
}

/// `<name>@random` is the network of a card before any pre-training: always the same, and another one than the card's.
#[test]
fn an_untrained_control_has_the_weights_that_training_begins_with() {
    let catalogue = EncoderCatalogue::read(&project("encoders")).expect("cards");
    let card = catalogue.find("fixture-elmo@random").expect("a control");
    assert!(card.title.ends_with(", random weights"), "{}", card.title);
    assert!(!catalogue.names().contains(&"fixture-elmo@random"));
    let (roots, device) = ([project("fixtures/encoders")], Device::flex());
    let batch = batch(&singles(&Reference::read().sentences[..1]), 0, &device);
    let states = |name: &str| {
        let card = catalogue.find(name).expect("a card");
        let loaded = card.load(&roots, &device).expect("an ELMo");
        let states = loaded.encoder.encode(&batch, &Pass::evaluation());
        let top = states.top();
        (loaded.checkpoint_hash, top.into_data())
    };
    let (hash, random) = states("fixture-elmo@random");
    assert_eq!(hash, "random weights of seed 1");
    assert_eq!(random, states("fixture-elmo@random").1);
    assert_ne!(random, states("fixture-elmo").1);
    for name in ["fixture-bert", "fixture-bert@random"] {
        let card = catalogue.find(name).expect("a card");
        let loaded = card.load(&roots, &device).expect("a BERT");
        assert_eq!(
            loaded.checkpoint_hash.len() == 64,
            !card.untrained,
            "{name}"
        );
    }
}
