//! Messages through `serde`.
//!
//! With `serde_json` a message is plain JSON, exact in both directions; another text format must be able
//! to carry `serde_json`'s raw values. In formats that are not for people a message is its JSON text.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::Value;

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_str(&self.to_string());
        }
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            // Where two shortest texts stand for a number, this one is read as the same number again;
            // a serializer's own choice may be the other one.
            Self::Number(_) | Self::Big(_) => RawValue::from_string(self.to_string())
                .map_err(S::Error::custom)?
                .serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(_, items) => serializer.collect_seq(items.iter()),
            Self::Record(_, fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields.iter() {
                    map.serialize_entry(&**name, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let raw = Box::<RawValue>::deserialize(deserializer)?;
            return Self::parse(raw.get()).map_err(D::Error::custom);
        }
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}
