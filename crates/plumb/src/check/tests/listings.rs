//! The listings that the language was made for, as they were printed.

use super::{check_all, drawn};

const COMPACTION: &str = "
protocol Compaction =
  send Pause . recv PauseAck .
  send GetMemory . recv MemoryDump .
  send SetMemory . recv SetMemoryAck .
  send Resume . recv ResumeAck . end

let compact : (!CtrlResp, !json) -> !CtrlCmd =
  plumb(ctrl_out, telemetry, ctrl_in) {
    (ctrl_out, ctrl_in) <-> Compaction as session
    telemetry ; filter(kind = \"usage\" && input_tokens > 150000) ;
      map(null) ; session@trigger
    session@trigger ; map({pause: true}) ; session@send(Pause)
    session@done(PauseAck) ; map({get_memory: true}) ; session@send(GetMemory)
    session@recv(MemoryDump) ; compressor ; session@send(SetMemory)
    session@done(SetMemoryAck) ; map({resume: true}) ; session@send(Resume)
}
";

const MAIN: &str = "
let main : !string -> !string = plumb(input, output) {
  let ctrl : !CtrlCmd = channel
  let ctrl_out : !CtrlResp = channel
  let telem : !json = channel
  spawn bot(input=input, ctrl_in=ctrl,
            output=output, ctrl_out=ctrl_out,
            telemetry=telem)
  spawn compact(ctrl_out=ctrl_out,
                telemetry=telem, ctrl_in=ctrl)
}
";

#[test]
fn compaction_as_printed() {
    let compressor = "let compressor : !MemoryDump -> !SetMemory = agent { provider: \"sim\" }\n";
    let plain = "let bot : !string -> !string = agent { provider: \"sim\" }\n";
    let full = "let bot : (!string, !CtrlCmd) -> (!string, !CtrlResp, !json) = agent { provider: \"sim\" }\n";
    for bot in [plain, full] {
        let text = format!("{compressor}{bot}{COMPACTION}{MAIN}");
        check_all(&[(&text, &[]), (&format!("use mem\n{text}"), &[])]);
        drawn(&text);
    }
    let wrong = COMPACTION.replace("{pause: true}", "{paused: true}");
    check_all(&[(&format!("{compressor}{wrong}"), &["P0301"])]);
}

#[test]
fn a_debate() {
    check_all(&[(
        "
type Verdict = { resolved: bool, topic: string, verdict: string }
type Control = { set_temp: number }
let advocate : (!string, !CtrlCmd) -> !string = agent { provider: \"eliza\" }
let skeptic : (!string, !CtrlCmd) -> !string = agent { provider: \"eliza\" }
let judge : !(string, string) -> !Verdict = agent { provider: \"script\", model: \"judge\" }
let cool : !Verdict -> !Control = map({ set_temp: if resolved then 0 else 0.5 })
let main : !string -> !string = plumb(input, output) {
  input ; (advocate * skeptic)
  input ; advocate
  input ; skeptic
  (advocate * skeptic) ; barrier ; judge
  judge ; filter(resolved = false).topic ; copy ; (advocate * skeptic)
  judge ; filter(resolved = true).verdict ; output
  judge ; cool ; copy ; (advocate@ctrl_in * skeptic@ctrl_in)
}",
        &["P0503"],
    )]);
}

#[test]
fn composer_checker_critic() {
    check_all(&[(
        "
type Verdict = { verdict: bool, commentary: string, draft: string }
type Review = { score: int, review: string, draft: string }
type Note = { verdict: bool, commentary: string } | { score: int, review: string }
let composer : !(string | Note) -> !string = agent { provider: \"script\" }
let checker : !string -> !Verdict = agent { provider: \"script\" }
let critic : !Verdict -> !Review = agent { provider: \"script\" }
let main : !string -> !string = plumb(input, output) {
  input ; composer ; checker
  checker ; filter(verdict = false) ; map({verdict, commentary}) ; composer
  checker ; filter(verdict = true) ; critic
  critic ; filter(score < 85) ; map({score, review}) ; composer
  critic ; filter(score >= 85).draft ; output
}",
        &[],
    )]);
}
