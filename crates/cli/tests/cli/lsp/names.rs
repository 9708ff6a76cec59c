//! Names over the protocol: references, renames, symbols, tokens, comments, and completion by place.

use super::*;

const WORK: &str = "use shapes
(* Says whether
   it is resolved. *)
type Verdict = { resolved: bool }
protocol Ask = send string . recv Verdict . select { more: loop, done: end }
(* Reads. *)
let judge : !string -> !Verdict = agent { provider: \"sim\" }
let main : (!string, !json) -> (!json, !Verdict) = plumb(words, heard, said, out) {
  let again : !string = channel
  (heard, said) <-> Ask as talk
  words ; again
  again ; judge ; out
  words ; talk@trigger
  again ; talk@send(string)
  talk@recv(Verdict) ; out
  words ; talk@select(more)
  words ; talk@select(done)
}
let flip : !Point -> !Point = Shapes.flip
";

impl Editor {
    /// The answer about a place, with more parameters.
    fn asked(&mut self, method: &str, uri: &str, place: (&str, usize), more: &Value) -> Value {
        let (part, plus) = place;
        let byte = WORK.find(part).expect(part) + plus;
        let before = WORK.get(..byte).expect("a character");
        let line = before.matches('\n').count();
        let character = before.rsplit('\n').next().unwrap_or_default().len();
        let mut params = json!({
            "textDocument": { "uri": uri },
            "position": { "line": line, "character": character },
        });
        let fields = params.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        self.ask(method, &params)
    }

    fn renamed(&mut self, uri: &str, place: (&str, usize), name: &str) -> Value {
        let more = json!({ "newName": name });
        self.asked("textDocument/rename", uri, place, &more)
    }

    fn labels(&mut self, uri: &str, text: &str, place: (&str, usize)) -> Vec<String> {
        self.change(uri, text);
        self.diagnostics(uri);
        let found = self.at("textDocument/completion", uri, text, place);
        let items = found.as_array().expect("a list").iter();
        items
            .map(|item| item["label"].as_str().expect("a text").to_owned())
            .collect()
    }
}

fn open(folder: &Path, uri: &str) -> Editor {
    let mut editor = Editor::start(folder);
    assert_eq!(editor.open(uri, WORK), json!([]));
    editor
}

/// The lines and columns of places.
fn places(found: &Value) -> Vec<(u64, u64)> {
    let places = found.as_array().expect("a list").iter();
    let at = |place: &Value, of: &str| place["range"]["start"][of].as_u64().expect("a number");
    places
        .map(|place| (at(place, "line"), at(place, "character")))
        .collect()
}

#[test]
fn references_stand_where_the_name_means_the_same() {
    let (folder, uri) = folder();
    let mut editor = open(folder.path(), &uri);
    let all = json!({ "context": { "includeDeclaration": true } });
    let others = json!({ "context": { "includeDeclaration": false } });
    let method = "textDocument/references";
    let found = editor.asked(method, &uri, ("again ; judge", 0), &all);
    assert_eq!(places(&found), [(8, 6), (10, 10), (11, 2), (13, 2)]);
    let found = editor.asked(method, &uri, ("again ; judge", 0), &others);
    assert_eq!(places(&found), [(10, 10), (11, 2), (13, 2)]);
    let found = editor.asked(method, &uri, ("Verdict = agent", 1), &all);
    assert_eq!(
        places(&found),
        [(3, 5), (4, 34), (6, 24), (7, 40), (14, 12)]
    );
    // A label, by its protocol.
    let found = editor.asked(method, &uri, ("more: loop", 1), &all);
    assert_eq!(places(&found), [(4, 53), (15, 22)]);
    // A type of a module, in the module as well, though that is not open.
    let found = editor.asked(method, &uri, ("!Point -> !Point", 2), &all);
    let files: Vec<&str> = found
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["uri"].as_str().expect("a text"))
        .collect();
    let module = format!("file://{}/shapes.plumb", folder.path().display());
    assert_eq!(files.iter().filter(|uri| **uri == module).count(), 3);
    assert_eq!(files.len(), 5);
    let found = editor.asked(
        "textDocument/documentHighlight",
        &uri,
        ("talk@send", 0),
        &all,
    );
    assert_eq!(found.as_array().map(Vec::len), Some(6));
    // Fields of messages are defined by nothing.
    let found = editor.asked(method, &uri, ("resolved: bool", 0), &all);
    assert_eq!(found, Value::Null);
    assert_eq!(editor.leave(), 0);
}

/// Editors escape other letters than the program does: `@` stands as it is, or `.` as `%2E`.
#[test]
fn a_rename_reaches_files_whose_uri_is_spelled_in_another_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let inside = folder.path().join("@w");
    std::fs::create_dir(&inside).expect("a folder");
    std::fs::write(inside.join("shapes.plumb"), SHAPES).expect("a file");
    let uri = format!("file://{}/main%2Eplumb", inside.display());
    let module = format!("file://{}/shapes.plumb", inside.display());
    let mut editor = open(&inside, &uri);
    assert_eq!(editor.open(&module, SHAPES), json!([]));
    assert_eq!(editor.diagnostics(&uri), json!([]));
    let edits = editor.renamed(&uri, ("!Point -> !Point", 2), "Spot");
    assert_eq!(edits["changes"][&uri].as_array().map(Vec::len), Some(2));
    assert_eq!(edits["changes"][&module].as_array().map(Vec::len), Some(3));
    assert_eq!(editor.leave(), 0);
}

#[test]
fn a_rename_changes_every_place_and_no_meaning() {
    let (folder, uri) = folder();
    let mut editor = open(folder.path(), &uri);
    let edits = editor.renamed(&uri, ("again ; judge", 0), "once_more");
    let edits = edits["changes"][&uri].as_array().expect("edits").clone();
    assert_eq!(edits.len(), 4);
    assert!(edits.iter().all(|edit| edit["newText"] == "once_more"));
    let module = format!("file://{}/shapes.plumb", folder.path().display());
    let edits = editor.renamed(&uri, ("!Point -> !Point", 2), "Spot");
    assert_eq!(edits["changes"][&uri].as_array().map(Vec::len), Some(2));
    assert_eq!(edits["changes"][&module].as_array().map(Vec::len), Some(3));
    let refused = [
        (
            ("again ; judge", 0),
            "out",
            "`out` has another meaning here",
        ),
        (("again ; judge", 0), "merge", "`merge` is a keyword"),
        (
            ("Verdict = agent", 0),
            "verdict",
            "a name here starts with a capital and has letters, digits and `_`",
        ),
        (("resolved: bool", 0), "done", "nothing here can be renamed"),
        (
            ("string -> !Verdict", 0),
            "Text",
            "nothing here can be renamed",
        ),
    ];
    for (place, name, why) in refused {
        let answer = editor.renamed(&uri, place, name);
        assert_eq!(answer["message"], why, "{place:?}");
    }
    let none = json!({});
    let prepared = editor.asked(
        "textDocument/prepareRename",
        &uri,
        ("judge ; out", 2),
        &none,
    );
    assert_eq!(prepared["placeholder"], "judge");
    let prepared = editor.asked("textDocument/prepareRename", &uri, ("provider", 2), &none);
    assert_eq!(prepared, Value::Null);
    assert_eq!(editor.leave(), 0);
}

#[test]
fn symbols_and_tokens_and_comments() {
    let (folder, uri) = folder();
    let mut editor = open(folder.path(), &uri);
    let document = json!({ "textDocument": { "uri": uri } });
    let symbols = editor.ask("textDocument/documentSymbol", &document);
    let names = |symbols: &Value| -> Vec<String> {
        let symbols = symbols.as_array().expect("a list").iter();
        symbols
            .map(|symbol| symbol["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(
        names(&symbols),
        ["shapes", "Verdict", "Ask", "judge", "main", "flip"]
    );
    assert_eq!(
        names(&symbols[4]["children"]),
        ["words", "heard", "said", "out", "again", "talk"]
    );
    assert_eq!(symbols[3]["detail"], "!string -> !Verdict");
    let found = editor.ask("workspace/symbol", &json!({ "query": "ju" }));
    assert_eq!(names(&found), ["judge"]);

    let tokens = editor.ask("textDocument/semanticTokens/full", &document);
    let data: Vec<u64> = tokens["data"]
        .as_array()
        .expect("numbers")
        .iter()
        .map(|number| number.as_u64().expect("a number"))
        .collect();
    // `use`, `shapes`, the two lines of the comment, `type`, `Verdict`, `resolved`, `bool`.
    let first: Vec<&[u64]> = data.chunks(5).take(8).collect();
    let wanted: [&[u64]; 8] = [
        &[0, 0, 3, 8, 0],
        &[0, 4, 6, 0, 0],
        &[1, 0, 15, 11, 0],
        &[1, 0, 21, 11, 0],
        &[1, 0, 4, 8, 0],
        &[0, 5, 7, 1, 1],
        &[0, 12, 8, 6, 0],
        &[0, 10, 4, 1, 0],
    ];
    assert_eq!(first, wanted);

    let none = json!({});
    let hover = editor.asked("textDocument/hover", &uri, ("judge ; out", 1), &none);
    assert_eq!(
        hover["contents"]["value"],
        "```plumb\njudge : !string -> !Verdict\n```\n\nReads."
    );
    let hover = editor.asked("textDocument/hover", &uri, ("Verdict = agent", 1), &none);
    let value = hover["contents"]["value"].as_str().expect("a text");
    assert!(
        value.ends_with("\n\nSays whether\nit is resolved."),
        "{value}"
    );
    assert_eq!(editor.leave(), 0);
}

#[test]
fn completion_knows_where_it_stands() {
    let (folder, uri) = folder();
    let mut editor = open(folder.path(), &uri);
    let mut check = |typed: &str, wanted: &[&str], unwanted: &[&str]| {
        let mark = "words ; again";
        let text = WORK.replace(mark, typed);
        let found = editor.labels(&uri, &text, (typed, typed.len()));
        for name in wanted {
            assert!(found.iter().any(|one| one == name), "{typed}: {found:?}");
        }
        for name in unwanted {
            assert!(!found.iter().any(|one| one == name), "{typed}: {found:?}");
        }
    };
    check(
        "words ; ",
        &["again", "out", "judge", "map"],
        &["words", "spawn", "Verdict"],
    );
    check(
        "let c : !",
        &["Verdict", "Point", "string"],
        &["judge", "again", "map"],
    );
    check("spawn ", &["judge", "Shapes"], &["again", "map", "Verdict"]);
    check(
        "spawn judge(",
        &["input", "output", "again"],
        &["map", "main"],
    );
    check("again ; talk@send(", &["string"], &["Verdict", "more"]);
    check(
        "again ; talk@select(",
        &["more", "done"],
        &["string", "map"],
    );
    check("(heard, said) <-> ", &["Ask", "dual"], &["again", "map"]);
    check("let ", &[], &["again", "map", "Verdict"]);
    assert_eq!(editor.leave(), 0);
}
