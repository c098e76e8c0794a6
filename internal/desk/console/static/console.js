// Refreshes the parts of pages that change, finds choices for pickers, moves the focus to the search, and prevents that a
// form with data-once is submitted twice. Pages work without this script.
"use strict";

const main = document.querySelector("main[data-live]");
if (main) {
  let events, isBusy, again; // again: refresh once more after the refresh that goes on
  let isStale; // a part was not replaced because it has the focus
  const inUse = (part) => part.contains(document.activeElement);
  const refresh = async () => {
    if (again = isBusy) return;
    isBusy = true;
    isStale = false;
    try {
      const answer = await fetch(location.href);
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of main.querySelectorAll("[data-part]")) {
        const now = page.querySelector(`[data-part="${part.dataset.part}"]`);
        if (!now || now.innerHTML === part.innerHTML) continue;
        if (inUse(part)) isStale = true;
        else part.replaceChildren(...now.childNodes);
      }
    } finally {
      isBusy = false;
    }
    if (again) refresh();
  };
  main.addEventListener("focusout", () => setTimeout(() => { if (isStale) refresh(); }));
  // Browsers limit the connections per server, so a hidden page closes its event stream.
  const listen = () => {
    events?.close();
    if (document.hidden) return;
    events = new EventSource(main.dataset.live);
    events.onmessage = refresh;
  };
  document.addEventListener("visibilitychange", listen);
  listen();
}

for (const list of document.querySelectorAll("datalist[data-options]")) {
  let asked;
  for (const input of document.querySelectorAll(`input[list="${list.id}"]`)) {
    input.addEventListener("input", async () => {
      const text = asked = input.value;
      const answer = await fetch(`${list.dataset.options}&q=${encodeURIComponent(text)}`);
      const options = await answer.text();
      if (answer.ok && text === asked) list.innerHTML = options; // HTML escaped by the console
    });
  }
}

// The key "/" moves the focus to the search, unless it is typed into a field.
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  document.querySelector("header input[name=q]").focus();
});

for (const form of document.querySelectorAll("[data-once]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}

// A page restored from the browser's history can be submitted again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("[data-once]")) delete form.dataset.sent;
});
