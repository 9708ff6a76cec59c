//! TOML files, edited in place.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::document::{Document, Malformed};

/// A TOML file.
pub struct TomlDocument {
    document: DocumentMut,
    /// Lines end in CR LF; the editor itself writes LF only.
    carriage_returns: bool,
}

impl TomlDocument {
    pub fn parse(text: &str) -> Result<Self, Malformed> {
        let document: DocumentMut = text.parse().map_err(|error| malformed(text, &error))?;
        Ok(Self {
            document,
            carriage_returns: text.contains("\r\n"),
        })
    }

    fn item(&mut self, keys: &[String]) -> Option<&mut Item> {
        let mut item = self.document.as_item_mut();
        for key in keys {
            item = item.as_table_like_mut()?.get_mut(key)?;
        }
        Some(item)
    }

    /// The table at a path, created with all the tables on the way.
    fn table(&mut self, keys: &[String]) -> Option<&mut Item> {
        let mut item = self.document.as_item_mut();
        for key in keys {
            let inline = item.is_inline_table();
            let entry = item.as_table_like_mut()?.entry(key);
            item = entry.or_insert_with(|| if inline { inline_table() } else { implicit() });
        }
        item.is_table_like().then_some(item)
    }
}

impl Document for TomlDocument {
    fn value(&self) -> Value {
        plain(self.document.as_item())
    }

    fn set(&mut self, keys: &[String], value: &Value) {
        let Some((last, path)) = keys.split_last() else {
            return;
        };
        let Some(parent) = self.table(path) else {
            return;
        };
        let mut new = item(value, parent.is_inline_table());
        let Some(table) = parent.as_table_like_mut() else {
            return;
        };
        match table.get_mut(last) {
            Some(old) => {
                keep_surroundings(old, &mut new);
                *old = new;
            }
            None => {
                table.insert(last, new);
            }
        }
    }

    fn append(&mut self, keys: &[String], element: &Value) {
        if self.item(keys).is_none() {
            self.set(keys, &Value::Array(Vec::new()));
        }
        if let Some(list) = self.item(keys).and_then(Item::as_array_mut) {
            list.push(inline(element));
        }
    }

    fn remove(&mut self, keys: &[String]) {
        let Some((last, path)) = keys.split_last() else {
            return;
        };
        if let Some(table) = self.item(path).and_then(Item::as_table_like_mut) {
            table.remove(last);
        }
    }

    fn take(&mut self, keys: &[String], element: &Value) {
        let Some(list) = self.item(keys).and_then(Item::as_array_mut) else {
            return;
        };
        let place = list.iter().position(|value| plain_value(value) == *element);
        if let Some(place) = place {
            list.remove(place);
        }
    }

    fn prune(&mut self, keys: &[String]) {
        let Some(item) = self.item(keys) else {
            return;
        };
        let empty_table = item.as_table_like().is_some_and(TableLike::is_empty);
        let empty_list = item.as_array().is_some_and(Array::is_empty);
        if empty_table || empty_list {
            self.remove(keys);
        }
    }

    fn text(&self) -> String {
        let text = self.document.to_string();
        match self.carriage_returns {
            true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            false => text,
        }
    }
}

fn malformed(text: &str, error: &toml_edit::TomlError) -> Malformed {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    Malformed {
        line: before.matches('\n').count() + 1,
        column: line.chars().count() + 1,
        // The message names what was expected on further lines; the first is enough.
        reason: error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
    }
}

/// Moves the comments and the place of an old item to the one that replaces it.
fn keep_surroundings(old: &Item, new: &mut Item) {
    match (old, new) {
        (Item::Value(old), Item::Value(new)) => *new.decor_mut() = old.decor().clone(),
        (Item::Table(old), Item::Table(new)) => {
            *new.decor_mut() = old.decor().clone();
            new.set_position(old.position());
        }
        _ => {}
    }
}

fn implicit() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn inline_table() -> Item {
    Item::Value(InlineTable::new().into())
}

/// The item that stands for a value: a table for an object, unless its parent is written in one line.
fn item(value: &Value, within_inline: bool) -> Item {
    let Value::Object(map) = value else {
        return Item::Value(inline(value));
    };
    if within_inline {
        return Item::Value(inline(value));
    }
    let mut table = Table::new();
    for (key, value) in map {
        table.insert(key, item(value, false));
    }
    Item::Table(table)
}

fn inline(value: &Value) -> toml_edit::Value {
    match value {
        // TOML has no null; no setting and no value that was read holds one.
        Value::Null => "".into(),
        Value::Bool(bit) => (*bit).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(elements) => elements.iter().map(inline).collect::<Array>().into(),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| (key.clone(), inline(value)));
            pairs.collect::<InlineTable>().into()
        }
    }
}

fn plain(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => plain_value(value),
        Item::Table(table) => plain_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| plain_table(table)).collect(),
    }
}

fn plain_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(bit) => (*bit.value()).into(),
        toml_edit::Value::Datetime(moment) => moment.value().to_string().into(),
        toml_edit::Value::Array(elements) => elements.iter().map(plain_value).collect(),
        toml_edit::Value::InlineTable(table) => plain_table(table),
    }
}

fn plain_table(table: &dyn TableLike) -> Value {
    let pairs = table
        .iter()
        .map(|(key, item)| (key.to_owned(), plain(item)));
    Value::Object(pairs.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Document, TomlDocument};

    fn keys(path: &str) -> Vec<String> {
        path.split('.').map(str::to_owned).collect()
    }

    fn document(text: &str) -> TomlDocument {
        TomlDocument::parse(text).unwrap()
    }

    const TEXT: &str = "# my settings\nmodel = \"gpt-5.5\"  # the large one\n\n# servers\n[mcp_servers.docs]\ncommand = \"docs\"\n\n[projects.\"/src\"]\ntrust_level = \"trusted\"\n";

    #[test]
    fn an_edit_keeps_comments() {
        let mut document = document(TEXT);
        document.set(&keys("openai_base_url"), &json!("http://h/v1"));
        document.set(
            &keys("mcp_servers.ebbtide"),
            &json!({"url": "http://h/mcp"}),
        );
        document.set(&keys("model"), &json!("gpt-6"));
        document.append(&keys("notify"), &json!("ring"));
        insta::assert_snapshot!(document.text(), @r#"
        # my settings
        model = "gpt-6"  # the large one
        openai_base_url = "http://h/v1"
        notify = ["ring"]

        # servers
        [mcp_servers.docs]
        command = "docs"

        [mcp_servers.ebbtide]
        url = "http://h/mcp"

        [projects."/src"]
        trust_level = "trusted"
        "#);
        document.take(&keys("notify"), &json!("ring"));
        for added in ["notify", "openai_base_url", "mcp_servers.ebbtide"] {
            document.remove(&keys(added));
        }
        document.set(&keys("model"), &json!("gpt-5.5"));
        assert_eq!(document.text(), TEXT);
    }

    #[test]
    fn a_table_in_one_line_stays_in_one_line() {
        let mut document = document("mcp_servers = { docs = { command = \"docs\" } }\n");
        document.set(&keys("mcp_servers.ebbtide"), &json!({"url": "u"}));
        let expected =
            "mcp_servers = { docs = { command = \"docs\" } , ebbtide = { url = \"u\" } }\n";
        assert_eq!(document.text(), expected);
    }

    #[test]
    fn windows_line_ends_stay() {
        let mut document = document("a = 1\r\n");
        document.set(&keys("b"), &json!(true));
        assert_eq!(document.text(), "a = 1\r\nb = true\r\n");
    }

    #[test]
    fn a_syntax_error_has_a_place_and_quotes_nothing() {
        let error = TomlDocument::parse("a = 1\nb = \"secret\n").err().unwrap();
        assert_eq!(error.line, 2);
        assert!(!error.reason.contains("secret"), "{}", error.reason);
    }
}
