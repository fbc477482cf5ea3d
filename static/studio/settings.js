/* The settings: counts what is not saved, and asks before it would be lost. The page works without it. */
(() => {
  "use strict";
  const form = document.querySelector("form[data-settings]");
  if (!form) return;
  const bar = form.querySelector("[data-savebar]");
  const told = form.querySelector("[data-count]");
  let isLeaving = false;

  const isChanged = (control) => {
    const isBox = control.type === "checkbox" || control.type === "radio";
    const now = isBox ? (control.checked ? "on" : "") : control.value;
    return now !== control.dataset.was.replaceAll("\r\n", "\n");
  };
  const countChanges = () => new Set(
    [...form.querySelectorAll("[data-setting]")].filter(isChanged).map((control) => control.dataset.setting),
  ).size;
  const tell = () => {
    const count = countChanges();
    bar.hidden = count === 0 && !told.closest("form").querySelector("[aria-invalid]");
    if (told.dataset.one) told.textContent = count === 1 ? told.dataset.one : told.dataset.many.replace("{count}", count);
  };

  form.addEventListener("input", tell);
  form.addEventListener("change", tell);
  form.addEventListener("submit", () => { isLeaving = true; });
  form.querySelector("[data-discard]").addEventListener("click", () => { isLeaving = true; });
  addEventListener("beforeunload", (event) => {
    if (!isLeaving && countChanges() > 0) event.preventDefault();
  });
  addEventListener("pageshow", () => { isLeaving = false; tell(); });
  form.querySelector("[aria-invalid]")?.focus();
  tell();
})();
