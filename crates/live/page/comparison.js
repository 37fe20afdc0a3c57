"use strict";
// Runs against each other, and the runs of a study over time.

function comparePage(base, others) {
  document.title = "Rookery: comparison";
  const query = new URLSearchParams();
  for (const key of base.split(",")) query.append("base", key);
  for (const key of others.split(",")) query.append("new", key);
  const address = `/compare?${query}`;
  content.replaceChildren(
    el("header", {}, el("p", { class: "kicker" }, "Comparison"),
      el("h1", {}, "Runs against each other")),
    el("p", { class: "caption" }, "The same judgement as `rookery compare`: the older run is the base."),
    el("div", { class: "tools" },
      el("a", { class: "button", href: address, target: "_blank", rel: "noopener" }, "Open by itself"),
      base.includes(",") || others.includes(",") ? undefined
        : el("a", { class: "button", href: `#/compare/${others}/${base}` }, "Swap")),
    el("iframe", { src: address, title: "The comparison", sandbox: "allow-scripts allow-downloads" }));
  return () => {};
}

function trendPage(study) {
  document.title = `Rookery: trend of ${study}`;
  const said = el("div", { class: "answer" }, el("p", {}, "Reading the runs ..."));
  content.replaceChildren(
    el("header", {}, el("p", { class: "kicker" }, "Trend"), el("h1", {}, study)),
    el("section", {}, el("h2", {}, "What changed"), said));
  let over = false;
  get(`/api/trend?${new URLSearchParams({ study })}`).then(({ trends, sentences, keys }) => {
    if (over) return;
    said.replaceChildren(...sentences.map((sentence) => el("p", {}, sentence)));
    for (const trend of trends) content.append(trendSection(trend, keys));
  }, (error) => { if (!over) said.replaceChildren(problem(error.message)); });
  return () => { over = true; };
}

function trendSection(trend, keys) {
  const chart = document.createElementNS(SVG, "svg");
  chart.setAttribute("class", "chart");
  const starts = [0, ...trend.changes.map((change) => change.at)];
  const phases = starts.map((from, index) => ({
    name: index === 0 ? "" : `since ${trend.changes[index - 1].run_id}`,
    from, to: starts[index + 1] ?? Math.max(1, trend.runs.length - 1),
  }));
  lineChart(chart, {
    series: [{ points: trend.runs.map((run, index) => [index, run.value]) }],
    phases: phases.slice(1), xMax: trend.runs.length - 1, xTitle: "runs, the oldest first",
    yTitle: trend.name,
    title: `${trend.name} over ${trend.runs.length} runs, ${trend.changes.length} changes`,
    whole: true,
  });
  const rows = [...trend.runs].reverse().map((run) => {
    const change = trend.changes.find((one) => one.run_id === run.run_id);
    return el("tr", {}, el("th", { scope: "row" },
      el("a", { href: `#/run/${keys[run.run_id]}` }, run.run_id)),
    el("td", {}, localTime(run.created_at)), el("td", {}, run.version),
    el("td", {}, number(run.value)),
    el("td", {}, change ? (change.better ? "better from here" : "worse from here") : ""));
  });
  return el("section", {}, el("h2", {}, trend.name), chart,
    el("details", {}, el("summary", {}, "Data of this figure"),
      el("div", { class: "scroll" }, el("table", {},
        el("caption", { class: "unseen" }, trend.name),
        el("thead", {}, el("tr", {}, ...["run", "begun", "version", trend.name, "change"].map((head) =>
          el("th", { scope: "col" }, head)))),
        el("tbody", {}, ...rows)))));
}
