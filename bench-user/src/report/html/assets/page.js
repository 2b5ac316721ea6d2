"use strict";
// Adds to the page what takes a script: targets are switched on and off, tables are sorted and
// copied, marks tell their values at the pointer and by the arrow keys, frames of flame graphs are
// enlarged. Everything else is there without it.
(() => {
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];
  const tip = document.getElementById("tip");

  // Targets.
  for (const box of all("[data-switch]")) {
    box.addEventListener("change", () => {
      for (const part of all(`[data-t="${box.dataset.switch}"]`)) {
        part.toggleAttribute("data-off", !box.checked);
      }
    });
  }
  for (const set of all(".switches")) set.hidden = false;

  // Rows of a table go with their target where a column names it.
  const places = new Map(all(".switches label").map((l, i) => [l.textContent.trim(), String(i)]));
  for (const table of all("table")) {
    const column = all("thead th", table).findIndex((th) => th.textContent.trim() === "target");
    if (column < 0) continue;
    for (const row of table.tBodies[0].rows) {
      const place = places.get(row.cells[column].textContent.trim());
      if (place !== undefined) row.dataset.t = place;
    }
  }

  // Sorting: figures by what they are worth, words by their letters, what is missing last.
  const sort = (th) => {
    const body = th.closest("table").tBodies[0];
    const column = th.cellIndex;
    const isFigures = th.classList.contains("n");
    const first = isFigures ? "descending" : "ascending";
    const second = isFigures ? "ascending" : "descending";
    const order = th.getAttribute("aria-sort") === first ? second : first;
    for (const other of th.parentNode.cells) other.removeAttribute("aria-sort");
    th.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const worth = (row) => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
    };
    const text = (row) => row.cells[column].textContent;
    const compare = (a, b) => {
      if (!isFigures) return sign * text(a).localeCompare(text(b), undefined, { numeric: true });
      const [x, y] = [worth(a), worth(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (x - y);
    };
    body.append(...[...body.rows].sort(compare));
  };
  for (const label of all("thead th > span")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...label.childNodes);
    button.addEventListener("click", () => sort(button.closest("th")));
    label.replaceWith(button);
  }

  // Copying: what is shown, in its order, as tab-separated text.
  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  const lines = (table) =>
    [...table.rows]
      .filter((row) => !row.hasAttribute("data-off"))
      .map((row) => [...row.cells].map((cell) => cell.textContent.trim().replace(/\s+/g, " ")).join("\t"));
  for (const button of all(".copy")) {
    button.hidden = false;
    const name = button.firstChild;
    button.addEventListener("click", async () => {
      const table = button.parentNode.querySelector("table");
      const focus = document.activeElement;
      await copied(lines(table).join("\n") + "\n");
      focus?.focus();
      name.data = "Copied";
      setTimeout(() => { name.data = "Copy"; }, 2000);
    });
  }

  // Marks: the title of each becomes a sign beside the pointer, which a screen reader hears too.
  for (const title of all("svg .m > title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  let at = null;
  const leave = () => {
    at?.classList.remove("at");
    at = null;
    tip.hidden = true;
  };
  const show = (mark, x, y) => {
    if (mark !== at) {
      leave();
      at = mark;
      mark.classList.add("at");
      tip.textContent = mark.dataset.tip;
      tip.hidden = false;
    }
    const { width, height } = tip.getBoundingClientRect();
    const room = document.documentElement.clientWidth - width - 4;
    tip.style.left = `${Math.max(4, Math.min(x + 14, room))}px`;
    tip.style.top = `${y - height - 10 < 4 ? y + 18 : y - height - 10}px`;
  };
  const shown = (svg) => all(".m", svg).filter((m) => !m.closest("[data-off]"));
  const near = (svg, x, y) => {
    let best = null;
    let least = 26 ** 2;
    for (const mark of shown(svg)) {
      const box = mark.getBoundingClientRect();
      const dx = Math.max(box.left - x, 0, x - box.right);
      const dy = Math.max(box.top - y, 0, y - box.bottom);
      const distance = dx * dx + dy * dy;
      // Of two that hold the pointer, the smaller one.
      if (distance < least || (distance === least && best && box.width < best.box.width)) {
        least = distance;
        best = { mark, box };
      }
    }
    return best?.mark;
  };
  for (const svg of all("figure svg[role=img]")) {
    svg.addEventListener("pointermove", (event) => {
      const mark = near(svg, event.clientX, event.clientY);
      if (mark) show(mark, event.clientX, event.clientY);
      else leave();
    });
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
      if (event.key === "Escape") return leave();
      if (event.key === "Enter" && at?.matches(".frame")) return enlarge(svg, at);
      const step = steps[event.key];
      if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      const marks = shown(svg);
      if (marks.length === 0) return;
      // The page may scroll meanwhile, which takes the sign away but not the place.
      const last = marks.indexOf(at ?? svg.last);
      const place = last >= 0 ? last + step : step > 0 ? 0 : marks.length - 1;
      const mark = marks[(place + marks.length) % marks.length];
      svg.last = mark;
      const box = mark.getBoundingClientRect();
      show(mark, box.right, box.top);
    });
  }
  document.addEventListener("scroll", leave, { passive: true });

  // Flame graphs: a frame fills the width when it is chosen, and the whole is back when it is
  // chosen again. Below it, and to its sides, frames keep their part of the whole.
  const number = (of, name) => Number(of.getAttribute(name));
  const label = (frame, x, width) => {
    let text = frame.querySelector("text");
    const name = frame.dataset.tip.split("\n")[0];
    const room = Math.floor((width - 6) / 6.3);
    if (!text) {
      text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      text.setAttribute("y", number(frame.querySelector("rect"), "y") + 12);
      frame.append(text);
    }
    text.setAttribute("x", Math.max(x, 0) + 3);
    text.textContent = name.length <= room ? name : room > 3 ? name.slice(0, room - 1) + "…" : "";
  };
  const enlarge = (svg, chosen) => {
    const frames = all(".frame", svg).map((frame) => {
      const rect = frame.querySelector("rect");
      rect.dataset.x ??= rect.getAttribute("x");
      rect.dataset.w ??= rect.getAttribute("width");
      return { frame, rect, x: Number(rect.dataset.x), w: Number(rect.dataset.w) };
    });
    const isBack = svg.enlarged === chosen;
    svg.enlarged = isBack ? null : chosen;
    const of = frames.find(({ frame }) => frame === chosen);
    const whole = svg.viewBox.baseVal.width;
    const [from, scale] = isBack ? [0, 1] : [of.x, whole / of.w];
    for (const { frame, rect, x, w } of frames) {
      const left = (x - from) * scale;
      rect.setAttribute("x", left);
      rect.setAttribute("width", w * scale);
      label(frame, left, Math.min(left + w * scale, whole) - Math.max(left, 0));
    }
    leave();
  };
  for (const svg of all("figure .wide svg")) {
    svg.addEventListener("click", (event) => {
      const frame = event.target.closest(".frame");
      if (frame) enlarge(svg, frame);
    });
  }

  // On paper everything is open.
  addEventListener("beforeprint", () => {
    for (const part of all("details")) part.open = true;
  });
})();
