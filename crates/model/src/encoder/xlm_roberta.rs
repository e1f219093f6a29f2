//! XLM-RoBERTa (Conneau et al. 2020): RoBERTa's network with a vocabulary of a hundred languages.
//!
//! Its checkpoints have RoBERTa's names, prefix included. Only the tokenizer differs: a unigram SentencePiece.

use serde::{Deserialize, Serialize};
use totune_checkpoint::Naming;

use super::TokenizerKind;
use super::bert::{BertConfig, BertFamily};
use super::roberta::RobertaConfig;

/// The shape of an XLM-RoBERTa, under the names of its `config.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct XlmRobertaConfig(pub RobertaConfig);

impl BertFamily for XlmRobertaConfig {
    const LABEL: &'static str = "xlm-roberta";
    const NAMING: Naming = Naming::Roberta;
    const TOKENIZER: TokenizerKind = TokenizerKind::Unigram;

    fn bert(&self) -> BertConfig {
        self.0.bert()
    }

    fn pad_before_positions(&self) -> Option<u32> {
        self.0.pad_before_positions()
    }
}
