"use strict";
/* The Engine page: look again when the tab comes back or on request, go to a form, ask before leaving what is not saved. */
(() => {
  const check = () => window.htmx.trigger("#engine-poll", "engine-check");
  const edited = new Set();
  document.addEventListener("input", (event) => { if (event.target.form?.matches("[data-guard]")) edited.add(event.target.form); });
  document.addEventListener("submit", (event) => { edited.delete(event.target); });
  window.addEventListener("beforeunload", (event) => { if (edited.size) event.preventDefault(); });
  // What the rows say is old then; the next answer writes the line anew.
  document.addEventListener("htmx:sendError", (event) => {
    const line = event.target;
    if (line.id === "engine-poll" && !line.textContent.includes(line.dataset.lost)) line.append(` · ${line.dataset.lost}`);
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) check(); });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-engine-check]")) { event.preventDefault(); check(); return; }
    const link = event.target.closest("a[href^='#engine-config-']");
    if (!link) return;
    const card = document.getElementById(link.getAttribute("href").slice(1));
    if (card) { event.preventDefault(); card.scrollIntoView({ block: "start" }); history.replaceState(history.state, "", link.hash); card.focus({ preventScroll: true }); }
  });
})();
