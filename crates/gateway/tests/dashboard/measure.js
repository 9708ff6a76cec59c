// Measures every frame once all are there: what sticks out, what is hard to read, what has no name.
"use strict";
const channels = (text) => {
  const numbers = (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  return { r: numbers[0], g: numbers[1], b: numbers[2], a: numbers.length > 3 ? numbers[3] : 1 };
};
const over = (top, below) => ({
  r: top.r * top.a + below.r * (1 - top.a),
  g: top.g * top.a + below.g * (1 - top.a),
  b: top.b * top.a + below.b * (1 - top.a),
  a: 1,
});
const luminance = ({ r, g, b }) => {
  const linear = [r, g, b].map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
};
// WCAG 2.2, 1.4.3.
const contrast = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const background = (view, element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const colour = channels(view.getComputedStyle(at).backgroundColor);
    if (colour.a > 0) layers.push(colour);
    if (colour.a === 1) break;
  }
  return layers.reverse().reduce((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
};
const named = (element) => element.tagName.toLowerCase() + (element.id ? `#${element.id}` : "")
  + (element.className && element.className.baseVal === undefined ? `.${element.className}` : "");
const text = (element) => [...element.childNodes]
  .filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");

const measure = (frame) => {
  const view = frame.contentWindow;
  const page = frame.contentDocument;
  const elements = [...page.querySelectorAll("body *")]
    .filter((element) => element.checkVisibility() && !element.closest(".unseen, .skip"));
  const wide = elements
    .filter((element) => element.getBoundingClientRect().right > view.innerWidth + 0.5).map(named);
  const faint = elements.filter((element) => text(element) !== "").flatMap((element) => {
    const style = view.getComputedStyle(element);
    const colour = channels(element.ownerSVGElement ? style.fill : style.color);
    const behind = background(view, element);
    const ratio = contrast(over(colour, behind), behind);
    return ratio < 4.5 ? [`${named(element)} ${ratio.toFixed(2)}`] : [];
  });
  const unnamed = [
    ...[...page.querySelectorAll("input:not([type=hidden]), textarea, select")]
      .filter((field) => field.labels.length === 0 && !field.hasAttribute("aria-label")),
    ...[...page.querySelectorAll("button, a")]
      .filter((one) => one.textContent.trim() === "" && !one.querySelector('img[alt]:not([alt=""])')),
    ...[...page.querySelectorAll("svg")]
      .filter((svg) => !svg.hasAttribute("aria-hidden") && !svg.hasAttribute("aria-label")),
    ...[...page.querySelectorAll("th")].filter((head) => !head.hasAttribute("scope")),
  ].map(named);
  const ids = [...page.querySelectorAll("[id]")].map((element) => element.id);
  return {
    path: view.location.pathname,
    inner: view.innerWidth,
    scroll: page.documentElement.scrollWidth,
    paper: view.getComputedStyle(page.body).backgroundColor,
    texts: elements.filter((element) => text(element) !== "").length,
    wide: [...new Set(wide)],
    faint: [...new Set(faint)],
    unnamed: [...new Set(unnamed)],
    headings: page.querySelectorAll("h1").length,
    twice: ids.filter((id, place) => ids.indexOf(id) !== place),
    scripts: page.querySelectorAll("script:not([src])").length,
  };
};
addEventListener("load", () => {
  const found = JSON.stringify([...document.querySelectorAll("iframe")].map(measure));
  document.getElementById("measured").textContent = found.replace(/[<>&]/g, "?");
});
