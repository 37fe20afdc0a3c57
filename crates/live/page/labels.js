"use strict";
// What people keep about a run, its export and its end.

// A section that shows tags and note of a run and lets a page with control change them; `isRunning`
// says whether the run is under way.
function labelsView(key, isRunning) {
  const said = el("p", { class: "caption", role: "status" });
  const shown = el("div");
  const element = el("section", { id: "labels", hidden: true }, el("h2", {}, "Labels and files"),
    shown, said);
  let name = "";

  async function load() {
    const answer = await get(`/api/runs/${key}/labels`);
    name = answer.name;
    element.hidden = false;
    show(answer.labels);
  }

  function show(labels) {
    shown.replaceChildren(...[
      labels.tags.length > 0 ? tagList(labels.tags) : undefined,
      labels.note ? el("p", { class: "note" }, labels.note) : undefined,
      session.control ? form(labels) : undefined,
      el("div", { class: "tools" },
        el("button", { type: "button", id: "export", onclick: () => {
          if (confirm(`Save all tables of ${name} as a JSON file?`)) {
            location.assign(`/runs/${key}/export.json`);
          }
        } }, "Export"),
        session.control ? el("button", { type: "button", class: "stop", id: "delete", onclick: remove },
          "Delete") : undefined),
    ].filter(Boolean));
  }

  function form(labels) {
    const tags = el("input", { type: "text", id: "tags", autocomplete: "off" });
    tags.value = labels.tags.join(" ");
    const note = el("textarea", { id: "note", rows: 3, maxlength: 4000 });
    note.value = labels.note;
    return el("div", { class: "labels" },
      el("label", { for: "tags" }, "Tags, separated by spaces"), tags,
      el("label", { for: "note" }, "Note"), note,
      el("div", { class: "tools" }, el("button", { type: "button", id: "keep", onclick: async () => {
        const words = tags.value.split(/\s+/).filter(Boolean);
        try {
          show(await change(`/api/runs/${key}/labels`, { tags: words, note: note.value.trim() }));
          said.textContent = "Kept.";
        } catch (error) {
          said.textContent = error.message;
        }
      } }, "Keep")));
  }

  async function remove() {
    if (isRunning()) {
      said.textContent = "A run that is under way is not deleted.";
      return;
    }
    if (!confirm(`Delete ${name} with everything that was measured? It cannot be brought back.`)) return;
    try {
      await change(`/api/runs/${key}/delete`, { name });
      location.hash = "#/";
    } catch (error) {
      said.textContent = error.message;
    }
  }

  load().catch((error) => { said.textContent = error.message; element.hidden = false; });
  return element;
}
