"use strict";
// One run: its plan, what happens, its report.

const GLYPHS = {
  planned: ["\u00b7", "waiting"], running: ["\u25b6", "running"], done: ["\u2713", "done"],
  missed: ["!", "done, limits missed"], void: ["\u2205", "void"], retried: ["\u21bb", "void, run again"],
  failed: ["\u2717", "failed"], skipped: ["\u2013", "skipped by the user"],
};

// How a trial is shown.
function kindOf(trial) {
  if (trial.status === "void" && trial.retried) return "retried";
  if (trial.status === "done" && trial.passed === false) return "missed";
  return trial.status;
}

function runPage(key) {
  document.title = "Rookery: run";
  let run = null;
  let trials = new Map();
  let cells = new Map();
  let rows = new Map();
  let chosen = null;
  let lastId = 0;
  const present = presentView();
  const happened = [];

  const head = el("header");
  const numbers = el("dl", { class: "numbers" });
  const bar = el("progress", { max: 1, value: 0, "aria-label": "Trials that have ended" });
  const buttons = el("div", { class: "tools" });
  const asked = el("span", { id: "asked", role: "status" });
  const plan = el("tbody");
  const detail = el("p", { class: "caption", role: "status" });
  const further = el("div", { class: "further" });
  const legend = el("p", { class: "key" }, ...Object.entries(GLYPHS).map(([kind, [glyph, text]]) =>
    el("span", {}, el("span", { class: `cell ${kind}`, "aria-hidden": "true" }, glyph), text)));
  const log = el("ol", { class: "log", reversed: "" });
  const searches = el("section", { hidden: true });
  const notes = el("ul", { class: "caveats" });
  const noted = el("section", { hidden: true }, el("h2", {}, "Notes"), notes);
  const events = el("section", { hidden: true }, el("h2", {}, "What happened"), log);
  const report = el("section", { id: "report" }, el("h2", {}, "Report"));
  const top = el("section", {}, numbers, bar, buttons);
  content.replaceChildren(head,
    top, present.element,
    el("section", {}, el("h2", {}, "Plan"),
      el("div", { class: "scroll" }, el("table", { class: "plan" },
        el("caption", { class: "unseen" }, "Points and their trials"), el("thead", {}, el("tr", {},
          ...["point", "trials", "throughput", "p95"].map((text, column) =>
            el("th", { scope: "col", class: column > 1 ? "value" : undefined }, text)))),
        plan)),
      detail, further, legend),
    searches,
    noted,
    events,
    labelsView(key, () => run?.state === "running"),
    report);

  function showHead() {
    document.title = `Rookery: ${run.title}`;
    head.replaceChildren(
      el("p", { class: "kicker" }, run.state === "running" ? "A run under way" : "A run"),
      el("h1", {}, run.title),
      el("p", { class: "question", hidden: !run.question }, run.question || ""),
      el("p", { class: "meta" }, stateMark(run.state), el("span", {}, `run ${run.id}`),
        el("span", {}, localTime(run.created_at)), el("span", {}, run.study),
        el("span", {}, run.host), el("span", {}, `Rookery ${run.version}`)));
    noted.hidden = run.notes.length === 0;
    notes.replaceChildren(...run.notes.map((note) =>
      el("li", {}, `${localTime(note.at)}: ${note.text}`)));
  }

  // A search goes on until it has found its answer: how many trials that takes nobody knows.
  function left(all, count) {
    const open = run.searches.some((search) => search.open);
    return open ? `at least ${timeLeft(all, count)}` : timeLeft(all, count);
  }

  // Mean and 95 % spread of how long trials take, and what follows for those that are left.
  function timeLeft(all, left) {
    const took = all.filter((trial) => trial.ended_at && trial.started_at)
      .map((trial) => (new Date(trial.ended_at) - new Date(trial.started_at)) / 1000)
      .filter((seconds) => seconds >= 0);
    if (took.length === 0) {
      const each = run.expected_s / Math.max(1, all.length);
      return `about ${duration(each * left)} (expected)`;
    }
    const mean = took.reduce((sum, seconds) => sum + seconds, 0) / took.length;
    if (took.length < 3) return `about ${duration(mean * left)}`;
    const squares = took.reduce((sum, seconds) => sum + (seconds - mean) ** 2, 0);
    const variance = squares / (took.length - 1);
    // Of the sum of what is left, and of the mean that is taken for it.
    const spread = 2 * Math.sqrt(variance * (left + (left * left) / took.length));
    return `${duration(mean * left - spread)} to ${duration(mean * left + spread)}`;
  }

  function showNumbers() {
    const all = [...trials.values()];
    const count = (status) => all.filter((trial) => trial.status === status).length;
    const waiting = count("planned") + count("running");
    const pairs = [["trials", `${all.length - waiting} of ${all.length}`], ["void", count("void")],
      ["failed", count("failed")]];
    if (run.state === "running") pairs.push(["time left", left(all, waiting)]);
    numbers.replaceChildren(...pairs.map(([name, value]) =>
      el("div", {}, el("dt", {}, name), el("dd", {}, String(value)))));
    bar.max = Math.max(1, all.length);
    bar.value = all.length - waiting;
    present.show(run.state === "running");
  }

  function say(trial) {
    const point = run.points.find((one) => one.id === trial.point);
    const [, words] = GLYPHS[kindOf(trial)] || ["", trial.status];
    const parts = [`trial ${trial.id}, ${point ? point.label : `point ${trial.point}`}, ` +
      `repeat ${trial.repeat}: ${words}`];
    if (trial.throughput !== undefined) parts.push(`${number(trial.throughput)} ${run.rate}`);
    if (trial.p95_ms !== undefined) parts.push(`${run.operation} p95 ${number(trial.p95_ms)} ms`);
    return parts.concat(trial.reasons || []).join("; ");
  }

  function showCell(trial) {
    const kind = kindOf(trial);
    const [glyph, words] = GLYPHS[kind] || ["?", trial.status];
    let cell = cells.get(trial.id);
    if (!cell) {
      cell = el("button", { type: "button", "data-trial": trial.id });
      cells.set(trial.id, cell);
    }
    cell.className = `cell ${kind}`;
    cell.textContent = glyph;
    cell.setAttribute("aria-label", `trial ${trial.id}: ${words}`);
    cell.setAttribute("aria-pressed", String(chosen === trial.id));
    return cell;
  }

  // The mean over the trials of a point that ended well, and its 95 % interval, as the store has it.
  function throughputOf(point) {
    const last = point.means.at(-1);
    if (!last) return [];
    const interval = Number.isFinite(last.half_width) ? ` \u00b1 ${number(last.half_width)}` : "";
    const widths = point.means.map((mean) => mean.half_width).filter(Number.isFinite);
    const course = widths.length > 1 ? el("span", { class: "narrowing" }, spark(widths),
      `\u00b1 ${number(widths[0])} after ${point.means.find((mean) =>
        Number.isFinite(mean.half_width)).trials} trials`) : undefined;
    return [`${number(last.mean)}${interval} ${run.rate}`, course].filter(Boolean);
  }

  // Mean and range of the response times of the trials of a point that ended well.
  function responseOf(point) {
    const values = [...(rows.get(point.id)?.trials || [])].map((id) => trials.get(id))
      .filter((trial) => trial.status === "done" && trial.purpose !== "pilot")
      .map((trial) => trial.p95_ms).filter(Number.isFinite);
    if (values.length === 0) return "";
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const range = values.length > 1
      ? ` (${number(Math.min(...values))} to ${number(Math.max(...values))})` : "";
    return `${number(mean)}${range} ms`;
  }

  function showPoint(id) {
    const row = rows.get(id);
    if (!row) return;
    row.throughput.replaceChildren(...throughputOf(row.point));
    row.p95.textContent = responseOf(row.point);
  }

  function showPlan() {
    cells = new Map();
    rows = new Map();
    for (const point of run.points) {
      const row = {
        point, trials: new Set(), cells: el("div", { class: "cells" }),
        throughput: el("td", { class: "value" }), p95: el("td", { class: "value" }),
      };
      const search = point.search ? `, search ${point.search}` : "";
      row.element = el("tr", {}, el("th", { scope: "row" }, point.label,
        el("div", { class: "caption" }, `${point.layouts}${search}`), pointControls(point)),
      el("td", {}, row.cells), row.throughput, row.p95);
      rows.set(point.id, row);
    }
    for (const trial of run.trials) {
      const row = rows.get(trial.point);
      if (!row) continue;
      row.trials.add(trial.id);
      row.cells.append(showCell(trial));
    }
    plan.replaceChildren(...[...rows.values()].map((row) => row.element));
    for (const point of run.points) showPoint(point.id);
  }

  plan.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-trial]");
    if (!cell) return;
    const before = cells.get(chosen);
    if (before) before.setAttribute("aria-pressed", "false");
    chosen = Number(cell.dataset.trial);
    cell.setAttribute("aria-pressed", "true");
    showDetail();
  });

  // What is known of the chosen trial; its limits, errors and logs are asked for.
  async function showDetail() {
    const trial = trials.get(chosen);
    detail.textContent = say(trial);
    further.replaceChildren();
    if (trial.status === "planned" || trial.status === "skipped") return;
    const address = trial.status === "running" ? `/api/runs/${key}/logs`
      : `/api/runs/${key}/trials/${trial.id}`;
    try {
      const answer = await get(address);
      if (over || chosen !== trial.id) return;
      const said = trial.status === "running" ? { rules: [], errors: [], logs: answer } : answer;
      further.replaceChildren(...detailTables(said), ...logsOf(said.logs));
    } catch (error) {
      if (!over && chosen === trial.id) further.replaceChildren(problem(error.message));
    }
  }

  function detailTables({ rules, errors }) {
    const rows = (cells) => el("tr", {}, el("th", { scope: "row" }, cells[0]),
      ...cells.slice(1).map((text) => el("td", {}, text)));
    const outcomes = { passed: "kept", failed: "missed", "not-judged": "not judged" };
    const limits = rules.length === 0 ? undefined : el("table", {},
      el("caption", {}, "Limits and what was measured"),
      el("tbody", {}, ...rules.map((rule) => rows([rule.rule,
        Number.isFinite(rule.value) ? number(rule.value) : "", outcomes[rule.outcome] || ""]))));
    const faults = errors.length === 0 ? undefined : el("table", { class: "faults" },
      el("caption", {}, "Errors by guest and class, each with its first example"),
      el("tbody", {}, ...errors.map((error) => rows([error.guest,
        `${error.class}: ${error.sub_class}`, number(error.count), error.example]))));
    return [limits, faults].filter(Boolean).map((table) => el("div", { class: "scroll" }, table));
  }

  function logsOf(logs) {
    return logs.filter((log) => log.text.trim()).map((log) => el("details", {},
      el("summary", {}, `Log of ${log.guest}`), el("pre", { class: "lines" }, log.text)));
  }

  // Whether this page may change what the run does.
  function controls() {
    return session.control && session.own === key && run.state === "running";
  }

  async function ask(path, what, done) {
    try {
      await change(path, what);
      asked.textContent = done;
    } catch (error) {
      asked.textContent = error.message;
    }
  }

  function showButtons() {
    const stop = (how, text, question) => el("button", {
      type: "button", class: "stop", id: `stop-${how}`,
      onclick: () => {
        if (confirm(question)) ask("/api/control", { stop: how }, "The run was asked to stop.");
      },
    }, text);
    buttons.replaceChildren(...(controls() ? [
      stop("after-trial", "Stop after this trial", "Stop the run when the present trial has ended?"),
      stop("now", "Stop now", "Stop the run now? The present trial is run again on resuming."),
    ] : []), asked);
  }

  // What can be asked for of a point: it is done when the present trial has ended.
  function pointControls(point) {
    if (!controls()) return undefined;
    const alter = (name, what) => ask("/api/plan", { change: name, ...what },
      "Asked for; the plan changes when the present trial has ended.");
    const count = el("input", { type: "number", min: 1, max: 100, value: 1,
      "aria-label": `Repeats to add to point ${point.id}` });
    const load = el("input", { type: "number", min: 0, step: "any", value: point.load,
      "aria-label": "Load of the point to add" });
    const button = (name, text, onclick) =>
      el("button", { type: "button", class: name, onclick }, text);
    return el("details", { class: "change", "data-point": point.id }, el("summary", {}, "Change"),
      el("div", { class: "tools" },
        button("skip", "Skip", () => {
          const search = point.search ? "This ends its search. " : "";
          if (confirm(`Skip ${point.label}? ${search}It cannot be taken back.`)) {
            alter("skip", { point: point.id });
          }
        }),
        ...(point.search ? [] : [
          el("span", {}, count, button("repeat", "Add repeats", () =>
            alter("repeat", { point: point.id, count: count.valueAsNumber }))),
          el("span", {}, load, button("add", `Add a point of so many ${point.load_unit}`, () =>
            alter("add-point", { like: point.id, load: load.valueAsNumber }))),
        ])));
  }

  function showReport() {
    const done = run.trials.some((trial) => trial.status === "done");
    const address = `/runs/${key}/report`;
    const frame = () => el("iframe", {
      src: address, title: "The report", sandbox: "allow-scripts allow-downloads",
    });
    const alone = el("a", { class: "button", href: address, target: "_blank", rel: "noopener" },
      "Open by itself");
    const title = el("h2", {}, run.state === "running" ? "Report so far" : "Report");
    if (!done) {
      report.replaceChildren(title, el("p", { class: "caption" }, "No trial has ended well yet."));
    } else if (run.state === "ended") {
      // What is asked of a run that has ended.
      top.after(report);
      report.replaceChildren(title, el("div", { class: "tools" }, alone), frame());
    } else if (!report.querySelector("iframe")) {
      // Making it takes CPU beside the measurement: only when it is asked for.
      const open = el("button", {
        type: "button", onclick: () => { report.append(frame()); open.remove(); },
      }, "Show here");
      report.replaceChildren(title, el("div", { class: "tools" }, open, alone));
    }
  }

  function showAll() {
    const states = run.state;
    trials = new Map(run.trials.map((trial) => [trial.id, trial]));
    showHead();
    showPlan();
    showNumbers();
    showButtons();
    searches.hidden = run.searches.length === 0;
    searches.replaceChildren(el("h2", {}, "Searches"), ...run.searches.map(searchSection));
    if (report.dataset.state !== states) {
      report.dataset.state = states;
      showReport();
    }
  }

  function words(event) {
    switch (event.event) {
      case "run-started": return `run ${event.run}: ${event.trials} trials, ` +
        `${event.finished_before} finished before`;
      case "building": return `${event.what}: ${event.detail}`;
      case "template": return `template with a database of ${event.database}: ` +
        `${number(event.seconds)} s`;
      case "grown": return `the plan has ${event.trials} trials`;
      case "times-chosen": return `pilots have chosen: settle ${duration(event.settle_s)}, ` +
        `window ${duration(event.steady_s)}`;
      case "search-ended": return `search ${event.search}, ${event.subject}: ${event.text}`;
      case "resting": return `resting ${number(event.seconds)} s`;
      case "trial-started": return `trial ${event.trial}: ${event.point}, repeat ${event.repeat}`;
      case "guests-ready": return `trial ${event.trial}: ${event.guests} guests healthy after ` +
        `${number(event.seconds)} s`;
      case "trial-ended": {
        const headline = event.headline
          ? `, ${number(event.headline.value)} ${event.headline.rate}` : "";
        const limits = event.qos === true ? ", limits met"
          : event.qos === false ? ", limits missed" : "";
        const reasons = (event.reasons || []).map((reason) => `\n    ${reason}`).join("");
        return `trial ${event.trial}: ${event.outcome}${headline}${limits}${reasons}`;
      }
      case "retried": return `trial ${event.trial} is run again as trial ${event.again}`;
      case "remark": return `note: ${event.text}`;
      case "change-refused": return `not changed: ${event.text}`;
      case "run-ended": return `the run ended: ${event.done} done, ${event.void} void, ` +
        `${event.failed} failed, ${event.left} left`;
      default: return undefined;
    }
  }

  function showLog() {
    events.hidden = happened.length === 0;
    log.replaceChildren(...happened.slice(-200).reverse().map(([at, text]) =>
      el("li", {}, el("time", {}, clock(at)), text)));
  }

  // Every event once, in order; numbers that were seen are not looked at again.
  let waiting = false;
  function happen(id, event) {
    if (id <= lastId) return;
    lastId = id;
    present.take(event);
    const text = words(event);
    if (text !== undefined) happened.push([event.at, text]);
    if (!waiting) {
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        if (run) present.show(run.state === "running");
        showLog();
      });
    }
  }

  let source = null;
  let timer = 0;
  let over = false;
  function connect() {
    if (source) source.close();
    // The browser connects again by itself and names the last event; after an answer that is no
    // stream, and when the page is seen again, we do.
    const after = lastId > 0 ? `?after=${lastId}` : "";
    source = new EventSource(`/api/runs/${key}/events${after}`);
    source.addEventListener("open", () => connection("live"));
    source.addEventListener("overview", (message) => {
      run = JSON.parse(message.data);
      showAll();
    });
    source.addEventListener("trials", (message) => {
      const news = JSON.parse(message.data);
      for (const point of news.points) {
        const row = rows.get(point.id);
        if (row) row.point = point;
      }
      for (const trial of news.trials) {
        trials.set(trial.id, trial);
        const at = run.trials.findIndex((one) => one.id === trial.id);
        if (at >= 0) run.trials[at] = trial;
        showCell(trial);
        showPoint(trial.point);
        if (chosen === trial.id) showDetail();
      }
      showNumbers();
      if (!report.querySelector("iframe")) showReport();
    });
    source.addEventListener("happened", (message) => {
      happen(Number(message.lastEventId), JSON.parse(message.data));
    });
    source.addEventListener("unreadable", (message) => {
      content.prepend(problem(JSON.parse(message.data).error));
      source.close();
    });
    source.addEventListener("gone", () => {
      content.prepend(problem("The directory of this run is gone."));
      source.close();
    });
    source.addEventListener("closing", () => connection("the server has ended", true));
    source.addEventListener("end", () => {
      // An interrupted run may be resumed: then the browser connects again.
      if (run && run.state === "ended") source.close();
      connection(run ? run.state : "");
    });
    source.addEventListener("error", () => {
      if (over) return;
      const lost = !run || run.state === "running";
      if (lost) connection("no connection to the server; trying again", true);
      if (source.readyState === EventSource.CLOSED && lost) {
        clearTimeout(timer);
        timer = setTimeout(connect, 3000);
      }
    });
  }
  // A browser has six connections to a server: pages that nobody sees leave theirs to others.
  function seen() {
    if (document.hidden) source.close();
    else connect();
  }
  document.addEventListener("visibilitychange", seen);
  connect();
  return () => {
    over = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
    source.close();
  };
}
