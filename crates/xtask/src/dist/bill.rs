//! The bill of materials, in CycloneDX 1.6: <https://cyclonedx.org/docs/1.6/json/>.

use std::collections::HashSet;
use std::fs;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::Bench;
use crate::command::{self, cargo, say};

/// Lists what is compiled into the program.
pub(super) fn write(bench: &Bench) -> anyhow::Result<()> {
    let line = format!(
        "metadata --format-version 1 --locked --filter-platform {}",
        bench.platform.target
    );
    let metadata = command::output(cargo(&line, &bench.root))?;
    let metadata = serde_json::from_str(&metadata).context("cargo metadata printed no JSON")?;
    let bill = bill(&metadata, &bench.version).context("cargo metadata has another form")?;
    let count = bill.get("components").and_then(Value::as_array);
    let count = count.map_or(0, Vec::len);
    let file = format!("ebbtide-{}.cdx.json", bench.version);
    let text = serde_json::to_string_pretty(&bill)?;
    fs::write(bench.out.join(&file), format!("{text}\n"))?;
    say(&format!("{file}: {count} components"));
    Ok(())
}

fn bill(metadata: &Value, version: &str) -> Option<Value> {
    let packages = metadata.get("packages")?.as_array()?;
    let nodes = metadata.get("resolve")?.get("nodes")?.as_array()?;
    let program = packages
        .iter()
        .find(|it| text(it, "name") == "ebbtide-cli")?;
    let program = text(program, "id");
    let mut open = vec![program];
    let mut reached: HashSet<&str> = HashSet::new();
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            let node = nodes.iter().find(|node| text(node, "id") == id)?;
            open.extend(linked(node));
        }
    }
    let parts = packages.iter();
    let parts = parts.filter(|it| reached.contains(text(it, "id")) && text(it, "id") != program);
    let mut components: Vec<Value> = parts.map(component).collect();
    components.sort_by_key(|it| text(it, "purl").to_owned());
    Some(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "bom-ref": "ebbtide",
            "name": "ebbtide",
            "version": version,
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
        }},
        "components": components,
    }))
}

/// The packages that a package links or builds with: not those of its tests.
fn linked(node: &Value) -> impl Iterator<Item = &str> {
    let all = node.get("deps").and_then(Value::as_array);
    let is_linked = |it: &&Value| {
        let kinds = it.get("dep_kinds").and_then(Value::as_array);
        let mut kinds = kinds.into_iter().flatten();
        kinds.any(|kind| text(kind, "kind") != "dev")
    };
    let linked = all.into_iter().flatten().filter(is_linked);
    linked.map(|it| text(it, "pkg"))
}

fn component(package: &Value) -> Value {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let purl = format!("pkg:cargo/{name}@{version}");
    // Older manifests separate the choices by a slash.
    let licence = text(package, "license").replace('/', " OR ");
    json!({
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "licenses": [{"expression": licence}],
    })
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::bill;

    #[test]
    fn what_is_linked_is_listed() {
        let package = |name: &str| json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0"});
        let edge =
            |name: &str, kind: Option<&str>| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [package("ebbtide-cli"), package("linked"), package("tested"), package("deep")],
            "resolve": {"nodes": [
                {"id": "ebbtide-cli", "deps": [edge("linked", None), edge("tested", Some("dev"))]},
                {"id": "linked", "deps": [edge("deep", Some("build"))]},
                {"id": "deep", "deps": []},
            ]},
        });
        let bill = bill(&metadata, "0.1.0").unwrap();
        let parts = bill["components"].as_array().unwrap();
        let names: Vec<&str> = parts.iter().filter_map(|it| it["name"].as_str()).collect();
        assert_eq!(names, ["deep", "linked"]);
        assert_eq!(parts[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }
}
