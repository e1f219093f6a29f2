//! totune-model
