"use strict";
// Copy buttons: shown only where scripts run and the clipboard is there.
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  const said = button.parentElement.querySelector("[role=status]");
  const label = button.textContent;
  let back;
  button.addEventListener("click", async () => {
    let outcome = "Copied";
    try {
      await navigator.clipboard.writeText(button.dataset.copy || button.parentElement.querySelector("code").textContent);
    } catch { // the browser said no: leave the text selected to be copied by hand
      getSelection().selectAllChildren(button.parentElement.querySelector("code"));
      outcome = "Selected";
    }
    button.textContent = said.textContent = outcome;
    clearTimeout(back);
    back = setTimeout(() => { button.textContent = label; said.textContent = ""; }, 1500);
  });
}
