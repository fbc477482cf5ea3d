/* The studio's own script: theme, zone, dialogs, toasts, selection, keys, and manners for htmx.
   Every page works without it; nothing here builds markup from text. No eval, no inline script. */
(() => {
  "use strict";
  const root = document.documentElement;
  const body = document.body;
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const YEAR_SECONDS = 31536000;
  const keep = (name, value) => {
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `${name}=${encodeURIComponent(value)}; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Lax${secure}`;
  };

  /* --- what the server should know of the browser: its time zone --- */
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) keep("studio_zone", zone);

  /* --- theme: the server writes it into the page from the cookie, so nothing flashes --- */
  const toggleTheme = () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    keep("studio_theme", root.dataset.theme);
  };

  /* --- dialogs: those in the page, and those that htmx brings --- */
  const judgeTyped = (field) => $$("[data-when-typed]", field.form).forEach((button) => {
    button.disabled = field.value.trim() !== field.dataset.mustBe;
  });
  let opener = null;
  const openDialog = (dialog) => {
    if (!(dialog instanceof HTMLDialogElement) || dialog.open) return;
    const focused = document.activeElement;
    if (focused && focused !== body && !focused.closest("dialog")) opener = focused;
    dialog.showModal();
    $$("[data-must-be]", dialog).forEach(judgeTyped);
    ($("[aria-invalid=true]", dialog) || $("[data-focus]", dialog))?.focus();
  };
  /* Back to what opened the last dialog, where that is still there and nothing else has the focus. */
  const goBack = () => {
    if (document.activeElement !== body || $("dialog[open]")) return;
    const summary = opener?.closest("details.menu")?.querySelector("summary");
    (summary || (opener?.isConnected && opener.checkVisibility() ? opener : null))?.focus({ preventScroll: true });
  };
  const showBrought = (from) => {
    if (from.matches?.("dialog[data-show]")) openDialog(from);
    $$("dialog[data-show]", from).forEach(openDialog);
  };
  document.addEventListener("close", (event) => {
    if (event.target.matches?.("dialog[data-show]")) {
      // An answer that is on its way would look for what is gone. A request is with the element that it is in step with.
      $$("[hx-get]", event.target).forEach((asking) => {
        const step = asking.getAttribute("hx-sync")?.match(/^#[\w-]+/);
        window.htmx.trigger((step && $(step[0], event.target)) || asking, "htmx:abort");
      });
      event.target.remove();
    }
    goBack();
  }, true);

  /* --- toasts: ten seconds, longer while hovered or focused --- */
  const TOAST_MS = 10000;
  const startToast = (box) => {
    if (box.dataset.started) return;
    box.dataset.started = "yes";
    let left = 0;
    const go = () => { clearTimeout(left); left = setTimeout(() => box.remove(), TOAST_MS); };
    const hold = () => clearTimeout(left);
    box.addEventListener("pointerenter", hold);
    box.addEventListener("focusin", hold);
    box.addEventListener("pointerleave", go);
    box.addEventListener("focusout", go);
    go();
  };
  /* A dialog covers the messages and takes the page from screen readers: a fault then stands in the dialog. */
  const tellInDialog = (dialog, text) => {
    const place = $(".dialog-body", dialog) || dialog;
    const box = $("[data-fault]", place) || document.createElement("p");
    box.className = "callout bad";
    box.dataset.fault = "";
    box.setAttribute("role", "alert");
    box.textContent = text;
    place.append(box);
    box.scrollIntoView({ block: "nearest" });
  };
  const startToasts = () => $$("#toasts [data-toast-shown]").forEach((box) => {
    const dialog = $("dialog:modal");
    if (!dialog || box.getAttribute("role") !== "alert" || $("a, button", box)) { startToast(box); return; }
    tellInDialog(dialog, box.textContent.trim());
    box.remove();
  });
  const forgetFaults = () => $$("[data-fault]").forEach((box) => box.remove());
  const say = (text, role = "") => {
    $$("#toasts [data-said]").filter((box) => box.textContent === text).forEach((box) => box.remove());
    const box = document.createElement("div");
    const said = document.createElement("span");
    box.className = "toast";
    box.dataset.toastShown = "";
    box.dataset.said = "";
    if (role) box.setAttribute("role", role);
    said.textContent = text;
    box.append(said);
    $("#toasts")?.append(box);
    startToasts();
  };
  const complain = (text) => say(text, "alert");
  /* What went wrong on the way is over as soon as an answer comes. */
  const forgetComplaints = () => $$("#toasts [data-said][role=alert]").forEach((box) => box.remove());

  /* --- selection of rows --- */
  const countSelected = () => {
    const boxes = $$("tbody .check");
    const chosen = boxes.filter((box) => box.checked);
    boxes.forEach((box) => box.closest("tr")?.classList.toggle("selected", box.checked));
    $$("[data-selected-count]").forEach((place) => { place.textContent = chosen.length; });
    $$(".selbar").forEach((bar) => {
      bar.hidden = chosen.length === 0;
      if (bar.hidden) chooseWhole(bar, false);
    });
    $$("[data-check-all]").forEach((box) => {
      box.checked = boxes.length > 0 && chosen.length === boxes.length;
      box.indeterminate = chosen.length > 0 && !box.checked;
    });
  };
  /* "Select all 128,407": the form then carries the filter instead of ids. */
  const chooseWhole = (bar, isWhole) => {
    const field = $("[data-whole-filter]", bar);
    if (!field) return;
    field.value = isWhole ? "1" : "";
    $$("[data-when-page]", bar).forEach((part) => { part.hidden = isWhole; });
    $$("[data-when-whole]", bar).forEach((part) => { part.hidden = !isWhole; });
  };
  const clearSelection = () => {
    $$("tbody .check, [data-check-all]").forEach((box) => { box.checked = false; });
    countSelected();
  };

  /* --- clicks --- */
  const copyText = async (button) => {
    const source = button.dataset.copy || $("pre", button.parentElement)?.textContent || "";
    const name = button.textContent;
    try {
      await navigator.clipboard.writeText(source);
    } catch {
      return complain(body.dataset.copyFailed || "");
    }
    const done = button.dataset.copied;
    if (done) { button.textContent = done; setTimeout(() => { button.textContent = name; }, 1500); }
    return undefined;
  };
  const copyAddress = async () => {
    try { await navigator.clipboard.writeText(location.href); say(body.dataset.copied || ""); } catch { complain(body.dataset.copyFailed || ""); }
  };
  /* From the drawer: the row opens its own form; where the row is not on this page, the link leads to a form. */
  const editRow = (event, link) => {
    const row = document.getElementById(link.dataset.editRow);
    const edit = row && $("[data-edit]", row);
    if (!edit) return;
    event.preventDefault();
    $(".drawer [data-escape]")?.click();
    edit.click();
    row.scrollIntoView({ block: "nearest" });
  };
  const openRow = (event) => {
    const row = event.target.closest("tr.open");
    if (row && !event.target.closest("a,button,input,label,form") && !String(getSelection())) $("a.mem-text, a", row)?.click();
  };
  document.addEventListener("click", (event) => {
    const target = event.target;
    if (target instanceof HTMLDialogElement) { target.close(); return; }
    const actor = target.closest("[data-theme-toggle],[data-open],[data-close],[data-copy],[data-copy-address],[data-edit-row],[data-select-whole],[data-select-none],[data-dismiss]");
    if (!actor) { openRow(event); return; }
    if (actor.matches("[data-theme-toggle]")) { event.preventDefault(); toggleTheme(); }
    if (actor.dataset.open) { actor.closest("details")?.removeAttribute("open"); openDialog(document.getElementById(actor.dataset.open)); }
    if (actor.matches("[data-close]")) { const dialog = actor.closest("dialog"); if (dialog) { event.preventDefault(); dialog.close(); } }
    if (actor.matches("[data-copy]")) copyText(actor);
    if (actor.matches("[data-copy-address]")) copyAddress();
    if (actor.matches("[data-edit-row]")) editRow(event, actor);
    if (actor.matches("[data-select-whole]")) chooseWhole(actor.closest(".selbar"), true);
    if (actor.matches("[data-select-none]")) clearSelection();
    if (actor.matches("[data-dismiss]")) actor.closest(".toast")?.remove();
  });
  document.addEventListener("click", (event) => {
    $$("details.menu[open]").forEach((menu) => { if (!menu.contains(event.target) || event.target.closest(".menu > div a, .menu > div button")) menu.open = false; });
  });

  /* --- fields --- */
  document.addEventListener("change", (event) => {
    const field = event.target;
    if (field.matches("[data-check-all]")) $$("tbody .check").forEach((box) => { box.checked = field.checked; });
    if (field.matches(".check")) countSelected();
    if (field.matches("[data-single-keys-switch]")) {
      body.dataset.singleKeys = field.checked ? "on" : "off";
      keep("studio_keys", body.dataset.singleKeys);
    }
    if (field.matches("[data-submit-on-change]")) field.form?.requestSubmit();
  });
  const CHARACTERS_PER_TOKEN = 4;
  const tellLength = (field) => {
    const told = document.getElementById(field.dataset.lengthTold);
    if (!told) return;
    const length = [...field.value].length;
    $("[data-characters]", told).textContent = length.toLocaleString(root.lang);
    $("[data-tokens]", told).textContent = Math.ceil(length / CHARACTERS_PER_TOKEN).toLocaleString(root.lang);
  };
  document.addEventListener("input", (event) => {
    const field = event.target;
    if (field.dataset.lengthTold) tellLength(field);
    if (field.dataset.mustBe) judgeTyped(field);
  });

  /* --- keys: never while typing, never with a modifier --- */
  let lead = "";
  const PLACES = { o: "overview", m: "memories", p: "playground", e: "engine", r: "requests", s: "settings" };
  const rows = () => $$("tr.open");
  const cursor = () => rows().findIndex((row) => row.classList.contains("cursor"));
  const moveTo = (number) => {
    const all = rows();
    const row = all[Math.max(0, Math.min(all.length - 1, number))];
    if (!row) return;
    all.forEach((other) => other.classList.toggle("cursor", other === row));
    $("a.mem-text, a", row)?.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };
  const inRow = (selector) => { const row = rows()[cursor()]; if (row) $(selector, row)?.click(); };
  const escape = () => {
    const menu = $("details.menu[open]");
    if (menu) { menu.open = false; $("summary", menu)?.focus(); return; }
    const ways = [...$$("[data-cancel]"), ...$$(".drawer [data-escape]"), ...$$("[data-escape]")];
    ways.find((way) => way.checkVisibility())?.click();
  };
  const ACTS = {
    "/": () => $("[data-search]")?.focus(),
    j: () => ($("[data-next-memory]") ? $("[data-next-memory]").click() : moveTo(cursor() + 1)),
    k: () => ($("[data-previous-memory]") ? $("[data-previous-memory]").click() : moveTo(cursor() - 1)),
    x: () => inRow(".check"),
    e: () => ($("[data-drawer-edit]") ? $("[data-drawer-edit]").click() : inRow("[data-edit]")),
    "?": () => openDialog($("#keys")),
    z: () => $$("#toasts [data-undo]").at(-1)?.click(),
  };
  const isTyping = (target) => target.closest("input:not([type=checkbox]):not([type=radio]),textarea,select,[contenteditable]");
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") { event.target.closest("form")?.requestSubmit(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || $("dialog[open]")) return;
    if (event.key === "Escape") {
      const form = event.target.closest("form");
      if (isTyping(event.target) && !(form && $("[data-cancel]", form))) event.target.blur(); else escape();
      return;
    }
    if (isTyping(event.target) || body.dataset.singleKeys === "off") return;
    if (lead === "g" && PLACES[event.key]) {
      lead = "";
      const way = $(`[data-place="${PLACES[event.key]}"]`);
      if (way) { event.preventDefault(); location.href = way.href; }
      return;
    }
    lead = event.key === "g" ? "g" : "";
    if (ACTS[event.key]) { event.preventDefault(); ACTS[event.key](); }
  });
  const markFocused = (focused) => {
    const row = focused.closest?.("tr.open");
    if (row) rows().forEach((other) => other.classList.toggle("cursor", other === row));
  };
  document.addEventListener("focusin", (event) => markFocused(event.target));

  /* --- htmx --- */
  /* Whoever signs in anew in another tab gets another token: the cookie has the one that counts. */
  const readToken = () => document.cookie.split("; ").find((pair) => pair.startsWith("csrftoken="))?.slice(10);
  document.addEventListener("htmx:configRequest", (event) => {
    const token = readToken();
    if (!token || event.detail.verb === "get") return;
    event.detail.headers["X-CSRFToken"] = token;
    if (event.detail.formData.has("csrfmiddlewaretoken")) event.detail.formData.set("csrfmiddlewaretoken", token);
  });
  let pressed = null;  // what had the focus as its request began: switched off meanwhile it loses it, and is given it back
  /* What is typed into a row's form is never thrown away by a list that comes anew: that waits, or is refused. */
  let isListBehind = false;
  const hasChanged = (field) => (field.options
    ? [...field.options].some((option) => option.selected !== option.defaultSelected)
    : field.value !== field.defaultValue);
  const findEdited = () => $$("tr.edit-row form")
    .find((form) => $("[role=alert], [aria-invalid=true]", form)
      || $$("input:not([type=hidden]), textarea, select", form).some(hasChanged));
  document.addEventListener("htmx:beforeRequest", (event) => {
    const asking = event.detail.elt;
    if (asking.id === "list-loader" && $("tr.edit-row")) {
      isListBehind = true;
      event.preventDefault();
      return;
    }
    if (event.detail.target?.id !== "list" && !asking.matches("[data-edit]")) return;
    const edited = findEdited();
    if (edited) {
      event.preventDefault();
      $("textarea", edited).focus();
      complain(body.dataset.unsaved || "");
    } else if (asking.matches("[data-edit]")) {
      $("tr.edit-row [data-cancel]")?.click();
    }
  });
  addEventListener("beforeunload", (event) => { if (findEdited()) event.preventDefault(); });
  document.addEventListener("htmx:beforeRequest", (event) => {
    // A poll rests while nobody looks.
    if (event.target.matches("[data-poll]") && document.hidden) event.preventDefault();
    const { elt } = event.detail;
    const focused = document.activeElement;
    if (focused && (focused === elt || (elt.matches("form") && focused.form === elt))) pressed = { elt, focused };
  });
  /* The row whose memory is open beside the list is the one that keys act on. */
  const markOpened = () => {
    const opened = document.getElementById($(".drawer [data-back-to]")?.dataset.backTo)?.closest("tr");
    rows().forEach((row) => row.classList.toggle("current", row === opened));
    if (opened) rows().forEach((row) => row.classList.toggle("cursor", row === opened));
  };
  let lastRow = -1;
  let backTo = "";
  const markBusy = (event, isBusy) => {
    const table = event.detail.target?.id === "list" && $("table", event.detail.target);
    if (table) table.setAttribute("aria-busy", String(isBusy));
  };
  document.addEventListener("htmx:beforeSend", (event) => {
    markBusy(event, true);
    if (!event.target.matches("[data-poll]")) forgetFaults();
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    markBusy(event, false);
    if (event.detail.successful) forgetComplaints();
    if (pressed?.elt !== event.detail.elt) return;
    const { focused } = pressed;
    pressed = null;
    if (document.activeElement === body && !$("dialog[open]") && focused.isConnected) focused.focus({ preventScroll: true });
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const source = event.detail.requestConfig?.elt;
    backTo = source?.dataset.backTo || "";
    if (event.detail.target.id === "list") lastRow = cursor();
    // Only what the studio has written is put into the page: a proxy's error page stays out.
    const answer = event.detail.xhr;
    if (answer.status >= 400 && !answer.getResponseHeader("X-Studio")) {
      event.detail.shouldSwap = false;
      complain(body.dataset.serverFailed || "");
    }
  });
  document.addEventListener("htmx:sendError", (event) => {
    if (!event.target.matches("[data-poll]")) complain(body.dataset.serverGone || "");
  });
  /* What a later answer knows better: <span data-fill="id"> says what the element of that id is to say. */
  const fill = (from) => $$("[data-fill]", from).forEach((told) => {
    const place = document.getElementById(told.dataset.fill);
    if (place) place.textContent = told.textContent;
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    startToasts();
    showBrought(event.target);
    fill(event.target);
    $$("[data-length-told]", event.target).forEach(tellLength);
  });
  document.addEventListener("htmx:oobAfterSwap", (event) => { startToasts(); showBrought(event.target); });
  document.addEventListener("htmx:afterSettle", (event) => {
    const arrived = event.target.isConnected ? event.target : null;
    const place = arrived || body;
    const inError = arrived && $("[aria-invalid=true]", arrived);
    const wish = inError || (place.matches?.("[data-focus]") ? place : $("[data-focus]", place));
    if (wish) {
      wish.focus({ preventScroll: !wish.matches("input,textarea") });
      wish.removeAttribute("data-focus");
    } else if (document.activeElement === body) {
      if (backTo) document.getElementById(backTo)?.focus({ preventScroll: true });
      else if (event.target.id === "list" && lastRow >= 0) moveTo(lastRow);
      else goBack();
    }
    backTo = "";
    // Only now: until it has settled, htmx gives what it has swapped its classes back.
    countSelected();
    markFocused(document.activeElement);
    markOpened();
    if (isListBehind && !$("tr.edit-row")) {
      isListBehind = false;
      window.htmx.trigger(body, "memories-changed");
    }
  });
  document.addEventListener("htmx:load", startToasts);

  startToasts();
  countSelected();
  markOpened();
  showBrought(document);
  if (document.activeElement === body) $("main [aria-invalid=true]")?.focus();
  const wanted = location.hash.slice(1);
  if (wanted) openDialog(document.getElementById(wanted));
})();
