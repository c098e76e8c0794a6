// Refreshes the elements with data-live, and prevents that a form with data-once is submitted twice. Pages work without
// this script.
"use strict";

for (const part of document.querySelectorAll("[data-live]")) {
  const inUse = () => part.contains(document.activeElement);
  let events, isStale; // isStale: a refresh was skipped because a link in the element has the focus
  const refresh = async () => {
    isStale = inUse();
    if (isStale) return;
    const answer = await fetch(part.dataset.part);
    const text = await answer.text();
    isStale = inUse();
    if (answer.ok && !isStale) part.innerHTML = text; // HTML escaped by the console
  };
  part.addEventListener("focusout", (event) => {
    if (isStale && !part.contains(event.relatedTarget)) refresh();
  });
  // Browsers limit the connections per server, so a hidden page closes its event stream.
  const listen = () => {
    events?.close();
    if (document.hidden) return;
    events = new EventSource(part.dataset.live);
    events.onmessage = refresh;
  };
  document.addEventListener("visibilitychange", listen);
  listen();
}

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
