//! Tables of figures, and text cut or wrapped to a width in terminal columns.
//!
//! A table has a column of names and right-aligned columns of figures. Columns that do not fit go
//! into another table below it, with the same names.

use context::visible;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// One column of figures.
#[derive(Clone, Debug)]
pub struct Column {
    /// The lines above the column.
    pub heading: Vec<String>,
    /// One figure per row.
    pub cells: Vec<String>,
}

impl Column {
    /// Creates a column with one cell for each of `rows`.
    pub fn of<T>(heading: &str, rows: &[T], cell: impl Fn(&T) -> String) -> Self {
        Self {
            heading: vec![heading.to_owned()],
            cells: rows.iter().map(cell).collect(),
        }
    }

    fn width(&self) -> usize {
        let texts = self.heading.iter().chain(&self.cells);
        texts.map(|text| columns(text)).max().unwrap_or(0)
    }
}

/// Counts the terminal columns of a text.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// Cuts `text` to `limit` columns and marks the cut with an ellipsis.
pub fn shorten(text: &str, limit: usize) -> String {
    if columns(text) <= limit {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > limit {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// Cuts the beginning of `text`, for paths, whose end matters more.
pub fn shorten_left(text: &str, limit: usize) -> String {
    let reversed: String = text.chars().rev().collect();
    shorten(&reversed, limit).chars().rev().collect()
}

/// Breaks `text` at spaces into lines of at most `width` columns. A longer word gets its own line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut() {
            if line.is_empty() {
                line.push_str(word);
                continue;
            }
            if columns(line) + 1 + columns(word) <= width {
                line.push(' ');
                line.push_str(word);
                continue;
            }
        }
        lines.push(word.to_owned());
    }
    lines
}

/// Renders the table in lines of at most `width` columns, with `corner` above the names. An empty
/// line separates the tables that the columns are split into.
pub fn render(corner: &str, names: &[String], figures: &[Column], width: usize) -> Vec<String> {
    // Spelled out before they are measured.
    let names: Vec<String> = names.iter().map(|name| visible(name)).collect();
    let name_width = names
        .iter()
        .map(|name| columns(name))
        .chain([columns(corner)])
        .max()
        .unwrap_or(0);
    let mut lines = Vec::new();
    let mut rest = figures;
    while !rest.is_empty() {
        let (fitting, later) = rest.split_at(how_many_fit(rest, name_width, width));
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(one_table(corner, &names, fitting, name_width));
        rest = later;
    }
    lines
}

/// Spaces between columns.
const GAP: usize = 2;

fn how_many_fit(figures: &[Column], name_width: usize, width: usize) -> usize {
    let mut used = name_width;
    let fitting = figures
        .iter()
        .take_while(|column| {
            used += GAP + column.width();
            used <= width
        })
        .count();
    fitting.max(1)
}

fn one_table(corner: &str, names: &[String], figures: &[Column], name_width: usize) -> Vec<String> {
    let height = figures.iter().map(|f| f.heading.len()).max().unwrap_or(1);
    let heading = (0..height).map(|line| {
        let name = if line + 1 == height { corner } else { "" };
        let words = figures.iter().map(|column| {
            // Shorter headings align at the bottom.
            let above = height - column.heading.len();
            let word = line.checked_sub(above).and_then(|i| column.heading.get(i));
            (word.map_or("", String::as_str), column.width())
        });
        row(name, name_width, words)
    });
    let rule = name_width + figures.iter().map(|f| GAP + f.width()).sum::<usize>();
    let body = names.iter().enumerate().map(|(index, name)| {
        let cells = figures.iter().map(|column| {
            let cell = column.cells.get(index).map_or("", String::as_str);
            (cell, column.width())
        });
        row(name, name_width, cells)
    });
    heading
        .chain(std::iter::once("─".repeat(rule)))
        .chain(body)
        .collect()
}

fn row<'a>(name: &str, name_width: usize, cells: impl Iterator<Item = (&'a str, usize)>) -> String {
    let mut line = format!("{name}{}", " ".repeat(name_width - columns(name)));
    for (cell, width) in cells {
        line.push_str(&" ".repeat(GAP + width - columns(cell)));
        line.push_str(cell);
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::{Column, columns, render, shorten};

    fn check(width: usize) -> String {
        let names = ["prepared".to_owned(), "truncate".to_owned()];
        let column = |heading: &[&str], cells: [&str; 2]| Column {
            heading: heading.iter().map(|&line| line.to_owned()).collect(),
            cells: cells.map(str::to_owned).to_vec(),
        };
        let figures = [
            column(&["stalls"], ["0", "3"]),
            column(&["longest", "wait"], ["–", "41 s"]),
            column(&["cost"], ["$1.20", "$0.90"]),
        ];
        render("strategy", &names, &figures, width).join("\n")
    }

    #[test]
    fn all_in_one_table_where_it_fits() {
        insta::assert_snapshot!(check(40));
    }

    #[test]
    fn columns_that_do_not_fit_go_below() {
        insta::assert_snapshot!(check(25));
    }

    #[test]
    fn even_the_narrowest_shows_every_column() {
        assert!(check(1).contains("cost"));
    }

    #[test]
    fn cutting_counts_wide_characters_twice() {
        assert_eq!(shorten("漢字漢字", 5), "漢字…");
        assert_eq!(columns(&shorten("漢字漢字", 4)), 3);
        assert_eq!(shorten("short", 5), "short");
    }
}
