//! totune-adapt
