//! totune-stats
