"use strict";
// The trial that runs, second by second, as the journal has it.

// Seconds in the table of the figures.
const TABLE_SECONDS = 60;

function chartElement() {
  const chart = document.createElementNS(SVG, "svg");
  chart.setAttribute("class", "chart");
  return chart;
}

function legendOf(...entries) {
  return el("div", { class: "legend" }, ...entries.map(([style, text]) =>
    el("span", {}, el("span", { class: `swatch swatch-${style}`, "aria-hidden": "true" }), text)));
}

// A small line of what changed, without axes.
function spark(values) {
  const chart = svg("svg", { class: "spark", viewBox: "0 0 100 20", "aria-hidden": "true" });
  const most = Math.max(...values, 1e-9);
  const step = 100 / Math.max(1, values.length - 1);
  const points = values.map((value, at) =>
    `${(at * step).toFixed(1)},${(19 - (18 * value) / most).toFixed(1)}`);
  chart.append(svg("polyline", { class: "line-0", points: points.join(" ") }));
  return chart;
}

function cores(value) {
  return value === null || value === undefined ? "" : number(value);
}

// Takes events of the journal; `element` shows the trial while one runs.
function presentView() {
  let trial = null;
  const said = el("p", { id: "present", role: "status" });
  const rates = chartElement();
  const ratesLegend = el("div");
  const groups = el("div");
  const usage = chartElement();
  const used = el("div", { hidden: true }, el("h3", {}, "CPUs in use"), usage,
    legendOf([0, "the host"], [2, "all guests"], [1, "the driver"]));
  const health = el("p", { class: "caption", id: "health" });
  const table = el("div", { class: "scroll" });
  const data = el("details", { hidden: true, ontoggle: () => showTable() },
    el("summary", {}, "Data of these figures"), table);
  const element = el("section", { id: "now", hidden: true },
    el("h2", {}, "The present trial"), said, rates, ratesLegend, groups, used, health,
    data);

  function take(event) {
    const own = trial && trial.id === event.trial;
    switch (event.event) {
      case "trial-started":
        trial = begun(event.trial, event.point);
        break;
      case "guests-ready":
        if (own) trial.phase = "guests are healthy";
        break;
      case "load-started":
        if (!own) trial = begun(event.trial, "");
        trial.total = event.total_s;
        trial.load = event;
        break;
      case "load": {
        if (!own) trial = begun(event.trial, "");
        trial.total = event.total_s;
        trial.users = event.active_users;
        trial.phase = event.phase;
        trial.seconds.push([event.elapsed_s, event.requests_per_s, event.errors_per_s, event.phase,
          event.offered_per_s]);
        const detail = event.detail;
        if (detail && Array.isArray(detail.groups)) trial.details.push(detail);
        break;
      }
      case "trial-ended":
        if (own) trial.phase = `ended: ${event.outcome}`;
        break;
      default:
    }
  }

  function begun(id, point) {
    return { id, point, seconds: [], details: [], total: 0, phase: "cloning", load: null };
  }

  function show(running) {
    element.hidden = !running || !trial;
    if (element.hidden) return;
    showRates();
    const told = trial.load !== null && trial.details.length > 0;
    for (const part of [groups, used, health, data]) part.hidden = !told;
    if (!told) return;
    showGroups();
    showUsage();
    showTable();
  }

  function phases() {
    const all = [];
    for (const [at, , , phase] of trial.seconds) {
      const before = all.at(-1);
      if (before && before.name === phase) before.to = at;
      else all.push({ name: phase, from: before ? before.to : 0, to: at });
    }
    return all;
  }

  function xMax() {
    return Math.max(trial.total || 0, trial.seconds.at(-1)?.[0] || 0);
  }

  function showRates() {
    const last = trial.seconds.at(-1);
    const time = last ? `, ${number(last[0])} of ${number(trial.total)} s` : "";
    const users = trial.users === undefined ? "" : `${number(trial.users)} users, `;
    const offered = last && Number.isFinite(last[4]) ? `${number(last[4])} arrivals/s, ` : "";
    const rate = last
      ? `: ${users}${offered}${number(last[1])} requests/s, ${number(last[2])} errors/s` : "";
    said.textContent = `Trial ${trial.id}${trial.point ? `, ${trial.point}` : ""}: ` +
      `${trial.phase}${time}${rate}`;
    const arrivals = trial.seconds.filter((second) => Number.isFinite(second[4]));
    const series = [{ points: trial.seconds.map(([at, rate]) => [at, rate]) },
      { points: trial.seconds.map(([at, , errors]) => [at, errors]) }];
    const legend = [[0, "requests/s that ended"], [1, "errors/s"]];
    if (arrivals.length > 0) {
      series.push({ points: arrivals.map((second) => [second[0], second[4]]) });
      legend.push([2, "arrivals/s that were offered"]);
    }
    lineChart(rates, {
      series, phases: phases(), xMax: xMax(),
      xTitle: "seconds since the common start", yTitle: "per second",
      title: `Requests and errors per second of trial ${trial.id}; ` +
        `${last ? `last ${number(last[1])} requests/s` : "none yet"}`,
    });
    ratesLegend.replaceChildren(legendOf(...legend));
  }

  function showGroups() {
    const several = trial.load.groups.length > 1;
    groups.replaceChildren(...trial.load.groups.flatMap((group, at) => {
      const details = trial.details.filter((detail) => detail.groups[at]);
      return [
        several ? el("h3", {}, `Group ${group.name || at + 1}`) : undefined,
        ...responseFigure(group, details, at), faultTable(details.at(-1)?.groups[at]),
        guestTable(group, details, at),
      ].filter(Boolean);
    }));
  }

  function responseFigure(group, details, at) {
    const points = (of) => details.filter((detail) => Number.isFinite(detail.groups[at][of]))
      .map((detail) => [detail.second + 1, detail.groups[at][of]]);
    const [p50, p95] = [points("p50_ms"), points("p95_ms")];
    const chart = chartElement();
    const limits = group.limits.map((limit) =>
      ({ value: limit.limit_ms, text: `limit on p${limit.percentile}` }));
    lineChart(chart, {
      series: [{ points: p95 }, { points: [] }, { points: p50 }], limits, phases: phases(),
      xMax: xMax(), xTitle: "seconds since the common start", yTitle: "ms",
      title: `Response times of ${group.operation} in each second; ` +
        `${p95.length > 0 ? `last p95 ${number(p95.at(-1)[1])} ms` : "none yet"}`,
    });
    const judged = group.limits.length > 0
      ? " A trial is judged by the percentile over its whole window, not by single seconds." : "";
    return [
      el("h3", {}, `Response times of ${group.operation}`), chart,
      legendOf([0, "p95 in each second"], [2, "p50"],
        ...(limits.length > 0 ? [["limit", limits.map((limit) =>
          `${limit.text}: ${number(limit.value)} ms`).join(", ")]] : [])),
      judged ? el("p", { class: "caption" }, judged.trim()) : undefined,
    ];
  }

  function faultTable(last) {
    const faults = last?.faults || [];
    if (faults.length === 0) return undefined;
    return el("table", { class: "faults" },
      el("caption", {}, "Errors since the begin of the load, by class"),
      el("tbody", {}, ...faults.map(([name, count]) =>
        el("tr", {}, el("th", { scope: "row" }, name), el("td", { class: "value" }, number(count))))));
  }

  function guestTable(group, details, at) {
    const last = details.at(-1)?.groups[at];
    if (!last) return undefined;
    const recent = details.slice(-TABLE_SECONDS);
    const rows = group.guests.map((guest, place) => {
      const [requests, units, errors, p95, cpus] = last.guests[place] || [];
      const course = recent.map((detail) => detail.groups[at].guests[place]?.[4] ?? 0);
      return el("tr", {}, el("th", { scope: "row" }, guest.name),
        ...[guest.users > 0 ? number(guest.users) : "", number(requests), number(units),
          number(errors), p95 === null ? "" : number(p95), cores(cpus)].map((text) =>
          el("td", { class: "value" }, text)),
        el("td", {}, spark(course)));
    });
    const more = group.guests_in_all - group.guests.length;
    const heads = ["guest", "users", "requests/s", `${group.units}/s`, "errors/s", "p95 ms", "CPUs",
      "CPUs of the last minute"];
    return el("div", { class: "scroll" }, el("table", { class: "guests" },
      el("caption", {}, `Guests in second ${last ? details.at(-1).second + 1 : ""}` +
        `${more > 0 ? `, the first ${group.guests.length} of ${group.guests_in_all}` : ""}`),
      el("thead", {}, el("tr", {}, ...heads.map((head, column) =>
        el("th", { scope: "col", class: column > 0 && column < 7 ? "value" : undefined }, head)))),
      el("tbody", {}, ...rows)));
  }

  function guestsTogether(detail) {
    const all = detail.groups.flatMap((group) => group.guests.map((guest) => guest[4]));
    return all.some(Number.isFinite) ? all.reduce((sum, value) => sum + (value || 0), 0) : undefined;
  }

  function showUsage() {
    const points = (of) => trial.details.map((detail) => [detail.second + 1, of(detail)])
      .filter(([, value]) => Number.isFinite(value));
    const host = points((detail) => detail.host_cores);
    lineChart(usage, {
      series: [{ points: host }, { points: points((detail) => detail.driver_cores) },
        { points: points(guestsTogether) }],
      phases: phases(), xMax: xMax(), xTitle: "seconds since the common start", yTitle: "CPUs",
      title: `CPUs in use; the host ${host.length > 0 ? number(host.at(-1)[1]) : "not known"} of ` +
        `${number(trial.load.host_cpus)}`,
    });
    const last = trial.details.at(-1);
    const lag = `lag p99 ${number(last.lag_p99_us / 1000)} ms inside the window so far`;
    const driver = Number.isFinite(last.driver_cores)
      ? `, ${number(last.driver_cores)} of its ${number(trial.load.driver_cpus)} CPUs in use` : "";
    const memory = Number.isFinite(last.host_mib)
      ? `; the host has ${number(last.host_mib)} MiB of memory in use` : "";
    const step = trial.load.detail_every_s;
    const sampled = step > 1 ? ` Every ${step} seconds one is shown.` : "";
    health.textContent = `The driver: ${lag}${driver}${memory}.${sampled}`;
  }

  function showTable() {
    if (!data.open || !trial || !trial.load) return;
    const heads = ["second", "requests", "errors", ...trial.load.groups.flatMap((group) => {
      const name = group.name ? `${group.name} ` : "";
      return [`${name}p50 ms`, `${name}p95 ms`];
    }), "host CPUs", "driver CPUs", "CPUs of all guests"];
    const sum = (detail, of) => detail.groups.reduce((all, group) => all + group[of], 0);
    const text = (value) => (Number.isFinite(value) ? number(value) : "");
    const rows = trial.details.slice(-TABLE_SECONDS).reverse().map((detail) => el("tr", {},
      ...[detail.second + 1, sum(detail, "requests"), sum(detail, "errors"),
        ...detail.groups.flatMap((group) => [group.p50_ms, group.p95_ms]),
        detail.host_cores, detail.driver_cores, guestsTogether(detail)].map((value) =>
        el("td", { class: "value" }, text(value)))));
    table.replaceChildren(el("table", {},
      el("caption", {}, `The last ${rows.length} seconds, the newest first`),
      el("thead", {}, el("tr", {}, ...heads.map((head) =>
        el("th", { scope: "col", class: "value" }, head)))),
      el("tbody", {}, ...rows)));
  }

  return { element, take, show };
}
