//! totune-report
