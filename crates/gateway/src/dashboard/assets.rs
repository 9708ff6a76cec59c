//! The style sheet, the script and the icon, embedded in the binary. Their addresses contain their hash, so
//! browsers can cache them forever.

use std::sync::LazyLock;

/// A file with its address.
#[derive(Debug)]
pub struct Served {
    /// The last segment of the address, with the hash.
    pub name: String,
    pub address: String,
    pub content_type: &'static str,
    pub content: &'static str,
}

/// All embedded files. The pages work without the script, which refreshes their live parts.
#[derive(Debug)]
pub struct Assets {
    pub style: Served,
    pub script: Served,
    pub icon: Served,
}

/// Returns the files, which are hashed once.
pub fn assets() -> &'static Assets {
    static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
        style: Served::of(
            ("dashboard", "css", "text/css; charset=utf-8"),
            include_str!("../../assets/dashboard.css"),
        ),
        script: Served::of(
            ("dashboard", "js", "text/javascript; charset=utf-8"),
            include_str!("../../assets/dashboard.js"),
        ),
        icon: Served::of(
            ("icon", "svg", "image/svg+xml"),
            include_str!("../../assets/icon.svg"),
        ),
    });
    &ASSETS
}

impl Assets {
    fn all(&self) -> [&Served; 3] {
        [&self.style, &self.script, &self.icon]
    }

    /// Returns the file with this name.
    pub fn named(&'static self, name: &str) -> Option<&'static Served> {
        self.all().into_iter().find(|served| served.name == name)
    }
}

impl Served {
    fn of(
        (stem, extension, content_type): (&str, &str, &'static str),
        content: &'static str,
    ) -> Self {
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
    use super::assets;

    #[test]
    fn each_is_found_by_its_name_and_by_no_other() {
        let address = &assets().script.address;
        let name = address.rsplit('/').next().unwrap();
        assert_eq!(&assets().named(name).unwrap().address, address);
        assert!(assets().named("dashboard.js").is_none());
        assert!(assets().named("../dashboard.js").is_none());
    }

    #[test]
    fn they_ask_for_nothing_from_elsewhere() {
        for asset in assets().all() {
            let content = asset.content.replace("http://www.w3.org/2000/svg", "");
            for outside in ["http:", "https:", "@import", "url("] {
                assert!(!content.contains(outside), "{}: {outside}", asset.name);
            }
        }
    }
}
