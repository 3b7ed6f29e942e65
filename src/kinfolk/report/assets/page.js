"use strict";
// Sorting: a click on a head sorts up, the next one down, the third gives the order of the paper back.
const missing = text => text === "" || text === "\u2013" || text === "-";
const number = text => {
  const plain = text.replaceAll(",", "").replace("\u2212", "-");
  const found = /^([-+]?\d*\.?\d+(?:e[-+]?\d+)?)\s*(?:%|s|\u00b1.*)?$/i.exec(plain);
  return found ? Number(found[1]) : NaN;
};
const compare = (x, y, numbers) => numbers ? number(x) - number(y) : x.localeCompare(y, undefined, { numeric: true });

function sortRows(rows, column, direction) {
  const text = row => row.cells[column].textContent.trim();
  const there = rows.filter(row => !missing(text(row)));
  const numbers = there.every(row => !Number.isNaN(number(text(row))));
  there.sort((a, b) => direction * compare(text(a), text(b), numbers));
  return [...there, ...rows.filter(row => missing(text(row)))];
}

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], printed = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const next = { "": "ascending", ascending: "descending", descending: "" };
  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent || "\u2003";
    button.setAttribute("aria-label", `sort by ${head.textContent || "name"}`);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const order = next[head.getAttribute("aria-sort") || ""];
      for (const other of heads) other.removeAttribute("aria-sort");
      if (order) head.setAttribute("aria-sort", order);
      table.classList.toggle("sorted", order !== "");
      body.append(...(order ? sortRows(printed, head.cellIndex, order === "ascending" ? 1 : -1) : printed));
    });
  }
}

// Claims with one verdict.
for (const button of document.querySelectorAll("button[data-verdict]")) {
  button.addEventListener("click", () => {
    for (const other of button.parentNode.children) other.setAttribute("aria-pressed", String(other === button));
    const wanted = button.dataset.verdict;
    for (const row of button.closest("details").querySelectorAll("tbody tr")) {
      row.hidden = wanted !== "" && row.dataset.verdict !== wanted;
    }
  });
}

// The contents show which chapter is being read.
const links = new Map([...document.querySelectorAll("nav a")].map(link => [link.hash.slice(1), link]));
const chapters = [...document.querySelectorAll("section[id]")];
function showWhere() {
  const above = chapters.filter(chapter => chapter.getBoundingClientRect().top < 120);
  const here = above.length ? above[above.length - 1] : chapters[0];
  for (const [name, link] of links) {
    const current = here !== undefined && name === here.id;
    if (current && !link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
      const list = link.closest("ol");
      list.scrollLeft = link.offsetLeft - list.clientWidth / 3;
    }
    if (!current) link.removeAttribute("aria-current");
  }
}
if (chapters.length) {
  document.addEventListener("scroll", showWhere, { passive: true });
  showWhere();
}
