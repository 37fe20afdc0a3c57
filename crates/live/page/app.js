"use strict";
// Which page is shown.

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
