"use strict";
// What all pages use: elements, requests, times. Text is only ever set as text.

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
    ["left", trials.left], ["skipped", trials.skipped]];
  return all.filter(([, count]) => count > 0).map(([name, count]) => `${count} ${name}`).join(", ");
}

function tagList(tags) {
  return el("ul", { class: "tags", "aria-label": "Tags" },
    ...tags.map((tag) => el("li", {}, tag)));
}

// Ask for a change, which only a page of a server with `--control` may. What it answered, or its
// words of refusal as an error.
async function change(path, what) {
  const body = JSON.stringify({ form: session.form, ask: what });
  const answer = await fetch(path, { method: "POST", body });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}
