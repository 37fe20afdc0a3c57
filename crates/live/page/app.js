"use strict";
// The page: what the server says, as elements. Text is only ever set as text.

const content = document.getElementById("content");
let session = { control: false, own: null, form: "", version: "" };
// What the page that is shown must end when another is opened.
let leave = () => {};

// An element: attributes, listeners (`onclick`), children (elements or text).
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "hidden" || key === "disabled" || key === "checked") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

async function get(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error((await answer.text()).trim() || `status ${answer.status}`);
  return answer.json();
}

function connection(text, lost) {
  const place = document.getElementById("connection");
  place.textContent = text;
  place.classList.toggle("lost", Boolean(lost));
}

function problem(text) {
  return el("p", { class: "simulated", role: "alert" }, text);
}

function localTime(text) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text || "";
  const two = (value) => String(value).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ` +
    `${two(time.getHours())}:${two(time.getMinutes())}`;
}

function clock(text) {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? "" : time.toTimeString().slice(0, 8);
}

function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

function stateMark(state) {
  return el("span", { class: `state ${state}` }, state);
}

function counts(trials) {
  const all = [["done", trials.done], ["void", trials.void], ["failed", trials.failed],
    ["left", trials.left]];
  return all.filter(([, count]) => count > 0).map(([name, count]) => `${count} ${name}`).join(", ");
}

// ---- The library ----

const library = { search: "", sort: "date", chosen: new Map() };

function libraryPage() {
  document.title = "Rookery: runs";
  const list = el("tbody");
  const note = el("p", { class: "caption", role: "status" });
  const chosen = el("div", { class: "chosen" });
  const search = el("input", {
    type: "search", placeholder: "Search titles, studies, answers", "aria-label": "Search",
    oninput: () => { library.search = search.value; show(); },
  });
  search.value = library.search;
  const sorts = [["date", "newest first"], ["title", "by title"], ["study", "by study"],
    ["state", "by state"]];
  const sort = el("select", {
    "aria-label": "Order", onchange: () => { library.sort = sort.value; show(); },
  }, ...sorts.map(([value, text]) => el("option", { value }, text)));
  sort.value = library.sort;
  content.replaceChildren(
    el("header", {}, el("p", { class: "kicker" }, "Library"), el("h1", {}, "Runs")),
    el("section", {},
      el("div", { class: "tools" }, search, sort),
      chosen,
      el("div", { class: "scroll" }, el("table", { class: "runs" },
        el("caption", { class: "unseen" }, "All runs"),
        el("thead", {}, el("tr", {}, ...["", "run", "begun", "state", "trials"].map((head) =>
          el("th", { scope: "col" }, head || el("span", { class: "unseen" }, "compare"))))),
        list)),
      note),
  );
  let runs = [];
  let timer = 0;
  let over = false;

  function choice(run) {
    const box = el("input", {
      type: "checkbox", "aria-label": `Compare ${run.title || run.name}`,
      disabled: Boolean(run.error),
      onchange: () => {
        if (box.checked) library.chosen.set(run.key, run); else library.chosen.delete(run.key);
        showChosen();
      },
    });
    box.checked = library.chosen.has(run.key);
    return box;
  }

  function row(run) {
    const said = run.error || run.answer;
    return el("tr", { "data-key": run.key },
      el("td", {}, choice(run)),
      el("td", {},
        el("a", { class: "title", href: `#/run/${run.key}` }, run.title || run.name),
        el("div", { class: "name" }, run.name, run.study ? " \u00b7 " : "",
          run.study ? el("a", { href: `#/trend/${encodeURIComponent(run.study)}` },
            `trend of ${run.study}`) : undefined),
        said ? el("div", { class: "said" }, said) : undefined),
      el("td", { class: "when" }, localTime(run.created_at)),
      el("td", {}, stateMark(run.state)),
      el("td", { class: "when" }, counts(run.trials)));
  }

  function showChosen() {
    const all = [...library.chosen.values()];
    all.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
    if (all.length === 0) { chosen.replaceChildren(); return; }
    const [base, ...others] = all;
    const names = `${base.name} (base)` + others.map((run) => `, ${run.name}`).join("");
    const target = `#/compare/${base.key}/${others.map((run) => run.key).join(",")}`;
    chosen.replaceChildren(
      el("button", {
        type: "button", disabled: others.length === 0, id: "compare",
        onclick: () => { location.hash = target; },
      }, "Compare"),
      el("button", {
        type: "button", onclick: () => { library.chosen.clear(); showChosen(); show(); },
      }, "Clear"),
      el("span", { class: "caption" }, others.length === 0 ? `${names}: choose another run` : names));
  }

  function show() {
    const words = library.search.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (run) =>
      [run.title, run.name, run.study, run.answer, run.state, run.version].join(" ").toLowerCase();
    const found = runs.filter((run) => words.every((word) => text(run).includes(word)));
    if (library.sort !== "date") {
      const key = library.sort;
      found.sort((a, b) => String(a[key]).localeCompare(String(b[key])));
    }
    list.replaceChildren(...found.map(row));
    return found.length;
  }

  async function load() {
    try {
      const answer = await get("/api/runs");
      if (over) return;
      const same = JSON.stringify(answer.runs) === JSON.stringify(runs);
      runs = answer.runs;
      if (!same) show();
      const reading = answer.looking || answer.reading > 0;
      const left = reading ? `; ${answer.reading || "some"} are still being read` : "";
      note.textContent = runs.length === 0 && !reading
        ? "No runs yet: `rookery run STUDY` makes one."
        : `${runs.length} runs${left}`;
      connection("");
      timer = setTimeout(load, reading ? 500 : 4000);
    } catch (error) {
      if (over) return;
      connection(`no answer: ${error.message}`, true);
      timer = setTimeout(load, 4000);
    }
  }
  showChosen();
  load();
  return () => { over = true; clearTimeout(timer); };
}

// ---- One run ----

const GLYPHS = {
  planned: ["\u00b7", "waiting"], running: ["\u25b6", "running"], done: ["\u2713", "done"],
  missed: ["!", "done, limits missed"], void: ["\u2205", "void"], retried: ["\u21bb", "void, run again"],
  failed: ["\u2717", "failed"],
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
  // The trial that runs, as the journal has it.
  let present = null;
  const happened = [];

  const head = el("header");
  const numbers = el("dl", { class: "numbers" });
  const bar = el("progress", { max: 1, value: 0, "aria-label": "Trials that have ended" });
  const buttons = el("div", { class: "tools" });
  const chart = document.createElementNS(SVG, "svg");
  chart.setAttribute("class", "chart");
  const now = el("section", { id: "now", hidden: true },
    el("h2", {}, "The present trial"),
    el("p", { id: "present", role: "status" }),
    chart,
    el("div", { class: "legend" },
      el("span", {}, el("span", { class: "swatch" }), "requests/s"),
      el("span", {}, el("span", { class: "swatch second" }), "errors/s")));
  const plan = el("tbody");
  const detail = el("p", { class: "caption", role: "status" });
  const legend = el("p", { class: "key" }, ...Object.entries(GLYPHS).map(([kind, [glyph, text]]) =>
    el("span", {}, el("span", { class: `cell ${kind}`, "aria-hidden": "true" }, glyph), text)));
  const log = el("ol", { class: "log", reversed: "" });
  const notes = el("ul", { class: "caveats" });
  const noted = el("section", { hidden: true }, el("h2", {}, "Notes"), notes);
  const events = el("section", { hidden: true }, el("h2", {}, "What happened"), log);
  const report = el("section", { id: "report" }, el("h2", {}, "Report"));
  const top = el("section", {}, numbers, bar, buttons);
  content.replaceChildren(head,
    top, now,
    el("section", {}, el("h2", {}, "Plan"),
      el("div", { class: "scroll" }, el("table", { class: "plan" },
        el("caption", { class: "unseen" }, "Points and their trials"), el("thead", {}, el("tr", {},
          ...["point", "trials", "throughput", "p95"].map((text, column) =>
            el("th", { scope: "col", class: column > 1 ? "value" : undefined }, text)))),
        plan)),
      detail, legend),
    noted,
    events,
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
    const left = count("planned") + count("running");
    const pairs = [["trials", `${all.length - left} of ${all.length}`], ["void", count("void")],
      ["failed", count("failed")]];
    if (run.state === "running") pairs.push(["time left", timeLeft(all, left)]);
    numbers.replaceChildren(...pairs.map(([name, value]) =>
      el("div", {}, el("dt", {}, name), el("dd", {}, String(value)))));
    bar.max = Math.max(1, all.length);
    bar.value = all.length - left;
    now.hidden = run.state !== "running" || !present;
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

  // Mean and range over the trials of a point that ended well.
  function pointNumbers(point) {
    const own = [...(rows.get(point)?.trials || [])].map((id) => trials.get(id))
      .filter((trial) => trial.status === "done" && trial.purpose !== "pilot");
    const text = (values, unit) => {
      if (values.length === 0) return "";
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      const range = values.length > 1
        ? ` (${number(Math.min(...values))} to ${number(Math.max(...values))})` : "";
      return `${number(mean)}${range} ${unit}`;
    };
    return [text(own.map((trial) => trial.throughput).filter(Number.isFinite), run.rate),
      text(own.map((trial) => trial.p95_ms).filter(Number.isFinite), "ms")];
  }

  function showPoint(point) {
    const row = rows.get(point);
    if (!row) return;
    [row.throughput.textContent, row.p95.textContent] = pointNumbers(point);
  }

  function showPlan() {
    cells = new Map();
    rows = new Map();
    for (const point of run.points) {
      const row = {
        trials: new Set(), cells: el("div", { class: "cells" }),
        throughput: el("td", { class: "value" }), p95: el("td", { class: "value" }),
      };
      const search = point.search ? `, search ${point.search}` : "";
      row.element = el("tr", {}, el("th", { scope: "row" }, point.label,
        el("div", { class: "caption" }, `${point.layouts}${search}`)),
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
    detail.textContent = say(trials.get(chosen));
  });

  function showButtons() {
    const own = session.control && session.own === key && run.state === "running";
    const stop = (how, text, question) => el("button", {
      type: "button", class: "stop", id: `stop-${how}`,
      onclick: async () => {
        if (!confirm(question)) return;
        const body = JSON.stringify({ stop: how, form: session.form });
        const answer = await fetch("/api/control", { method: "POST", body });
        buttons.append(el("span", { role: "status" },
          answer.ok ? "The run was asked to stop." : await answer.text()));
      },
    }, text);
    const keep = [...buttons.querySelectorAll("[role=status]")];
    buttons.replaceChildren(...(own ? [
      stop("after-trial", "Stop after this trial", "Stop the run when the present trial has ended?"),
      stop("now", "Stop now", "Stop the run now? The present trial is run again on resuming."),
    ] : []), ...keep);
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
    if (event.event === "trial-started") {
      present = { trial: event.trial, point: event.point, seconds: [], total: 0, phase: "cloning" };
    } else if (event.event === "guests-ready" && present) {
      present.phase = "guests are healthy";
    } else if (event.event === "load") {
      if (!present || present.trial !== event.trial) {
        present = { trial: event.trial, point: "", seconds: [] };
      }
      present.total = event.total_s;
      present.users = event.active_users;
      present.phase = event.phase;
      present.seconds.push([event.elapsed_s, event.requests_per_s, event.errors_per_s, event.phase]);
    } else if (event.event === "trial-ended" && present) {
      present.phase = `ended: ${event.outcome}`;
    }
    const text = words(event);
    if (text !== undefined) happened.push([event.at, text]);
    if (!waiting) {
      waiting = true;
      requestAnimationFrame(() => { waiting = false; showPresent(); showLog(); });
    }
  }

  function showPresent() {
    if (!run || !present) return;
    now.hidden = run.state !== "running";
    const last = present.seconds.at(-1);
    const time = last ? `, ${number(last[0])} of ${number(present.total)} s` : "";
    const users = present.users === undefined ? "" : `${number(present.users)} users, `;
    const rate = last
      ? `: ${users}${number(last[1])} requests/s, ${number(last[2])} errors/s` : "";
    document.getElementById("present").textContent =
      `Trial ${present.trial}${present.point ? `, ${present.point}` : ""}: ` +
      `${present.phase}${time}${rate}`;
    const phases = [];
    for (const [at, , , phase] of present.seconds) {
      const before = phases.at(-1);
      if (before && before.name === phase) before.to = at;
      else phases.push({ name: phase, from: before ? before.to : 0, to: at });
    }
    lineChart(chart, {
      series: [{ points: present.seconds.map(([at, rate]) => [at, rate]) },
        { points: present.seconds.map(([at, , errors]) => [at, errors]) }],
      phases, xMax: Math.max(present.total || 0, last ? last[0] : 0),
      xTitle: "seconds since the common start", yTitle: "per second",
      title: `Requests and errors per second of trial ${present.trial}; ` +
        `${last ? `last ${number(last[1])} requests/s` : "none yet"}`,
    });
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
      for (const trial of JSON.parse(message.data).trials) {
        trials.set(trial.id, trial);
        const at = run.trials.findIndex((one) => one.id === trial.id);
        if (at >= 0) run.trials[at] = trial;
        showCell(trial);
        showPoint(trial.point);
        if (chosen === trial.id) detail.textContent = say(trial);
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

// ---- A comparison ----

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

// ---- A trend ----

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

// ---- Which page ----

function route() {
  leave();
  connection("");
  const parts = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  if (parts[0] === "run" && parts[1]) leave = runPage(parts[1]);
  else if (parts[0] === "compare" && parts[2]) leave = comparePage(parts[1], parts[2]);
  else if (parts[0] === "trend" && parts[1]) leave = trendPage(parts[1]);
  else leave = libraryPage();
}

async function begin() {
  try {
    session = await get("/api/session");
  } catch (error) {
    content.replaceChildren(problem(error.message));
    return;
  }
  const own = document.getElementById("nav-own");
  if (session.own) {
    own.href = `#/run/${session.own}`;
    own.hidden = false;
    if (!location.hash) location.replace(own.href);
  }
  window.addEventListener("hashchange", () => {
    if (location.hash !== "#content") { route(); window.scrollTo(0, 0); }
  });
  route();
}

begin();
