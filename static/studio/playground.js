"use strict";
/* The playground: Simulate waits for a query; strategy B shows while two are compared. */
(() => {
  const sync = () => {
    const query = document.getElementById("playground-query-input");
    const submit = document.querySelector("[data-testid='playground-submit']");
    if (!query || !submit) return;
    submit.disabled = query.value.trim() === "";
    const compare = document.getElementById("playground-compare");
    document.querySelectorAll("[data-while-comparing]").forEach((part) => { part.hidden = !compare.checked; });
  };
  document.addEventListener("input", sync);
  document.addEventListener("change", sync);
  document.addEventListener("htmx:afterSettle", sync);
  sync();
})();
/* The address is the run; without a clipboard (plain HTTP) it can still be copied by hand. */
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy-link]");
  if (!button) return;
  const label = button.querySelector("span");
  const before = label.textContent;
  try {
    await navigator.clipboard.writeText(location.href);
    label.textContent = button.dataset.copied;
  } catch {
    label.textContent = button.dataset.failed;
  }
  setTimeout(() => { label.textContent = before; }, 2500);
});
