//! totune-sweep
