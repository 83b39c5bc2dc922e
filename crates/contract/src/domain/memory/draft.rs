//! A checked memory that is to be stored, and how it changes an existing one.

use std::time::Duration;

use super::{Memory, MemoryKind, MemoryScope, NewMemory, ValueType, fits_type, infer_type};
use crate::domain::code::ErrorCode;
use crate::domain::limits;
use crate::domain::task::Refusal;
use crate::domain::text::{one_line, quoted};
use crate::domain::time::{SignedDuration, Timestamp, parse_signed_duration};
use crate::secrets;

/// When a memory expires. A duration starts when the memory is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    Never,
    After(Duration),
    /// It has expired when it is written, as the agent contract's negative durations say.
    Before(Duration),
    At(Timestamp),
}

/// A requested memory, with everything checked that does not depend on the time.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryDraft {
    pub place: MemoryScope,
    pub key: String,
    pub value: String,
    pub value_type: ValueType,
    /// `None` keeps the existing kind; a new memory is a fact.
    pub kind: Option<MemoryKind>,
    /// `None` keeps the existing value.
    pub half_life_days: Option<f64>,
    /// Pins the memory; nothing here unpins it.
    pub pin: bool,
    pub expiry: Expiry,
    pub source_task_id: Option<String>,
}

impl MemoryDraft {
    /// The memory to write. `known` is the existing memory under the key, if it has not expired.
    pub fn written(&self, known: Option<&Memory>, number: i64, now: Timestamp) -> Result<NewMemory, Refusal> {
        let known = known.map(|memory| &memory.written);
        Ok(NewMemory {
            id: known.map_or(number, |memory| memory.id),
            place: self.place.clone(),
            key: self.key.clone(),
            value: self.value.clone(),
            value_type: self.value_type,
            kind: self.kind.or(known.map(|memory| memory.kind)).unwrap_or(MemoryKind::Fact),
            half_life_days: self.half_life_days.or(known.and_then(|memory| memory.half_life_days)),
            pinned: self.pin || known.is_some_and(|memory| memory.pinned),
            expires_at: self.expiry.moment(now)?,
            // The source of a memory never changes.
            source_task_id: known.map_or(&self.source_task_id, |memory| &memory.source_task_id).clone(),
        })
    }
}

impl Expiry {
    /// Reads `1h30m`, `1.5h`, `90s`, `7d`, `2w`, and the same with a minus sign.
    pub fn after(text: &str) -> Result<Self, Refusal> {
        let SignedDuration { is_negative, length } = parse_signed_duration(text).ok_or_else(|| {
            refused(format!("invalid expiry {}: must be a duration", quoted(text)))
                .hint("such as 90s, 1h30m, 1.5h, 7d or 2w")
        })?;
        if length > limits::MEMORY_LIFE_MAX {
            return Err(refused(format!("invalid expiry {}: longer than a hundred years", quoted(text))));
        }
        Ok(if is_negative { Expiry::Before(length) } else { Expiry::After(length) })
    }

    pub fn at(text: &str) -> Result<Self, Refusal> {
        Timestamp::parse(text)
            .map(Expiry::At)
            .map_err(|error| refused(format!("invalid expires_at {}: {error}", quoted(text))))
    }

    fn moment(self, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
        match self {
            Expiry::Never => Ok(None),
            Expiry::After(length) => Ok(Some(now.plus(length))),
            Expiry::Before(length) => Ok(Some(now.minus(length))),
            Expiry::At(at) if at <= now => Err(refused(format!("expires_at {at} has already passed"))),
            Expiry::At(at) if at > now.plus(limits::MEMORY_LIFE_MAX) => {
                Err(refused(format!("expires_at {at} is more than a hundred years ahead")))
            }
            Expiry::At(at) => Ok(Some(at)),
        }
    }
}

/// Checks a key.
pub fn checked_key(key: &str) -> Result<&str, Refusal> {
    one_line("key", key, limits::MEMORY_KEY_BYTES_MAX)
}

/// Checks a scope and its id.
pub fn checked_place(scope: &str, scope_id: Option<&str>) -> Result<MemoryScope, Refusal> {
    let place = MemoryScope::new(scope, scope_id)?;
    if let Some(id) = place.shown_id() {
        one_line("scope_id", id, limits::MEMORY_SCOPE_ID_BYTES_MAX)?;
    }
    Ok(place)
}

/// A value with its type: the given one, which must match, or the detected one.
pub fn checked_value(value: &str, named: Option<&str>) -> Result<ValueType, Refusal> {
    let max = limits::MEMORY_VALUE_BYTES_MAX;
    if value.len() > max {
        let message = format!("value has {} bytes; the limit is {max}", value.len());
        return Err(
            Refusal::new(ErrorCode::TooLarge, message).hint("put it into a file and remember the path")
        );
    }
    if value.contains('\0') {
        return Err(refused("value has a NUL character".to_owned()));
    }
    let Some(word) = named.filter(|word| !word.is_empty()) else { return Ok(infer_type(value)) };
    let known = ValueType::named(word)?;
    if fits_type(value, known) { Ok(known) } else { Err(refused(format!("the value is not of type {word}"))) }
}

pub fn checked_half_life(days: f64) -> Result<f64, Refusal> {
    let max = limits::MEMORY_HALF_LIFE_DAYS_MAX;
    if days > 0.0 && days <= max {
        return Ok(days);
    }
    Err(refused(format!("half_life_days must be more than 0 and at most {max}")))
}

/// A memory is returned as it was written, so a secret in it is refused and not replaced.
pub fn without_secrets(texts: &[&str]) -> Result<(), Refusal> {
    match texts.iter().find_map(|text| secrets::find(text)) {
        None => Ok(()),
        Some(rule) => Err(refused(format!("the text appears to contain a secret ({rule})"))
            .hint("leave out the secret; name where it is kept")),
    }
}

fn refused(message: String) -> Refusal {
    Refusal::new(ErrorCode::InvalidInput, message)
}

#[cfg(test)]
mod tests;
