//! Our side, and burn's: the same step over and over.

use anyhow::{Result, bail, ensure};
use burn::module::{Module, Param};
use burn::nn;
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
use totune_model::fused::{self, Clip};
use totune_model::{BiLstm, Constraints, Crf, Linear, Lstm, LstmCell};

use super::squares::{Values, square, squares};
use super::{Body, Layer, Step, Stepping, heads};
use crate::synthetic::{SyntheticWeights, synthetic};

/// A step of `case`, which returns what sides are compared by.
pub fn prepare(case: &Layer, device: &Device) -> Result<Stepping> {
    match case.step {
        Step::LstmTrain | Step::LstmStates => lstm(case, device),
        Step::ElmoTrain | Step::ElmoStates => Ok(elmo(case, device)),
        Step::CrfLoss | Step::CrfDecode => crf(case, device),
        Step::HeadTrain | Step::HeadScores => match case.head {
            Some(head) => heads::prepare(case, head, device),
            None => bail!("a case without a head"),
        },
    }
}

/// Synthetic input `[batch, seq, width]`.
fn input(case: &Layer, width: usize, device: &Device) -> Tensor<3> {
    let (batch, seq) = (case.lengths.len(), case.seq());
    let values = synthetic(batch * seq * width, 12345, 1.0);
    Tensor::from_data(TensorData::new(values, [batch, seq, width]), device)
}

fn lstm(case: &Layer, device: &Device) -> Result<Stepping> {
    let mask = case.is_padded().then(|| case.mask(device));
    let model = Model::new(case, device)?;
    if case.step == Step::LstmStates {
        let x = input(case, case.input, device);
        return Ok(Box::new(move || {
            let states = model.forward(x.clone(), mask.as_ref());
            vec![states.powi_scalar(2).mean().into_scalar::<f32>().into()]
        }));
    }
    let model = model.train();
    let x = input(case, case.input, &device.clone().autodiff()).require_grad();
    let mut values = Values::default();
    Ok(Box::new(move || {
        let states = model.forward(x.clone(), mask.as_ref());
        let loss = states.powi_scalar(2).mean();
        let value = loss.clone().into_scalar::<f32>();
        let gradients = loss.backward();
        values.of(value, || {
            [square(&x, &gradients), squares(&model, &gradients)]
        })
    }))
}

fn crf(case: &Layer, device: &Device) -> Result<Stepping> {
    ensure!(case.body == Body::Totune, "burn has no such layer");
    let mut crf = Crf::new(case.tags, false, 1, device);
    let transitions = synthetic(case.tags * case.tags, 0, 1.0);
    let transitions = TensorData::new(transitions, [case.tags, case.tags]);
    crf.transitions = Param::from_tensor(Tensor::from_data(transitions, device));
    let mask = case.mask(device);
    if case.step == Step::CrfDecode {
        let emissions = input(case, case.tags, device);
        let allowed = Constraints::none(case.tags);
        return Ok(Box::new(move || {
            let paths = crf.decode(emissions.clone(), mask.clone(), &allowed);
            let places = paths.iter().flat_map(|path| path.iter().enumerate());
            vec![places.map(|(i, &tag)| ((i + 1) * tag) as f64).sum()]
        }));
    }
    let crf = crf.train();
    let emissions = input(case, case.tags, &device.clone().autodiff()).require_grad();
    let shape = [case.lengths.len(), case.seq()];
    let tags: Vec<i64> = (0..shape[0] * shape[1])
        .map(|i| (i * 7 % case.tags) as i64)
        .collect();
    let tags = Tensor::<2, Int>::from_data(TensorData::new(tags, shape), device);
    let mut values = Values::default();
    Ok(Box::new(move || {
        let log_p = crf.log_likelihood(emissions.clone(), tags.clone(), mask.clone());
        let loss = log_p.mean().neg();
        let value = loss.clone().into_scalar::<f32>();
        let gradients = loss.backward();
        values.of(value, || {
            [square(&emissions, &gradients), squares(&crf, &gradients)]
        })
    }))
}

/// A step of ELMo's LSTM, or of burn's with as many cells.
fn elmo(case: &Layer, device: &Device) -> Stepping {
    let train = case.step == Step::ElmoTrain;
    let device = if train {
        device.clone().autodiff()
    } else {
        device.clone()
    };
    let leaf = |values: Tensor<1>| if train { values.require_grad() } else { values };
    let (batch, seq) = (case.lengths.len(), case.seq());
    let running: Vec<usize> = (0..seq)
        .map(|t| case.lengths.iter().filter(|&&n| n > t).count())
        .collect();
    let rows = match case.body {
        Body::Totune => running.iter().sum(),
        Body::Burn => batch * seq,
    };
    let n = rows * case.input;
    let x = TensorData::new(synthetic(n, 12345, 1.0), [n]);
    let x = leaf(Tensor::from_data(x, &device));
    let mut values = Values::default();
    let mut loss = move |states: Tensor<1>, weights: &dyn Fn(&Gradients) -> [f64; 2]| {
        let loss = states.powi_scalar(2).mean();
        let value = loss.clone().into_scalar::<f32>();
        if !train {
            return vec![value.into()];
        }
        let gradients = loss.backward();
        values.of(value, || weights(&gradients))
    };
    let (width, cell) = (case.input, case.hidden);
    if case.body == Body::Burn {
        let lstm = nn::LstmConfig::new(width, cell, true).init(&device);
        return Box::new(move || {
            let (states, _) = lstm.forward(x.clone().reshape([batch, seq, width]), None);
            loss(states.reshape([batch * seq * cell]), &|gradients| {
                [square(&x, gradients), squares(&lstm, gradients)]
            })
        });
    }
    let mut offset = 0;
    let mut take = |shape: &[usize]| {
        let n = shape.iter().product();
        let values = TensorData::new(synthetic(n, offset, 0.1), shape.to_vec());
        offset += n;
        values
    };
    let (weight, bias) = (take(&[4 * cell, width]), take(&[4 * cell]));
    let input = Linear {
        weight: Param::from_tensor(Tensor::from_data(weight, &device)),
        bias: Some(Param::from_tensor(Tensor::from_data(bias, &device))),
        lora: None,
        precision: fused::Precision::F32,
    };
    let state = Param::from_tensor(Tensor::from_data(take(&[4 * cell, width]), &device));
    let projection = Param::from_tensor(Tensor::from_data(take(&[width, cell]), &device));
    let clip = Clip {
        cell: 3.0,
        projection: 3.0,
    };
    Box::new(move || {
        let products = input.forward(x.clone().reshape([rows, width]));
        let states = fused::projected_lstm(products, state.val(), projection.val(), &running, clip);
        loss(states.reshape([rows * width]), &|gradients| {
            let others = square(&state.val(), gradients) + square(&projection.val(), gradients);
            [square(&x, gradients), squares(&input, gradients) + others]
        })
    })
}

#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "a process has one")]
enum Model {
    One(Lstm),
    Two(BiLstm),
    BurnOne(nn::Lstm),
    BurnTwo(nn::BiLstm),
}

impl Model {
    fn new(case: &Layer, device: &Device) -> Result<Self> {
        let shape = [case.input, case.hidden];
        let mut weights = SyntheticWeights::new(0.1);
        if !case.bidirectional {
            let lstm = Lstm::load(&mut weights, "lstm", shape, 1, device)?;
            return Ok(match case.body {
                Body::Totune => Self::One(lstm),
                Body::Burn => Self::BurnOne(in_burn(&lstm.layers[0], device)),
            });
        }
        let lstm = BiLstm::load(&mut weights, "lstm", shape, 1, device)?;
        Ok(match case.body {
            Body::Totune => Self::Two(lstm),
            Body::Burn => {
                let layer = &lstm.layers[0];
                let mut both = nn::BiLstmConfig::new(case.input, case.hidden, true).init(device);
                both.forward = in_burn(&layer.forward, device);
                both.reverse = in_burn(&layer.backward, device);
                Self::BurnTwo(both)
            }
        })
    }

    fn forward(&self, x: Tensor<3>, mask: Option<&Tensor<2>>) -> Tensor<3> {
        match self {
            Self::One(lstm) => lstm.forward(x, mask),
            Self::Two(lstm) => lstm.forward(x, mask),
            Self::BurnOne(lstm) => lstm.forward(x, None).0,
            Self::BurnTwo(lstm) => lstm.forward(x, None).0,
        }
    }
}

/// The same weights as burn has them: a matrix `[in, hidden]` for each gate.
fn in_burn(cell: &LstmCell, device: &Device) -> nn::Lstm {
    let ([_, hidden], [_, input]) = (cell.weight_hh.dims(), cell.weight_ih.dims());
    let mut lstm = nn::LstmConfig::new(input, hidden, true).init(device);
    let forget = lstm.forget_gate.as_mut().expect("gates are not coupled");
    let gates = [
        &mut lstm.input_gate,
        forget,
        &mut lstm.cell_gate,
        &mut lstm.output_gate,
    ];
    for (i, gate) in gates.into_iter().enumerate() {
        let matrix = |weight: &Param<Tensor<2>>| {
            let part = weight.val().narrow(0, i * hidden, hidden).transpose();
            // Its own numbers, row by row, as a new layer of burn's has them.
            Param::from_tensor(Tensor::from_data(part.into_data(), device))
        };
        let bias = |bias: &Param<Tensor<1>>| {
            Some(Param::from_tensor(bias.val().narrow(0, i * hidden, hidden)))
        };
        gate.input_transform.weight = matrix(&cell.weight_ih);
        gate.input_transform.bias = bias(&cell.bias_ih);
        gate.hidden_transform.weight = matrix(&cell.weight_hh);
        gate.hidden_transform.bias = bias(&cell.bias_hh);
    }
    lstm
}
