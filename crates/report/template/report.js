"use strict";
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const shown = new Map();

  // Text and grid take the colours of the page; the data keep their own.
  const themed = (layout) => {
    const result = structuredClone(layout);
    result.paper_bgcolor = "rgba(0,0,0,0)";
    result.plot_bgcolor = "rgba(0,0,0,0)";
    result.font = { family: style("--font"), size: 13, color: style("--text") };
    result.modebar = { bgcolor: "rgba(0,0,0,0)", color: style("--soft"), activecolor: style("--accent") };
    result.hoverlabel = { bgcolor: style("--card"), bordercolor: style("--line"), font: { color: style("--text") } };
    for (const [name, axis] of Object.entries(result)) {
      if (/^[xy]axis/.test(name)) {
        axis.gridcolor = style("--line");
        axis.linecolor = style("--line");
      }
    }
    return result;
  };

  const draw = (id) => {
    const { panels, index } = shown.get(id);
    const panel = panels[index];
    const config = { ...panel.config, modeBarButtonsToRemove: ["lasso2d", "select2d"] };
    return Plotly.react(id, panel.data, themed(panel.layout), config);
  };

  for (const source of document.querySelectorAll("script[type='application/json']")) {
    const id = source.id.replace(/-data$/, "");
    shown.set(id, { panels: JSON.parse(source.textContent), index: 0 });
    draw(id);
  }
  for (const choice of document.querySelectorAll("select[data-of]")) {
    choice.addEventListener("change", () => {
      const id = choice.dataset.of;
      shown.get(id).index = Number(choice.value);
      draw(id);
    });
  }

  const redraw = () => { for (const id of shown.keys()) draw(id); };
  dark.addEventListener("change", redraw);
  const printed = (light) => () => {
    document.documentElement.classList.toggle("print", light);
    redraw();
  };
  window.addEventListener("beforeprint", printed(true));
  window.addEventListener("afterprint", printed(false));
})();
