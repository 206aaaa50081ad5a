"use strict";
// The editor of a surface file: line numbers, indentation by Tab, a preview
// that follows what is typed, and a warning before changes are lost. The form
// works without any of it.
const form = document.getElementById("editor");
const area = document.getElementById("file");
if (form && area) {
  const lines = form.querySelector(".editor-lines");
  const preview = document.getElementById("preview");
  const said = document.getElementById("preview-said");
  const kept = document.getElementById("kept");
  let saved = "saved" in form.dataset ? area.value : null; // what is kept, as far as this page knows
  const keptWord = kept.textContent;
  for (const hint of form.querySelectorAll("[data-with-script]")) hint.hidden = false;

  // Line numbers.
  let shownLines = 0;
  const number = () => {
    const count = area.value.split("\n").length;
    if (count !== shownLines) {
      lines.textContent = Array.from({ length: count }, (_, i) => i + 1).join("\n");
      shownLines = count;
    }
    lines.scrollTop = area.scrollTop;
  };
  area.addEventListener("scroll", () => { lines.scrollTop = area.scrollTop; });

  // Tab. It moves on, as everywhere, until the builder has begun to work in the
  // field, and once after Escape.
  let armed = false;
  area.addEventListener("focus", () => { armed = false; });
  area.addEventListener("pointerdown", () => { armed = true; });
  area.addEventListener("input", () => { armed = true; });
  const replace = (from, to, text) => {
    area.setSelectionRange(from, to);
    if (!document.execCommand("insertText", false, text)) { // keeps the browser's undo
      area.setRangeText(text, from, to, "end");
      area.dispatchEvent(new Event("input"));
    }
  };
  const indent = (back) => {
    const { selectionStart: from, selectionEnd: to, value } = area;
    if (from === to && !back) {
      replace(from, to, "  ");
      return;
    }
    const begin = value.lastIndexOf("\n", from - 1) + 1;
    const end = to > from && value[to - 1] === "\n" ? to - 1 : to;
    const block = value.slice(begin, end);
    const moved = back ? block.replace(/^ {1,2}/gm, "") : block.replace(/^(?=.)/gm, "  ");
    if (moved === block) return;
    replace(begin, end, moved);
    area.setSelectionRange(from === to ? Math.max(begin, from + moved.length - block.length) : begin, from === to ? Math.max(begin, from + moved.length - block.length) : begin + moved.length);
  };
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") armed = false;
    if (event.isComposing || area.readOnly || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Tab" && armed) {
      event.preventDefault();
      indent(event.shiftKey);
    } else if (event.key === "Enter" && !event.shiftKey) {
      const { selectionStart: at, selectionEnd: to, value } = area;
      const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
      const depth = line.match(/^ */)[0] + (/:\s*$/.test(line) ? "  " : "");
      if (depth) {
        event.preventDefault();
        replace(at, to, "\n" + depth);
      }
    }
  });

  // Problems lead to their place.
  preview.addEventListener("click", (event) => {
    const link = event.target.closest("[data-line]");
    if (!link) return;
    event.preventDefault();
    const all = area.value.split("\n");
    const line = Math.min(Number(link.dataset.line), all.length) - 1;
    const before = all.slice(0, line).reduce((sum, text) => sum + text.length + 1, 0);
    const column = [...all[line]].slice(0, Math.max(0, Number(link.dataset.column) - 1)).join("").length; // columns count characters
    area.focus();
    area.setSelectionRange(before + column, before + column);
    const height = parseFloat(getComputedStyle(area).lineHeight);
    area.scrollTop = Math.max(0, line * height - area.clientHeight / 3);
  });

  // The preview. A newer request ends an older one.
  let asking, timer;
  const ask = async (open) => {
    clearTimeout(timer);
    asking?.abort();
    const mine = asking = new AbortController();
    const body = new URLSearchParams({ file: area.value });
    if (open) body.set("open", open);
    try {
      const answer = await fetch(form.dataset.preview, {
        method: "POST", body, signal: mine.signal, credentials: "same-origin",
        headers: { "Chumbo-Csrf": form.elements.csrf.value },
      });
      if (!answer.ok) throw new Error(String(answer.status));
      const html = await answer.text();
      if (mine.signal.aborted) return;
      const wasOpen = new Set([...preview.querySelectorAll("details[open]")].map((d) => d.dataset.tool));
      preview.innerHTML = html; // ours, escaped where it was written
      for (const d of preview.querySelectorAll("details")) if (wasOpen.has(d.dataset.tool)) d.open = true;
      said.textContent = preview.firstElementChild.dataset.summary;
      if (open) preview.querySelector(`details[data-tool="${CSS.escape(open)}"] summary`)?.focus();
    } catch (error) {
      if (error.name === "AbortError") return;
      said.textContent = "The preview could not be made. Choose Check to try again.";
      preview.classList.add("stale");
      return;
    }
    preview.classList.remove("stale");
  };
  area.addEventListener("input", () => {
    number();
    kept.textContent = area.value === saved ? keptWord : "Not saved";
    clearTimeout(timer);
    timer = setTimeout(ask, 400);
  });
  form.addEventListener("submit", (event) => {
    const by = event.submitter;
    if (by?.name === "open" || (by?.name === "do" && by.value === "check")) {
      event.preventDefault();
      ask(by.name === "open" ? by.value : undefined);
      return;
    }
    saved = area.value; // it is on its way
  }, true); // before forms.js takes it for sent
  addEventListener("beforeunload", (event) => {
    if (area.value !== saved && !area.readOnly) event.preventDefault();
  });
  number();
}
