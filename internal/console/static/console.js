// Keeps the part of a page up to date that says so, and lets a form be sent once. Pages work without this script.
"use strict";

for (const part of document.querySelectorAll("[data-live]")) {
  const inUse = () => part.contains(document.activeElement);
  let events, missed; // missed: what is shown is old, for somebody was about to follow one of its links
  const refresh = async () => {
    missed = inUse();
    if (missed) return;
    const answer = await fetch(part.dataset.part);
    const text = await answer.text();
    missed = inUse();
    if (answer.ok && !missed) part.innerHTML = text; // made and escaped by the console
  };
  part.addEventListener("focusout", (event) => {
    if (missed && !part.contains(event.relatedTarget)) refresh();
  });
  // A browser has few connections to one server: a page that nobody sees keeps none.
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

// A page that comes back from the browser's history may be sent again.
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("[data-once]")) delete form.dataset.sent;
});
