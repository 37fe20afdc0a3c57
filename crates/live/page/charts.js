"use strict";
// Lines over time as SVG. Everything is made of elements and attributes: no text becomes markup.

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// The next "round" number at or above a value: 1, 2 or 5 times a power of ten.
function roundUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

// Places of marks along an axis that ends at `end`; whole numbers where only they mean something.
function marks(end, whole) {
  const all = [0, 0.25, 0.5, 0.75, 1].map((share) => share * end);
  return whole ? [...new Set(all.map(Math.round))] : all;
}

// The width of a figure in its own units: that of its place where this is narrow, so that letters
// keep their size.
function figureWidth(place) {
  const room = place.clientWidth || document.querySelector("main").clientWidth;
  return Math.min(900, Math.max(280, room));
}

// Figures are drawn anew for another width.
const redrawn = new Map();
window.addEventListener("resize", () => {
  for (const [target, draw] of redrawn) {
    if (target.isConnected) draw();
    else redrawn.delete(target);
  }
});

// Draws series ([{ points: [[x, y], ...] }], at most three) with shaded phases
// ([{ name, from, to }]) and limits ([{ value, text }]) into an <svg>. `title` is what a screen
// reader says.
function lineChart(target, figure) {
  const { series, phases, limits = [], xMax, xTitle, yTitle, title, whole } = figure;
  redrawn.set(target, () => lineChart(target, figure));
  const [width, height, left, right, top, bottom] =
    [figureWidth(target), 270, 64, 12, 38, 34];
  const drawn = series.flatMap((one) => one.points.map(([, y]) => y));
  const highest = drawn.reduce((most, value) => Math.max(most, value), 0);
  // A limit far above everything would make a flat line of the rest.
  const shown = limits.filter((limit) => limit.value <= 5 * highest || drawn.length === 0);
  const yMax = roundUp(shown.reduce((most, limit) => Math.max(most, limit.value), highest));
  const end = Math.max(xMax, 1);
  const x = (value) => left + (width - left - right) * (value / end);
  const y = (value) => height - bottom - (height - top - bottom) * (value / yMax);
  target.setAttribute("viewBox", `0 0 ${width} ${height}`);
  target.setAttribute("role", "img");
  target.setAttribute("aria-label", title);
  const parts = [];
  for (const phase of phases) {
    const steady = phase.name === "steady" ? " steady" : "";
    const [from, to] = [x(phase.from), x(phase.to)];
    parts.push(svg("rect", {
      class: `phase${steady}`, x: from, y: top, width: Math.max(0, to - from),
      height: height - top - bottom,
    }));
    // A name that would run into the next one is left out.
    if (phase === phases.at(-1) || to - from > 7 * phase.name.length) {
      parts.push(svg("text", { x: from + 4, y: top - 6 }, phase.name));
    }
  }
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const at = y(share * yMax);
    parts.push(svg("line", { class: "grid", x1: left, x2: width - right, y1: at, y2: at }));
    parts.push(svg("text", { x: left - 8, y: at + 4, "text-anchor": "end" },
      number(share * yMax)));
  }
  for (const mark of marks(end, whole)) {
    parts.push(svg("text", { x: x(mark), y: height - bottom + 16, "text-anchor": "middle" },
      number(mark)));
  }
  parts.push(svg("text", { x: width - right, y: height - 4, "text-anchor": "end" }, xTitle));
  parts.push(svg("text", { x: 4, y: 12 }, yTitle));
  for (const limit of shown) {
    const at = y(limit.value);
    parts.push(svg("line", { class: "limit", x1: left, x2: width - right, y1: at, y2: at }));
    parts.push(svg("text", { x: width - right - 4, y: at - 4, "text-anchor": "end" }, limit.text));
  }
  series.forEach((one, index) => {
    const points = one.points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ");
    parts.push(svg("polyline", { class: `line-${index}`, points }));
    if (!whole) return;
    for (const [a, b] of one.points) {
      parts.push(svg("circle", { class: `dot-${index}`, cx: x(a), cy: y(b), r: 3.5 }));
    }
  });
  target.replaceChildren(...parts);
}

// A number with three digits or more, and groups of three.
function number(value) {
  if (!Number.isFinite(value)) return "";
  if (value !== 0 && Math.abs(value) < 1) return String(Number(value.toPrecision(2)));
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { maximumFractionDigits: digits }).replaceAll(",", "\u2009");
}
