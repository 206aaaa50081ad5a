"use strict";
// Comfort for forms. Everything works without it.
addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) { event.preventDefault(); return; } // a second click sends nothing twice
  form.dataset.sent = "1";
  const button = event.submitter || form.querySelector("button:not([type=button])");
  if (!button) return;
  button.setAttribute("aria-busy", "true");
  if (!button.dataset.busy) return;
  button.dataset.idle = button.textContent;
  button.textContent = button.dataset.busy;
});
addEventListener("pageshow", (event) => { // back from the next page
  if (!event.persisted) return;
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  for (const button of document.querySelectorAll("[aria-busy]")) {
    button.removeAttribute("aria-busy");
    if (button.dataset.idle) button.textContent = button.dataset.idle;
  }
});
for (const link of document.querySelectorAll("[data-dialog]")) {
  const dialog = document.getElementById(link.dataset.dialog);
  if (!dialog || !dialog.showModal) continue;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    link.closest("details")?.removeAttribute("open");
    dialog.showModal();
  });
  dialog.querySelector("[data-close]")?.addEventListener("click", () => dialog.close());
}
// A menu closes with Escape and when one goes elsewhere.
for (const menu of document.querySelectorAll("details.switcher, details.menu")) {
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
}
const wrong = document.querySelector("[aria-invalid=true]");
if (wrong) wrong.focus();
