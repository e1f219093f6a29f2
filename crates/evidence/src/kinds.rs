//! Kinds of quantities, tables and figures: one line registers a kind.

/// Defines an enum that is deserialised by its `kind`, with the settings of each kind in a module of its own, and that
/// gives access to its value as a trait. Each variant is a struct of the same name in its module.
#[macro_export]
macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident as $trait:ident { $($kind:ident = $($module:ident)::+),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, serde::Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub(crate) enum $name {
            $($kind($($module)::+::$kind)),*
        }

        impl $name {
            pub(crate) fn get(&self) -> &(dyn $trait + 'static) {
                match self {
                    $(Self::$kind(kind) => kind),*
                }
            }
        }
    };
}
