//! totune-data
