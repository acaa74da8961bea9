//! Events as static probes: what [`crate::events!`] expands to with feature `sdt`. For that macro alone.

pub use headwater_os::sdt::{ARGUMENTS_MAX, Probe, probe};

use crate::event::{Type, Value};

/// The number of arguments of a probe for fields of these types: a text takes two; surplus arguments are left out.
pub const fn count(types: &[Type]) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < types.len() {
        count += arguments(types[at]);
        at += 1;
    }
    if count > ARGUMENTS_MAX { ARGUMENTS_MAX } else { count }
}

/// The sizes of its arguments, in the form of the note.
pub const fn sizes(types: &[Type]) -> [i8; ARGUMENTS_MAX] {
    let (mut sizes, mut count, mut at) = ([8; ARGUMENTS_MAX], 0, 0);
    while at < types.len() {
        if count < ARGUMENTS_MAX && matches!(types[at], Type::Signed(_)) {
            sizes[count] = -8;
        }
        count += arguments(types[at]);
        at += 1;
    }
    sizes
}

const fn arguments(kind: Type) -> usize {
    if matches!(kind, Type::Text) { 2 } else { 1 }
}

/// Appends the arguments of a field. The count is apart from them, so that the compiler knows it.
#[inline(always)]
pub fn append<V: Value>(value: V, to: &mut [u64; ARGUMENTS_MAX], count: &mut usize) {
    for bits in &value.bits()[..arguments(V::TYPE)] {
        if *count < ARGUMENTS_MAX {
            to[*count] = *bits;
            *count += 1;
        }
    }
}

/// The probe of an event.
#[cfg(feature = "sdt")]
#[doc(hidden)]
#[macro_export]
macro_rules! probe_of_event {
    ($name:literal $(, $field:ident: $type:ty)*) => {{
        struct Place;
        impl $crate::sdt::Probe for Place {
            const NAME: &'static str = $name;
            const SIZES: [i8; $crate::sdt::ARGUMENTS_MAX] =
                $crate::sdt::sizes(&[$( <$type as $crate::event::Value>::TYPE ),*]);
        }
        const COUNT: usize = $crate::sdt::count(&[$( <$type as $crate::event::Value>::TYPE ),*]);
        #[allow(unused_mut, reason = "an event may have no fields")]
        let (mut arguments, mut count) = ([0; $crate::sdt::ARGUMENTS_MAX], 0);
        $( $crate::sdt::append($field, &mut arguments, &mut count); )*
        let _: usize = count;
        $crate::sdt::probe::<Place, COUNT>(arguments);
    }};
}

/// Without the feature there is none.
#[cfg(not(feature = "sdt"))]
#[doc(hidden)]
#[macro_export]
macro_rules! probe_of_event {
    ($($event:tt)*) => {};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_two_arguments_and_what_is_too_many_is_left_out() {
        let types = [Type::Signed(4), Type::Text, Type::Signed(8), Type::Float(8), Type::Text, Type::Signed(1)];
        assert_eq!((count(&types), sizes(&types)), (6, [-8, 8, 8, -8, 8, 8]));
        assert_eq!((count(&types[..2]), sizes(&types[..1])), (3, [-8, 8, 8, 8, 8, 8]));
        let (mut arguments, mut count) = ([0; ARGUMENTS_MAX], 0);
        append(-2_i8, &mut arguments, &mut count);
        append("four", &mut arguments, &mut count);
        append(255_u8, &mut arguments, &mut count);
        append(1.0_f32, &mut arguments, &mut count);
        append("cut", &mut arguments, &mut count);
        assert_eq!(arguments[..1], [u64::MAX - 1]);
        assert_eq!(arguments[2..5], [4, 255, 0x3f80_0000]);
        assert_eq!(count, ARGUMENTS_MAX);
    }
}
