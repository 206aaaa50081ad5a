"use strict";
// Checks that take a project's answer arrive one by one, each as the list item
// that the server would have put into the page.
const list = document.querySelector("[data-progress]");

// The live way: the server answers with the page at once, and checks then.
function live() {
  for (const field of document.querySelectorAll("[data-live]")) field.disabled = !window.EventSource;
}

function place(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  const item = holder.content.firstElementChild;
  const there = item && document.getElementById(item.id);
  if (there) there.replaceWith(item);
  live();
}

if (list && list.dataset.events) {
  const source = new EventSource(list.dataset.events);
  for (const name of ["finding", "said", "next"]) {
    source.addEventListener(name, (event) => place(JSON.parse(event.data)));
  }
  source.addEventListener("end", () => source.close());
  source.onerror = () => { // the server is away, or the session ended: the button does the same
    source.close();
    for (const form of document.querySelectorAll("[data-without-events]")) form.hidden = false;
  };
}
for (const form of document.querySelectorAll("[data-without-events]")) {
  if (list && list.dataset.events && window.EventSource) form.hidden = true;
}
live();
