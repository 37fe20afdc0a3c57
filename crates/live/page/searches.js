"use strict";
// A search: what is believed of its knee, probe by probe.

const OUTCOMES = { kept: "kept the limits", missed: "missed them", void: "void" };

function searchSection(search) {
  const section = el("div", { class: "search", "data-search": search.id },
    el("h3", {}, `${search.layouts}, ${search.label}`),
    el("p", {}, search.steps.length === 0
      ? `No trial of this search has ended; it looks between ${number(search.lowest)} and ` +
        `${number(search.highest)} ${search.unit}.`
      : `${search.open ? "So far: " : ""}${search.answer}`));
  if (search.steps.length === 0) return section;
  section.append(beliefChart(search),
    el("p", { class: "key" },
      ...[["band", "95 % interval of the knee after the trial"], ["kept", "a load that kept the limits"],
        ["missed", "one that missed them"], ["void", "one that is void"]].map(([kind, text]) =>
        el("span", {}, el("span", { class: `mark ${kind}`, "aria-hidden": "true" },
          { band: "", kept: "\u25cf", missed: "\u2715", void: "\u25cb" }[kind]), text))),
    el("details", {}, el("summary", {}, "Data of this figure"), stepTable(search)));
  return section;
}

// Loads over trials: the interval of the knee as a band, each trial as a mark of its own shape.
function beliefChart(search) {
  const [width, height, left, right, top, bottom] =
    [figureWidth(document.querySelector("main")), 230, 64, 12, 24, 34];
  const chart = svg("svg", {
    class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Loads that were tried and the interval of the knee after each of ` +
      `${search.steps.length} trials; ${search.answer}`,
  });
  const loads = search.steps.flatMap((step) => [step.load, step.low, step.high, step.knee])
    .filter(Number.isFinite);
  const [least, most] = [loads.reduce((a, b) => Math.min(a, b)), loads.reduce((a, b) => Math.max(a, b))];
  const margin = 0.08 * Math.max(most - least, most * 0.1, 1e-9);
  const [from, to] = [Math.max(0, least - margin), most + margin];
  const slot = (width - left - right) / search.steps.length;
  const x = (at) => left + slot * (at + 0.5);
  const y = (load) => height - bottom -
    (height - top - bottom) * ((Math.min(Math.max(load, from), to) - from) / (to - from));
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const load = from + share * (to - from);
    chart.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(load), y2: y(load) }),
      svg("text", { x: left - 8, y: y(load) + 4, "text-anchor": "end" }, number(load)));
  }
  search.steps.forEach((step, at) => {
    const [low, high] = [y(step.low ?? from), y(step.high ?? to)];
    chart.append(svg("rect", {
      class: "band", x: x(at) - slot * 0.4, width: slot * 0.8, y: high, height: Math.max(1, low - high),
    }), svg("line", {
      class: "knee", x1: x(at) - slot * 0.4, x2: x(at) + slot * 0.4, y1: y(step.knee), y2: y(step.knee),
    }), svg("text", { class: `mark ${step.outcome}`, x: x(at), y: y(step.load) + 5, "text-anchor": "middle" },
      { kept: "\u25cf", missed: "\u2715" }[step.outcome] || "\u25cb"));
  });
  const every = Math.ceil(search.steps.length / 20);
  search.steps.forEach((step, at) => {
    if (at % every === 0) {
      chart.append(svg("text", { x: x(at), y: height - bottom + 16, "text-anchor": "middle" }, step.trial));
    }
  });
  chart.append(svg("text", { x: width - right, y: height - 4, "text-anchor": "end" }, "trials"),
    svg("text", { x: 4, y: 12 }, search.unit));
  return chart;
}

function stepTable(search) {
  const rows = [...search.steps].reverse().map((step) => el("tr", {},
    el("th", { scope: "row" }, number(step.trial)), el("td", { class: "value" }, number(step.load)),
    el("td", {}, step.purpose === "study" ? "ladder" : step.purpose),
    el("td", {}, `${OUTCOMES[step.outcome] || step.outcome}${step.why ? `: ${step.why}` : ""}`),
    el("td", { class: "value" }, number(step.knee)),
    el("td", { class: "value" }, Number.isFinite(step.low) ? number(step.low) : "below the range"),
    el("td", { class: "value" }, Number.isFinite(step.high) ? number(step.high) : "above the range")));
  const heads = ["trial", search.unit, "for", "outcome", "knee", "from", "to"];
  return el("div", { class: "scroll" }, el("table", {},
    el("caption", {}, "Each trial and what was believed after it, the newest first"),
    el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, ...rows)));
}
