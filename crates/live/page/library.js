"use strict";
// The library: all runs, searched and chosen.

const library = { search: "", sort: "date", chosen: new Map() };

function libraryPage() {
  document.title = "Rookery: runs";
  const list = el("tbody");
  const note = el("p", { class: "caption", role: "status" });
  const chosen = el("div", { class: "chosen" });
  const search = el("input", {
    type: "search", placeholder: "Search titles, studies, answers, tags, notes", "aria-label": "Search",
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
        said ? el("div", { class: "said" }, said) : undefined,
        run.labels.tags.length > 0 ? tagList(run.labels.tags) : undefined,
        run.labels.note ? el("div", { class: "note" }, run.labels.note) : undefined),
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
      [run.title, run.name, run.study, run.answer, run.state, run.version, run.labels.note,
        ...run.labels.tags].join(" ").toLowerCase();
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
