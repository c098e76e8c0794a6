// Keeps the part of a page up to date that says so, and lets a form be sent once. Pages work without this script.
"use strict";

for (const part of document.querySelectorAll("[data-live]")) {
  new EventSource(part.dataset.live).onmessage = async () => {
    const answer = await fetch(part.dataset.part);
    if (answer.ok && !part.contains(document.activeElement)) {
      part.innerHTML = await answer.text(); // made and escaped by the console
    }
  };
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
