"use strict";
(() => {
  const ROW_PX = 26;
  const AROUND = 10; // rows beside those in view
  const TALLEST_PX = 8e6; // browsers lose track of taller elements
  const PRINTED_ROWS = 200;
  const WRAPPED_ROWS = 60; // most rows of a table whose rows differ in height

  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // Numbers as the page's maker writes them.
  const grouped = (value, decimals) => {
    if (Math.abs(value) >= 1e15) return value.toExponential(1).replace("e+", "e").replace("-", "−");
    const [whole, rest] = Math.abs(value).toFixed(decimals).split(".");
    const text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ? "." + rest : "");
    return value < 0 && /[1-9]/.test(text) ? "−" + text : text;
  };

  // Without its middle, but for the functor that tells kernels of one template apart.
  const shortened = (text, room) => {
    if (text.length <= room) return text;
    if (room < 12) return text.slice(0, Math.max(1, room - 1)) + "…";
    const functor = /\w*(?:[Ff]unctor\w*|_kernel_(?:cuda|impl)\w*)/.exec(text.slice(Math.floor(room / 3)))?.[0] ?? "";
    const kept = functor.length + 16 < room ? functor : "";
    const rest = room - kept.length - (kept ? 2 : 1);
    const front = kept ? Math.ceil(rest * 0.65) : Math.ceil(rest * 0.6);
    const end = text.slice(text.length - (rest - front));
    if (kept && text.slice(0, front).includes(kept)) return shortened(text.replace(kept, "\u0001"), room - kept.length + 1).replace("\u0001", kept);
    return text.slice(0, front) + (kept ? "…" + kept + "…" : "…") + end;
  };

  class Column {
    constructor(data) {
      Object.assign(this, data);
      this.room = data.width;
      this.isNumber = Array.isArray(data.values);
      this.heading = data.unit ? data.title + " " + data.unit : data.title;
    }

    value(row) {
      if (this.isNumber) return this.values[row];
      return this.texts[this.at ? this.at[row] : row];
    }

    text(row) {
      const value = this.value(row);
      if (!this.isNumber) return value;
      if (value === null) return "";
      const text = grouped(value, this.decimals);
      const hasSign = this.form === "signed" || this.form === "error";
      return hasSign && value > 0 && /[1-9]/.test(text) ? "+" + text : text;
    }

    // A cell of a CSV: numbers in full, and no text that a spreadsheet would compute.
    csv(row) {
      const value = this.value(row);
      if (this.isNumber) return value === null ? "" : String(value);
      const text = /^[=+\-@\t\r]/.test(value) ? "'" + value : value;
      return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    }

    cell(row) {
      const text = this.text(row);
      const cell = element("td", { textContent: text });
      if (this.isNumber) cell.classList.add("number");
      // Whole in the data, in what is copied, where it is clicked and on paper.
      if (this.whole && this.wraps) cell.classList.add("whole");
      else if (!this.isNumber && text.length > this.room) {
        cell.classList.add("cut");
        cell.dataset.whole = text;
        cell.textContent = shortened(text, this.room);
      }
      const value = this.value(row);
      if (this.form === "error" && value !== null) {
        const size = Math.abs(value);
        if (size > 10) cell.classList.add(size > 20 ? "strong" : "mild");
      }
      if (this.form === "share" && value !== null) {
        cell.classList.add("share");
        cell.style.setProperty("--part", Math.max(0, Math.min(100, value)) + "%");
      }
      return cell;
    }
  }

  // `words -word column>number "two words"`: all must hold.
  const parseFilter = (text, columns) => {
    const tests = [];
    for (const [, minus, quoted, word] of text.toLowerCase().matchAll(/(-?)(?:"([^"]*)"|(\S+))/g)) {
      const compared = word && /^([^<>=]+)([<>])(-?[\d.]+)$/.exec(word);
      const column = compared && columns.find((one) => one.isNumber && one.heading.toLowerCase().replace(/\s/g, "").startsWith(compared[1]));
      if (column) {
        const limit = Number(compared[3]);
        const holds = (row) => {
          const value = column.value(row);
          return value !== null && (compared[2] === ">" ? value > limit : value < limit);
        };
        tests.push(holds);
      } else {
        const wanted = quoted ?? word;
        tests.push((row, haystack) => haystack().includes(wanted) === !minus);
      }
    }
    return tests;
  };

  class Table {
    constructor(section) {
      const data = JSON.parse(section.querySelector("script").textContent);
      this.section = section;
      this.rows = data.rows;
      this.leads = data.leads;
      this.columns = data.columns.map((column) => new Column(column));
      // Rows of a short table are as tall as their texts.
      this.wraps = this.rows <= WRAPPED_ROWS && this.columns.some((column) => column.whole);
      this.columns.forEach((column) => (column.wraps = this.wraps));
      this.scroll = section.querySelector(".scroll");
      this.table = section.querySelector("table");
      this.body = this.table.tBodies[0];
      this.order = Uint32Array.from({ length: this.rows }, (_, row) => row);
      this.sorted = null;
      this.marked = -1;
      this.addTools(section.querySelector(".tools"), data.key);
      this.addHead();
      this.scroll.addEventListener("scroll", () => this.draw(), { passive: true });
      new ResizeObserver(() => {
        this.layOut();
        this.draw(true);
      }).observe(this.scroll);
      this.body.addEventListener("click", (event) => {
        const to = event.target.closest("button.to");
        if (to) return tables.find((table) => table.section.dataset.table === this.leads.key && table.section.closest(".part") === this.section.closest(".part"))?.show(Number(to.dataset.to));
        const cell = event.target.closest("td.cut");
        if (!cell || String(getSelection())) return;
        const isOpen = cell.parentElement.classList.toggle("open");
        const room = this.shown[cell.cellIndex].room;
        for (const one of cell.parentElement.cells) {
          if (!one.dataset.whole) continue;
          one.textContent = isOpen ? one.dataset.whole : shortened(one.dataset.whole, this.shown[one.cellIndex]?.room ?? room);
        }
      });
    }

    get shown() {
      return this.columns.filter((column) => !column.hidden);
    }

    // A filter of this table: a column that it has.
    example() {
      const number = this.shown.find((column) => column.isNumber);
      const name = number && number.title.toLowerCase().replace(/\s/g, "");
      return name ? "words, -word, " + name + ">10" : "words, -word";
    }

    // Numbers have the room of their longest; names share what is left.
    layOut() {
      const probe = element("span", { textContent: "0".repeat(20) });
      probe.style.cssText = "position:absolute;visibility:hidden";
      this.table.tHead.rows[0]?.cells[0]?.append(probe);
      const digit = (probe.getBoundingClientRect().width / 20) * 1.04 || 7.5;
      probe.remove();
      const room = this.scroll.clientWidth || 1000;
      const numbers = this.shown.filter((column) => column.isNumber);
      const names = this.shown.filter((column) => !column.isNumber);
      for (const column of numbers) column.px = Math.ceil((column.width + 1) * digit) + 10;
      const taken = numbers.reduce((sum, column) => sum + column.px, 0);
      const least = (column, most = floor) => (column.whole && !this.wraps ? column.width : Math.min(column.width, most)) * digit + 14;
      const need = (most) => names.reduce((sum, column) => sum + least(column, most), 0);
      const floor = taken + need(18) > room ? 10 : 18;
      const needed = need(floor);
      const rest = Math.max(0, room - taken - needed);
      const grows = (column) => !column.whole || this.wraps;
      const weights = names.reduce((sum, column) => sum + (grows(column) ? column.width : 0), 0) || 1;
      for (const column of names) {
        column.px = Math.floor(least(column) + (grows(column) ? (rest * column.width) / weights : 0));
        column.room = column.whole ? Infinity : Math.max(8, Math.floor((column.px - 12) / digit));
      }
      const total = this.shown.reduce((sum, column) => sum + column.px, 0);
      this.shown.forEach((column, at) => (this.table.querySelectorAll("col")[at].style.width = column.px + "px"));
      this.table.style.width = Math.max(total, names.length ? total : Math.min(room, total)) + "px";
    }

    addTools(tools, key) {
      this.filter = element("input", { type: "search", placeholder: this.example(), spellcheck: false });
      this.filter.addEventListener("input", () => this.arrange());
      this.status = element("span", { className: "status" });
      this.status.setAttribute("role", "status");
      const boxes = this.columns.map((column) => {
        const box = element("input", { type: "checkbox", checked: !column.hidden });
        box.addEventListener("change", () => {
          column.hidden = !box.checked;
          this.addHead();
          this.draw(true);
        });
        return element("label", {}, box, " " + column.heading);
      });
      const chooser = element("details", { className: "columns" }, element("summary", { textContent: "Columns" }), element("div", {}, ...boxes));
      chooser.addEventListener("keydown", (event) => {
        if (event.key === "Escape") chooser.open = false;
      });
      const copy = element("button", { type: "button", className: "copy", textContent: "Copy as CSV" });
      copy.addEventListener("click", () => this.copy());
      const save = element("button", { type: "button", className: "save", textContent: "Save CSV" });
      save.addEventListener("click", () => {
        const link = element("a", { href: URL.createObjectURL(new Blob([this.csv()], { type: "text/csv" })), download: key + ".csv" });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      });
      tools.append(element("label", {}, "Filter ", this.filter), chooser, copy, save, this.status);
      tools.hidden = this.rows < 2;
    }

    addHead() {
      const columns = element("colgroup", {}, ...this.shown.map(() => element("col")));
      const row = element("tr");
      for (const column of this.shown) {
        const button = element("button", { type: "button", textContent: column.heading });
        button.addEventListener("click", () => this.sort(column));
        const head = element("th", { scope: "col" }, button);
        if (column.help) {
          const help = element("button", { type: "button", className: "help", textContent: "?" });
          help.dataset.tip = column.help;
          help.setAttribute("aria-label", column.title + ": " + column.help);
          head.append(help);
        }
        if (column.isNumber) head.className = "number";
        if (this.sorted?.column === column) {
          head.setAttribute("aria-sort", this.sorted.down ? "descending" : "ascending");
          button.append(this.sorted.down ? " ↓" : " ↑");
        }
        row.append(head);
      }
      this.table.querySelector("colgroup")?.remove();
      this.table.prepend(columns);
      this.table.tHead.replaceChildren(row);
      this.table.classList.add("fixed");
      this.layOut();
      this.table.setAttribute("aria-rowcount", this.rows + 1);
    }

    // First click: largest, or A first; second: the other way; third: the order of the page.
    sort(column) {
      const first = column.isNumber;
      const again = this.sorted?.column === column;
      if (again && this.sorted.down !== first) this.sorted = null;
      else this.sorted = { column, down: again ? !first : first };
      this.addHead();
      this.arrange();
      const position = this.shown.indexOf(column);
      this.table.tHead.querySelectorAll("button")[position]?.focus();
    }

    arrange() {
      const tests = parseFilter(this.filter.value, this.columns);
      const kept = [];
      for (let row = 0; row < this.rows; row++) {
        const haystack = () => (this.haystacks ??= [])[row] ??= this.columns.map((column) => column.text(row)).join("\t").toLowerCase();
        if (tests.every((holds) => holds(row, haystack))) kept.push(row);
      }
      if (this.sorted) {
        const { column, down } = this.sorted;
        const sign = down ? -1 : 1;
        const compare = column.isNumber ? (a, b) => a - b : new Intl.Collator("en", { numeric: true }).compare;
        kept.sort((a, b) => {
          const [one, other] = [column.value(a), column.value(b)];
          // What is missing stands last, either way.
          if (one === null || other === null) return (one === null) - (other === null) || a - b;
          return sign * compare(one, other) || a - b;
        });
      }
      this.order = Uint32Array.from(kept);
      this.status.textContent = kept.length < this.rows ? grouped(kept.length, 0) + " of " + grouped(this.rows, 0) + " rows" : "";
      this.scroll.scrollTop = 0;
      this.draw(true);
    }

    // Rows in view, between two empty ones that are as tall as all others.
    draw(again = false) {
      if (this.wraps) return again && this.body.replaceChildren(...Array.from(this.order, (_, at) => this.row(at)));
      const visible = Math.ceil(this.scroll.clientHeight / ROW_PX);
      const height = Math.min(this.order.length * ROW_PX, TALLEST_PX);
      const reach = Math.max(1, height - this.scroll.clientHeight);
      const first = height < TALLEST_PX
        ? Math.floor(this.scroll.scrollTop / ROW_PX)
        : Math.floor((this.scroll.scrollTop / reach) * (this.order.length - visible));
      const from = Math.max(0, Math.min(first - AROUND, this.order.length - visible));
      const to = Math.min(this.order.length, first + visible + AROUND);
      if (!again && this.drawn && this.drawn[0] === from && this.drawn[1] === to) return;
      this.drawn = [from, to];
      const rows = [];
      for (let at = from; at < to; at++) rows.push(this.row(at));
      const above = height < TALLEST_PX ? from * ROW_PX : Math.max(0, this.scroll.scrollTop - (first - from) * ROW_PX);
      this.body.replaceChildren(this.gap(above), ...rows, this.gap(Math.max(0, height - above - rows.length * ROW_PX)));
    }

    row(at) {
      const row = this.order[at];
      const line = element("tr", {}, ...this.shown.map((column) => column.cell(row)));
      line.setAttribute("aria-rowindex", at + 2);
      line.dataset.row = row;
      const to = this.leads?.rows[row];
      if (to != null && line.cells[0]) {
        const link = element("button", { type: "button", className: "to", textContent: line.cells[0].textContent, title: "Kernels, with whole names" });
        link.dataset.to = to;
        line.cells[0].replaceChildren(link);
      }
      if (row === this.marked) line.className = "at";
      return line;
    }

    gap(height) {
      const cell = element("td", { colSpan: this.shown.length });
      cell.style.height = height + "px";
      const gap = element("tr", { className: "gap" }, cell);
      gap.setAttribute("aria-hidden", "true");
      return gap;
    }

    // Leads to a row; a filter that hides it is taken away.
    show(row) {
      let at = this.order.indexOf(row);
      if (at < 0) {
        this.filter.value = "";
        this.arrange();
        at = this.order.indexOf(row);
      }
      this.marked = row;
      const height = Math.min(this.order.length * ROW_PX, TALLEST_PX);
      this.scroll.scrollTop = (at / Math.max(1, this.order.length)) * height - this.scroll.clientHeight / 3;
      this.draw(true);
      if (this.wraps) this.body.querySelector("tr.at")?.scrollIntoView({ block: "nearest" });
      this.section.scrollIntoView({ block: "nearest" });
      this.scroll.focus({ preventScroll: true });
    }

    csv() {
      const line = (cells) => cells.join(",") + "\r\n";
      const head = line(this.shown.map((column) => '"' + column.heading.replace(/"/g, '""') + '"'));
      return head + Array.from(this.order, (row) => line(this.shown.map((column) => column.csv(row)))).join("");
    }

    async copy() {
      const text = this.csv();
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        const area = element("textarea", { value: text });
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
      }
      this.status.textContent = grouped(this.order.length, 0) + " rows copied";
    }

    print() {
      const rows = [];
      const rooms = this.columns.map((column) => column.room);
      this.columns.forEach((column) => (column.room = Infinity));
      for (let at = 0; at < Math.min(this.order.length, PRINTED_ROWS); at++) rows.push(this.row(at));
      this.columns.forEach((column, at) => (column.room = rooms[at]));
      if (this.order.length > PRINTED_ROWS) {
        const text = grouped(this.order.length - PRINTED_ROWS, 0) + " more rows are not printed.";
        rows.push(element("tr", {}, element("td", { colSpan: this.shown.length, textContent: text })));
      }
      this.body.replaceChildren(...rows);
      this.drawn = null;
    }
  }

  const tables = [...document.querySelectorAll("section.table")].map((section) => new Table(section));
  addEventListener("beforeprint", () => tables.forEach((table) => table.print()));
  addEventListener("afterprint", () => tables.forEach((table) => table.draw(true)));

  // From a point of a chart to its row: by a click, or by arrow keys and Enter.
  const lead = (point) => {
    const key = point.closest("[data-table]")?.dataset.table;
    const part = point.closest(".part");
    tables.find((table) => table.section.dataset.table === key && table.section.closest(".part") === part)?.show(Number(point.dataset.row));
  };
  document.addEventListener("click", (event) => {
    const point = event.target.closest?.(".point[data-row]");
    if (point) lead(point);
    for (const open of document.querySelectorAll(".columns[open]")) if (!open.contains(event.target)) open.open = false;
  });
  for (const chart of document.querySelectorAll(".chart[data-table] svg")) {
    const points = [...chart.querySelectorAll(".point[data-row]")];
    if (points.length === 0) continue;
    chart.tabIndex = 0;
    chart.setAttribute("aria-label", chart.getAttribute("aria-label") + ". Arrow keys go from point to point, Enter leads to the row.");
    let at = -1;
    const go = (to) => {
      points[at]?.classList.remove("at");
      at = to;
      points[at]?.classList.add("at");
      if (points[at]) tell(points[at]);
      else hide();
    };
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step) {
        event.preventDefault();
        go((at + step + points.length) % points.length);
      } else if (event.key === "Enter" && points[at]) lead(points[at]);
      else if (event.key === "Escape") go(-1);
    });
    chart.addEventListener("blur", () => go(-1));
  }

  // What is pointed at, at once and in full.
  const tip = document.getElementById("tip");
  const hide = () => (tip.hidden = true);
  const tell = (thing) => {
    const title = thing.querySelector(":scope > title");
    if (title) {
      thing.dataset.tip = title.textContent;
      thing.setAttribute("aria-label", title.textContent);
      title.remove();
    }
    if (!thing.dataset.tip) return hide();
    tip.textContent = thing.dataset.tip;
    tip.hidden = false;
    const place = thing.getBoundingClientRect();
    const left = Math.min(place.x + Math.min(place.width / 2, 60) + 10, innerWidth - tip.offsetWidth - 8);
    const below = place.bottom + 8;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (below + tip.offsetHeight > innerHeight ? place.top - tip.offsetHeight - 8 : below) + "px";
  };
  document.addEventListener("pointerover", (event) => {
    const thing = event.target.closest?.("svg .point, svg rect, .help");
    if (thing) tell(thing);
    else hide();
  });
  document.addEventListener("focusin", (event) => event.target.matches?.(".help") && tell(event.target));
  document.addEventListener("focusout", (event) => event.target.matches?.(".help") && hide());
  document.addEventListener("click", (event) => event.target.matches?.(".help") && tell(event.target));
  document.addEventListener("scroll", hide, true);

  const themes = ["light dark", "light", "dark"];
  const names = ["Theme: as the system", "Theme: light", "Theme: dark"];
  const button = document.querySelector(".theme");
  let theme = 0;
  const setTheme = () => {
    document.documentElement.style.colorScheme = themes[theme];
    button.textContent = names[theme];
  };
  button.addEventListener("click", () => {
    theme = (theme + 1) % themes.length;
    setTheme();
  });
  button.hidden = false;
  setTheme();
})();
