// Shows times in the reader's time zone, and refreshes the parts of a page that are marked as live. Without
// this script, times are in UTC, and the pages show the state at which they were loaded.
"use strict";
(() => {
  // What came of an action is said once, not again with every reload.
  const here = new URL(location.href);
  if (here.searchParams.has("told")) {
    here.searchParams.delete("told");
    history.replaceState(null, "", here);
  }

  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  // Written as on the server: year, month, day.
  const clock = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium" });
  const localise = (page) => {
    for (const time of page.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const local = clock.format(at);
      time.title = `${local} ${zone}`;
      if (time.hasAttribute("data-exact")) time.textContent = local;
    }
    const named = page.getElementById("zone");
    if (named) named.textContent = zone;
  };
  localise(document);

  // A summary takes several screens of a phone, so it is folded there.
  const isWide = matchMedia("(min-width: 821px)").matches;
  const unfold = (page) => {
    for (const details of page.querySelectorAll("details[data-wide]")) details.open = isWide;
  };
  unfold(document);

  const SECONDS = 2;
  const status = document.getElementById("live");
  const live = () => document.querySelectorAll("[data-live]");
  if (!status || live().length === 0) return;

  const words = document.createElement("span");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  status.after(button);
  status.append(words);

  let paused = false;
  let failures = 0;
  let timer;

  const say = (text) => {
    if (words.textContent !== text) words.textContent = text;
  };
  const show = () => {
    button.textContent = paused ? "Resume" : "Pause";
    say(paused ? "paused" : failures > 0 ? "cannot reach the gateway" : "live");
    status.classList.toggle("lost", !paused && failures > 0);
  };

  // Keeps what the reader folded or unfolded; what is new unfolds like at the start.
  const keepFolds = (from, to) => {
    for (const details of from.querySelectorAll("details[id]")) {
      const twin = to.querySelector(`#${CSS.escape(details.id)}`);
      if (twin) twin.open = details.open;
    }
  };

  // A part with the focus or a selection is refreshed later.
  const busy = (part) => {
    const selection = document.getSelection();
    return part.contains(document.activeElement)
      || (selection && !selection.isCollapsed && part.contains(selection.anchorNode));
  };

  const refresh = async () => {
    const answer = await fetch(location.href, { cache: "no-store", credentials: "same-origin" });
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    localise(fresh);
    unfold(fresh);
    for (const part of live()) {
      const next = fresh.getElementById(part.id);
      if (!next || busy(part)) continue;
      keepFolds(part, next);
      if (next.innerHTML !== part.innerHTML) part.replaceChildren(...next.childNodes);
    }
  };

  const tick = async () => {
    if (!paused && !document.hidden) {
      try {
        await refresh();
        failures = 0;
      } catch {
        failures += 1;
      }
      show();
    }
    timer = setTimeout(tick, SECONDS * 1000 * Math.min(1 + failures, 10));
  };

  button.addEventListener("click", () => {
    paused = !paused;
    show();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) {
      clearTimeout(timer);
      tick();
    }
  });
  show();
  timer = setTimeout(tick, SECONDS * 1000);
})();
