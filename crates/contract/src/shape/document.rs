//! Declares a document once: the struct, how serde reads and prints it, and its shape.

/// Declares a struct together with its [`Object`](super::Object), from which validator and JSON Schema come.
///
/// ```text
/// document! {
///     /// how long the task took
///     #[shape(name = "timing", unknown = Refused, null = absent)]
///     #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
///     pub struct Timing {
///         pub started_at: Timestamp as TIME,
///         /// in whole seconds
///         pub duration_seconds: u64,
///         /// 0 if absent
///         pub retries_attempted: Option<u64>,
///         #[optional]
///         pub notes: Vec<String>,
///         #[serde(rename = "type")]
///         pub kind: String as NON_BLANK,
///     }
/// }
/// ```
///
/// - `///` comments are published as descriptions, `//` comments are not.
/// - A field is required, unless its type is `Option<…>`, or it says `#[optional]` or `#[serde(default)]`.
///   What is `None` or, under `#[optional]`, empty is not printed. `#[shape(required)]` and `#[shape(optional)]`
///   say that the validator differs from serde here.
/// - `null` in place of an `Option` is refused, unless the struct says `null = absent`.
/// - The shape of a field is that of its type ([`Described`](super::Described)); `as` names another, whole.
/// - `#[serde(flatten)] pub extra: Map<…> = [optional("x_note", TEXT, "")]` takes fields the struct does not
///   name; the list describes those that have a shape nevertheless.
macro_rules! document {
    (
        $(#[doc = $about:literal])*
        #[shape(name = $name:literal, unknown = $unknown:ident $(, null = $null:ident)?)]
        $(#[$meta:meta])*
        $vis:vis struct $type:ident { $($fields:tt)* }
    ) => {
        $crate::shape::document! { @field [$($null)?]
            { [$($about)*] [$name] [$unknown] [$(#[$meta])*] [$vis] [$type] } {} {} $($fields)*
        }
    };

    // All fields are read: print the struct and its shape.
    (@field $null:tt
        { [$($about:literal)*] [$name:literal] [$unknown:ident] [$($meta:tt)*] [$vis:vis] [$type:ident] }
        { $($struct:tt)* } { $($shape:tt)* }
    ) => {
        $(#[doc = $about])*
        $($meta)*
        $vis struct $type { $($struct)* }

        impl $type {
            $vis const OBJECT: &'static $crate::shape::Object = {
                static OBJECT: $crate::shape::Object = $crate::shape::Object {
                    name: $name,
                    about: $crate::shape::about(concat!($($about),*)),
                    fields: &[$($shape)*],
                    unknown: $crate::shape::Unknown::$unknown,
                };
                &OBJECT
            };
        }

        impl $crate::shape::Described for $type {
            const SHAPE: $crate::shape::Shape = $crate::shape::Shape::Object(Self::OBJECT);
        }
    };

    // Vendor data looks the same in every object.
    (@field $null:tt $head:tt { $($struct:tt)* } { $($shape:tt)* }
        $vis:vis extensions: Option<Extensions>, $($rest:tt)*
    ) => {
        $crate::shape::document! { @field $null $head
            {
                $($struct)*
                #[serde(skip_serializing_if = "Option::is_none")]
                $vis extensions: Option<Extensions>,
            }
            { $($shape)* $crate::shape::extensions(), }
            $($rest)*
        }
    };

    (@field $null:tt $head:tt { $($struct:tt)* } { $($shape:tt)* }
        #[serde(flatten)]
        $vis:vis $name:ident: $type:ty $(= [$($also:expr),* $(,)?])?, $($rest:tt)*
    ) => {
        $crate::shape::document! { @field $null $head
            { $($struct)* #[serde(flatten)] $vis $name: $type, }
            { $($shape)* $($($also,)*)? }
            $($rest)*
        }
    };

    (@field $null:tt $head:tt { $($struct:tt)* } { $($shape:tt)* }
        $(#[doc = $about:literal])*
        #[optional]
        $(#[serde($($serde:tt)*)])*
        $vis:vis $name:ident: $type:ty $(as $as:expr)?, $($rest:tt)*
    ) => {
        $crate::shape::document! { @field $null $head
            {
                $($struct)*
                $(#[doc = $about])*
                #[serde(default, skip_serializing_if = "crate::shape::Described::is_left_out")]
                $(#[serde($($serde)*)])*
                $vis $name: $type,
            }
            {
                $($shape)*
                $crate::shape::Field {
                    name: $crate::shape::document!(@name $name $($($serde)*)*),
                    required: false,
                    shape: $crate::shape::document!(@shape [$type] $($as)?),
                    about: $crate::shape::about(concat!($($about),*)),
                },
            }
            $($rest)*
        }
    };

    (@field $null:tt $head:tt { $($struct:tt)* } { $($shape:tt)* }
        $(#[doc = $about:literal])*
        $(#[serde($($serde:tt)*)])*
        $vis:vis $name:ident: Option<$type:ty> $(as $as:expr)?, $($rest:tt)*
    ) => {
        $crate::shape::document! { @field $null $head
            {
                $($struct)*
                $(#[doc = $about])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                $(#[serde($($serde)*)])*
                $vis $name: Option<$type>,
            }
            {
                $($shape)*
                $crate::shape::Field {
                    name: $crate::shape::document!(@name $name $($($serde)*)*),
                    required: false,
                    shape: $crate::shape::document!(@option $null [$type] $($as)?),
                    about: $crate::shape::about(concat!($($about),*)),
                },
            }
            $($rest)*
        }
    };

    (@field $null:tt $head:tt { $($struct:tt)* } { $($shape:tt)* }
        $(#[doc = $about:literal])*
        $(#[shape($need:ident)])?
        $(#[serde($($serde:tt)*)])*
        $vis:vis $name:ident: $type:ty $(as $as:expr)?, $($rest:tt)*
    ) => {
        $crate::shape::document! { @field $null $head
            {
                $($struct)*
                $(#[doc = $about])*
                $(#[serde($($serde)*)])*
                $vis $name: $type,
            }
            {
                $($shape)*
                $crate::shape::Field {
                    name: $crate::shape::document!(@name $name $($($serde)*)*),
                    required: $crate::shape::document!(@need [$($need)?] $($($serde)*)*),
                    shape: $crate::shape::document!(@shape [$type] $($as)?),
                    about: $crate::shape::about(concat!($($about),*)),
                },
            }
            $($rest)*
        }
    };

    // What the serde attributes say about a field.
    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident rename = $wire:literal $($rest:tt)*) => { $wire };
    (@name $name:ident $other:tt $($rest:tt)*) => { $crate::shape::document!(@name $name $($rest)*) };
    (@need [required] $($rest:tt)*) => { true };
    (@need [optional] $($rest:tt)*) => { false };
    (@need []) => { true };
    (@need [] default $($rest:tt)*) => { false };
    (@need [] $other:tt $($rest:tt)*) => { $crate::shape::document!(@need [] $($rest)*) };

    (@shape [$type:ty]) => { <$type as $crate::shape::Described>::SHAPE };
    (@shape [$type:ty] $as:expr) => { $as };
    (@option [absent] [$type:ty]) => { $crate::shape::Shape::Nullable(&<$type as $crate::shape::Described>::SHAPE) };
    (@option [] [$type:ty]) => { <$type as $crate::shape::Described>::SHAPE };
    (@option $null:tt [$type:ty] $as:expr) => { $as };
}

pub(crate) use document;

#[cfg(test)]
mod tests;
