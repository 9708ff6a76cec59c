//! The style sheet, the script and the icon, embedded in the binary. Their addresses contain their hash, so
//! browsers can cache them forever.

use std::sync::LazyLock;

/// An embedded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asset {
    /// The style sheet of all pages.
    Style,
    /// The script that refreshes live parts. The pages work without it.
    Script,
    /// The icon of the tab.
    Icon,
}

/// A file with its address.
#[derive(Debug)]
pub struct Served {
    /// The name with the hash, which ends the address.
    pub name: String,
    /// The path of the file.
    pub address: String,
    /// The value of the header `content-type`.
    pub content_type: &'static str,
    /// The text of the file.
    pub content: &'static str,
}

/// All embedded files.
#[derive(Debug)]
pub struct Assets {
    style: Served,
    script: Served,
    icon: Served,
}

/// Returns the files, which are hashed once.
pub fn assets() -> &'static Assets {
    static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
        style: Served::of(
            "dashboard",
            "css",
            "text/css; charset=utf-8",
            include_str!("../../assets/dashboard.css"),
        ),
        script: Served::of(
            "dashboard",
            "js",
            "text/javascript; charset=utf-8",
            include_str!("../../assets/dashboard.js"),
        ),
        icon: Served::of(
            "icon",
            "svg",
            "image/svg+xml",
            include_str!("../../assets/icon.svg"),
        ),
    });
    &ASSETS
}

impl Assets {
    /// Returns the path of a file.
    #[must_use]
    pub fn address(&'static self, asset: Asset) -> &'static str {
        &self.get(asset).address
    }

    /// Returns the file with this name.
    #[must_use]
    pub fn named(&'static self, name: &str) -> Option<&'static Served> {
        [Asset::Style, Asset::Script, Asset::Icon]
            .map(|asset| self.get(asset))
            .into_iter()
            .find(|served| served.name == name)
    }

    fn get(&'static self, asset: Asset) -> &'static Served {
        match asset {
            Asset::Style => &self.style,
            Asset::Script => &self.script,
            Asset::Icon => &self.icon,
        }
    }
}

impl Served {
    fn of(stem: &str, extension: &str, content_type: &'static str, content: &'static str) -> Self {
        let hash = blake3::hash(content.as_bytes()).to_hex();
        let hash = hash.get(..12).unwrap_or_default();
        let name = format!("{stem}.{hash}.{extension}");
        Self {
            address: format!("/ebbtide/assets/{name}"),
            name,
            content_type,
            content,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Asset, assets};

    #[test]
    fn each_is_found_by_its_name_and_by_no_other() {
        let address = assets().address(Asset::Script);
        let name = address.rsplit('/').next().unwrap();
        assert_eq!(assets().named(name).unwrap().address, address);
        assert!(assets().named("dashboard.js").is_none());
        assert!(assets().named("../dashboard.js").is_none());
    }

    #[test]
    fn they_ask_for_nothing_from_elsewhere() {
        for asset in [Asset::Style, Asset::Script, Asset::Icon] {
            let content = assets().get(asset).content;
            let content = content.replace("http://www.w3.org/2000/svg", "");
            for outside in ["http:", "https:", "@import", "url("] {
                assert!(!content.contains(outside), "{asset:?}: {outside}");
            }
        }
    }
}
