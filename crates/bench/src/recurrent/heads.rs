//! Whole heads of wang2019: BiMPM over pairs, and highway LSTMs over texts, on given hidden states.

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};
use totune_model::{
    Bimpm, BimpmSpec, HeadKind, HighwayLstm, HighwayLstmSpec, HighwayReading, Pass, Segment,
};

use super::squares::{Values, square, squares};
use super::{Body, Layer, Step, Stepping};
use crate::synthetic::{SyntheticWeights, synthetic};

/// A head to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Head {
    /// All four matchings under 20 perspectives of a BiLSTM of 100 in each direction, a BiLSTM of 100 above them.
    Bimpm,
    /// Two layers of 200 in each direction, the memory of a layer gated into that above.
    DepthGated,
    /// The same with a gate between an output and a linear function of the input.
    Augmented,
}

const LABELS: usize = 2;
/// Scale of synthetic weights: large enough that gates and cosines differ between tokens.
const SCALE: f64 = 0.1;

#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "a process has one")]
enum Network {
    Bimpm(Bimpm),
    Highway(HighwayLstm),
}

impl Network {
    fn new(case: &Layer, head: Head, device: &Device) -> Result<Self> {
        let mut weights = SyntheticWeights::new(SCALE);
        let reading = match head {
            Head::Bimpm => {
                let spec = BimpmSpec {
                    context_hidden: case.hidden,
                    dropout: 0.0,
                    ..BimpmSpec::default()
                };
                let network = Bimpm::load(&spec, case.input, LABELS, &mut weights, device)?;
                return Ok(Self::Bimpm(network));
            }
            Head::DepthGated => HighwayReading::DepthGated,
            Head::Augmented => HighwayReading::Augmented,
        };
        let spec = HighwayLstmSpec {
            reading,
            hidden: case.hidden,
            dropout: 0.0,
            ..HighwayLstmSpec::default()
        };
        let network = HighwayLstm::load(&spec, case.input, LABELS, &mut weights, device)?;
        Ok(Self::Highway(network))
    }

    /// Scores `[batch, labels]` of texts, or of each text and the one that `b` pairs it with.
    fn forward(&self, a: Segment, b: Segment) -> Tensor<2> {
        let pass = Pass::evaluation();
        match self {
            Self::Bimpm(network) => network.forward(a, b, &pass),
            Self::Highway(network) => network.forward(a, &pass),
        }
    }
}

/// A step: the mean square of the scores, in training with its gradient in the states and all weights.
pub fn prepare(case: &Layer, head: Head, device: &Device) -> Result<Stepping> {
    ensure!(case.body == Body::Totune, "burn has no such head");
    let train = case.step == Step::HeadTrain;
    let graph = device.clone().autodiff();
    let network = Network::new(case, head, device)?;
    let network = if train { network.train() } else { network };
    let (batch, seq) = (case.lengths.len(), case.seq());
    let states = |offset: usize| {
        let values = synthetic(batch * seq * case.input, offset, 1.0);
        let data = TensorData::new(values, [batch, seq, case.input]);
        if train {
            Tensor::<3>::from_data(data, &graph).require_grad()
        } else {
            Tensor::from_data(data, device)
        }
    };
    let (a, b) = (states(12345), states(54321));
    let mask = case.mask(device);
    let mut values = Values::default();
    Ok(Box::new(move || {
        let segment = |states: &Tensor<3>| Segment {
            states: states.clone(),
            mask: mask.clone(),
        };
        let loss = network
            .forward(segment(&a), segment(&b))
            .powi_scalar(2)
            .mean();
        let value = loss.clone().into_scalar::<f32>();
        if !train {
            return vec![value.into()];
        }
        let gradients = loss.backward();
        values.of(value, || {
            [square(&a, &gradients), squares(&network, &gradients)]
        })
    }))
}
