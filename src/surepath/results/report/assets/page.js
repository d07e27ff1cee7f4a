"use strict";
(() => {
  const run = JSON.parse(document.getElementById("run").textContent);
  const make = (name, words, kind) => {
    const made = document.createElement(name);
    if (words !== undefined) made.textContent = words;
    if (kind) made.className = kind;
    return made;
  };
  const short = (value, digits = 4) => {
    if (value === null || value === undefined) return "unknown";
    if (Number.isInteger(value)) return value.toLocaleString("en");
    return String(Number(value.toPrecision(digits)));
  };

  // ---------------------------------------------------------------- a page that is rewritten
  const every = Number(document.body.dataset.every);
  if (every > 0) setTimeout(() => location.reload(), 1000 * every);

  // What is folded would be missing on paper.
  addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details")) each.open = true;
  });

  // ---------------------------------------------------------------- numbers under the pointer
  const chart = document.querySelector("#convergence svg");
  const readout = document.querySelector(".readout");
  if (chart && readout) {
    const points = run.course.filter((each) => each[1] !== null);
    const [first, last] = [points[0][0], points[points.length - 1][0]].map(Math.log10);
    const [left, right] = [74, 846];
    const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
    cursor.setAttribute("class", "cursor");
    cursor.setAttribute("y1", "14");
    cursor.setAttribute("y2", "380");
    cursor.setAttribute("visibility", "hidden");
    chart.append(cursor);
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * 860;
      const share = Math.min(1, Math.max(0, (at - left) / (right - left)));
      const episodes = 10 ** (first + share * (last - first));
      let known = points[0];
      for (const point of points) if (point[0] <= episodes) known = point;
      const x = left + ((Math.log10(known[0]) - first) / (last - first || 1)) * (right - left);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.setAttribute("visibility", "visible");
      const gap = known[1] === null || known[2] === null ? null : known[2] - known[1];
      readout.textContent =
        `after ${short(known[0])} episodes: incumbent ${short(known[1])}, ` +
        `bound ${short(known[2])}, gap ${short(gap, 3)}`;
    });
    chart.addEventListener("pointerleave", () => {
      cursor.setAttribute("visibility", "hidden");
      readout.textContent = "";
    });
  }

  // ---------------------------------------------------------------- the states
  const machine = run.machine;
  const canvas = document.getElementById("graph");
  if (!machine || !canvas) return;
  const { edges, prefixes } = machine;
  const pen = canvas.getContext("2d");
  const total = machine.sizes.reduce((sum, each) => sum + each, 0);
  const levelOf = new Int32Array(total);
  const firstOf = [];
  machine.sizes.reduce((start, size, level) => {
    firstOf.push(start);
    levelOf.fill(level, start, start + size);
    return start + size;
  }, 0);
  const onPlan = new Set(machine.plan);

  const leaving = Array.from({ length: total }, () => []);
  const arriving = Array.from({ length: total }, () => []);
  for (let edge = 0; edge < edges.from.length; edge += 1) {
    leaving[edges.from[edge]].push(edge);
    if (edges.to[edge] >= 0) arriving[edges.to[edge]].push(edge);
  }
  const members = Array.from({ length: total }, () => []);
  const readings = new Float64Array(total);
  for (let each = 0; each < prefixes.state.length; each += 1) {
    members[prefixes.state[each]].push(each);
    readings[prefixes.state[each]] += prefixes.count[each];
  }
  const most = Math.max(1, ...machine.sizes.map((_, level) => {
    let largest = 0;
    for (let s = firstOf[level]; s < firstOf[level] + machine.sizes[level]; s += 1) {
      largest = Math.max(largest, readings[s]);
    }
    return largest;
  }));

  const actionsOf = (prefix) => {
    const actions = [];
    for (let at = prefix; prefixes.parent[at] >= 0; at = prefixes.parent[at]) {
      actions.push(prefixes.action[at]);
    }
    return actions.reverse();
  };
  const written = (prefix) => actionsOf(prefix).join(" ") || "(start)";
  const named = (action) => run.actions[action] ?? String(action);

  // A level is a column; one of many states is a block of columns, so that a page still holds it.
  const ROWS = 36;
  const GAP = 26;
  const xOf = new Float64Array(total);
  const yOf = new Float64Array(total);
  const placed = [];
  let width = 0;
  machine.sizes.forEach((size, level) => {
    const order = Array.from({ length: size }, (_, i) => firstOf[level] + i);
    const above = (state) => {
      const from = arriving[state];
      return from.length ? yOf[edges.from[from[0]]] : 0;
    };
    order.sort((a, b) => onPlan.has(b) - onPlan.has(a) || above(a) - above(b) || readings[b] - readings[a]);
    const rows = size <= ROWS ? size : Math.max(ROWS, Math.ceil(Math.sqrt(size * 0.8)));
    order.forEach((state, place) => {
      xOf[state] = width + GAP * Math.floor(place / rows);
      yOf[state] = place % rows;
    });
    placed.push(order);
    width += GAP * (Math.ceil(size / rows) - 1) + GAP * 4;
  });
  width -= GAP * 4;
  const tallest = yOf.reduce((high, each) => Math.max(high, each), 0);
  const down = Math.max(GAP, Math.min(110, (0.38 * width) / Math.max(1, tallest)));
  yOf.forEach((row, state) => { yOf[state] = row * down; });
  const height = tallest * down;

  const view = { scale: 1, x: 0, y: 0 };
  let selected = -1;
  let due = false;
  const redraw = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      draw();
    });
  };
  const showAll = () => {
    const box = canvas.getBoundingClientRect();
    const scale = Math.min((box.width - 90) / (width || 1), (box.height - 110) / (height || 1), 2.5);
    view.scale = Math.max(scale, 0.01);
    view.x = (box.width - width * view.scale) / 2;
    view.y = height ? 55 + (box.height - 110 - height * view.scale) / 2 : box.height / 2;
    redraw();
  };
  const zoom = (factor, x, y) => {
    const scale = Math.min(12, Math.max(0.01, view.scale * factor));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    redraw();
  };

  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return { ink: of("--ink"), soft: of("--soft"), rule: of("--rule"), plan: of("--accent"), open: of("--bound"), paper: of("--paper") };
  };
  const weight = Float64Array.from(readings, (each) => 3 + (6 * Math.log1p(each)) / Math.log1p(most));
  const radius = (state) => Math.max(Math.min(1.2, 0.3 * GAP * view.scale), weight[state] * Math.min(1.3, view.scale));

  const MOST_EDGES = 3000;
  const MOST_ROUND = 2000;
  const MOST_LINKED = 6000; // of more, the edges would be a blur
  const seen = (x, y, box) => x > -40 && y > -40 && x < box.width + 40 && y < box.height + 40;
  const draw = () => {
    const box = canvas.getBoundingClientRect();
    const dense = devicePixelRatio || 1;
    if (canvas.width !== Math.round(box.width * dense) || canvas.height !== Math.round(box.height * dense)) {
      canvas.width = Math.round(box.width * dense);
      canvas.height = Math.round(box.height * dense);
    }
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, box.width, box.height);
    const ink = colours();
    const px = (state) => view.x + xOf[state] * view.scale;
    const py = (state) => view.y + yOf[state] * view.scale;

    const shown = [];
    for (let state = 0; state < total; state += 1) {
      if (seen(px(state), py(state), box)) shown.push(state);
    }
    const isPlan = (edge) => {
      const level = levelOf[edges.from[edge]];
      return machine.plan[level] === edges.from[edge] && machine.chosen[level] === edges.action[edge];
    };
    const stroke = (edge, colour, thick) => {
      const [from, to] = [edges.from[edge], edges.to[edge]];
      if (to < 0) return;
      pen.strokeStyle = colour;
      pen.lineWidth = thick;
      pen.beginPath();
      pen.moveTo(px(from), py(from));
      pen.lineTo(px(to), py(to));
      pen.stroke();
    };
    // One path for all: a stroke of its own for each would take longer than anybody waits.
    let drawn = 0;
    pen.strokeStyle = ink.rule;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const state of shown.length > MOST_LINKED ? [] : shown) {
      if (drawn > MOST_EDGES) break;
      const [x, y] = [px(state), py(state)];
      for (const edge of leaving[state]) {
        if (edges.to[edge] < 0 || isPlan(edge)) continue;
        pen.moveTo(x, y);
        pen.lineTo(px(edges.to[edge]), py(edges.to[edge]));
        drawn += 1;
      }
    }
    pen.stroke();
    machine.plan.forEach((state) => leaving[state].filter(isPlan).forEach((edge) => stroke(edge, ink.plan, 3)));
    if (selected >= 0) {
      for (const edge of arriving[selected].slice(0, 500)) stroke(edge, ink.soft, 1.5);
      for (const edge of leaving[selected]) stroke(edge, ink.open, 2.5);
    }
    const round = shown.length <= MOST_ROUND;
    for (const [colour, states] of [[ink.soft, shown], [ink.plan, machine.plan]]) {
      pen.fillStyle = colour;
      pen.beginPath();
      for (const state of states) {
        const [x, y, size] = [px(state), py(state), radius(state)];
        if (round) {
          pen.moveTo(x + size, y);
          pen.arc(x, y, size, 0, 7);
        } else pen.rect(x - size, y - size, 2 * size, 2 * size);
      }
      pen.fill();
    }
    if (selected >= 0) {
      pen.strokeStyle = ink.open;
      pen.lineWidth = 3;
      pen.beginPath();
      pen.arc(px(selected), py(selected), radius(selected) + 4, 0, 7);
      pen.stroke();
    }

    pen.fillStyle = ink.soft;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    let free = -Infinity;
    placed.forEach((order, level) => {
      const x = px(order[0]);
      if (x < free || x < 0 || x > box.width) return;
      pen.fillText(String(level), x, Math.max(16, py(order[0]) - 18));
      free = x + 22;
    });
    pen.textAlign = "left";
    pen.fillText("level", 8, 16);
    if (view.scale > 1.6 && shown.length < 400) {
      pen.textAlign = "left";
      for (const state of shown) pen.fillText(`s${state}`, px(state) + radius(state) + 3, py(state) - 6);
    }
    const labelled = view.scale > 0.8 ? [...machine.plan] : [];
    if (selected >= 0 && !labelled.includes(selected)) labelled.push(selected);
    pen.fillStyle = ink.ink;
    pen.textAlign = "center";
    for (const state of labelled.filter((each) => seen(px(each), py(each), box))) {
      const chosen = state === selected ? leaving[state] : leaving[state].filter(isPlan);
      const together = new Map();
      for (const edge of chosen.filter((each) => edges.to[each] >= 0)) {
        together.set(edges.to[edge], [...(together.get(edges.to[edge]) ?? []), named(edges.action[edge])]);
      }
      for (const [to, actions] of together) {
        const [x, y] = [(px(state) + px(to)) / 2, (py(state) + py(to)) / 2];
        const words = actions.join(", ").slice(0, 24);
        pen.lineWidth = 4;
        pen.strokeStyle = ink.paper;
        pen.strokeText(words, x, y - 5);
        pen.fillText(words, x, y - 5);
      }
    }
  };

  // ---------------------------------------------------------------- one state, opened
  const panel = document.getElementById("state");
  const cell = (row, words, name = "td") => row.append(typeof words === "object" ? (() => {
    const made = make(name);
    made.append(words);
    return made;
  })() : make(name, words));
  const open = (state, { bring = false } = {}) => {
    selected = state;
    const level = levelOf[state];
    panel.replaceChildren();
    const title = make("h3", `State s${state}, level ${level}${onPlan.has(state) ? ", on the plan" : ""}`);
    const many = members[state].length;
    const about = make("p", `${short(many)} ${many === 1 ? "prefix leads" : "prefixes lead"} here, read ${short(readings[state])} times.`);
    panel.append(title, about);
    const read = machine.read[state];
    if (read && read.length) {
      const words = read[0].map((place, i) =>
        machine.symbols ? `symbol ${place} in ${short(100 * read[1][i], 3)} %` : `feature ${place}: ${short(read[1][i], 3)}`);
      panel.append(make("p", `Read there: ${words.join(", ")}${machine.symbols ? " of the readings" : ""}.`));
    }
    panel.append(edgeTable(state));
    const list = make("ul", undefined, "prefixes");
    for (const each of members[state].slice(0, 200)) {
      list.append(make("li", `${written(each)} (${short(prefixes.count[each])})`));
    }
    if (many > 200) list.append(make("li", `and ${short(many - 200)} more`));
    const heading = make("h3", many === 1 ? "Its prefix" : "Prefixes taken for this state");
    list.tabIndex = 0;
    list.setAttribute("aria-label", heading.textContent);
    panel.append(heading, list);
    if (bring) {
      const box = canvas.getBoundingClientRect();
      view.scale = Math.max(view.scale, 1);
      view.x = box.width / 2 - xOf[state] * view.scale;
      view.y = box.height / 2 - yOf[state] * view.scale;
    }
    keepInSight();
    redraw();
  };
  const edgeTable = (state) => {
    const table = make("table");
    table.append(make("caption", "Edges that leave it"));
    const head = make("tr");
    for (const words of ["action", "leads to", "mean reward", "spread", "readings", "worth"]) {
      const each = make("th", words);
      each.scope = "col";
      head.append(each);
    }
    table.createTHead().append(head);
    const body = table.createTBody();
    for (const edge of leaving[state]) {
      const row = make("tr");
      cell(row, named(edges.action[edge]), "th");
      row.firstChild.scope = "row";
      const to = edges.to[edge];
      if (to < 0) cell(row, levelOf[state] + 1 === machine.sizes.length ? "the end" : "not read");
      else {
        const button = make("button", `s${to}`);
        button.type = "button";
        button.setAttribute("aria-label", `Open state s${to}`);
        button.addEventListener("click", () => open(to, { bring: true }));
        cell(row, button);
      }
      cell(row, short(edges.mean[edge]));
      cell(row, short(edges.spread[edge], 3));
      cell(row, short(edges.count[edge]));
      cell(row, short(edges.worth[edge]));
      body.append(row);
    }
    const scroll = make("div", undefined, "scroll");
    scroll.append(table);
    return scroll;
  };
  const keepInSight = () => {
    if (selected < 0) return;
    const box = canvas.getBoundingClientRect();
    const [x, y] = [view.x + xOf[selected] * view.scale, view.y + yOf[selected] * view.scale];
    if (x < 20) view.x += 60 - x;
    if (x > box.width - 20) view.x -= x - box.width + 60;
    if (y < 20) view.y += 60 - y;
    if (y > box.height - 20) view.y -= y - box.height + 60;
  };

  // ---------------------------------------------------------------- pointer and keys
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const nearest = (x, y) => {
    let [best, distance] = [-1, 18 * 18];
    for (let state = 0; state < total; state += 1) {
      const dx = view.x + xOf[state] * view.scale - x;
      const dy = view.y + yOf[state] * view.scale - y;
      if (dx * dx + dy * dy < distance) [best, distance] = [state, dx * dx + dy * dy];
    }
    return best;
  };
  let grabbed = null;
  canvas.addEventListener("pointerdown", (event) => {
    grabbed = { x: event.clientX, y: event.clientY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grabbed) return;
    const [dx, dy] = [event.clientX - grabbed.x, event.clientY - grabbed.y];
    if (!grabbed.moved && Math.hypot(dx, dy) < 4) return;
    grabbed = { x: event.clientX, y: event.clientY, moved: true };
    canvas.classList.add("moving");
    view.x += dx;
    view.y += dy;
    redraw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const clicked = grabbed && !grabbed.moved ? nearest(...at(event)) : -1;
    grabbed = null;
    canvas.classList.remove("moving");
    if (clicked >= 0) open(clicked);
  });
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return; // else the page could not be scrolled past it
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, ...at(event));
  }, { passive: false });
  const middle = () => {
    const box = canvas.getBoundingClientRect();
    return [box.width / 2, box.height / 2];
  };
  const beside = (key) => {
    if (selected < 0) return machine.plan[0] ?? 0;
    const level = levelOf[selected];
    const order = placed[level];
    const place = order.indexOf(selected);
    if (key === "ArrowDown") return order[Math.min(place + 1, order.length - 1)];
    if (key === "ArrowUp") return order[Math.max(place - 1, 0)];
    if (key === "ArrowLeft") return arriving[selected].length ? edges.from[arriving[selected][0]] : selected;
    const chosen = leaving[selected].filter((edge) => edges.to[edge] >= 0);
    const planned = chosen.find((edge) => machine.chosen[level] === edges.action[edge]);
    return chosen.length ? edges.to[planned ?? chosen[0]] : selected;
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow")) open(beside(event.key));
    else if (event.key === "Enter" || event.key === " ") open(selected < 0 ? beside("") : selected);
    else if (event.key === "+" || event.key === "=") zoom(1.3, ...middle());
    else if (event.key === "-") zoom(1 / 1.3, ...middle());
    else if (event.key === "0") showAll();
    else return;
    event.preventDefault();
  });
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      if (button.dataset.zoom === "all") showAll();
      else zoom(button.dataset.zoom === "in" ? 1.4 : 1 / 1.4, ...middle());
    });
  }

  // ---------------------------------------------------------------- search
  const found = document.getElementById("found");
  const MOST_FOUND = 24;
  let texts = null;
  document.getElementById("search").addEventListener("input", (event) => {
    const asked = event.target.value.trim().toLowerCase();
    found.replaceChildren();
    if (!asked) return;
    const hits = [];
    let count = 0;
    const hit = (state, words) => {
      count += 1;
      if (hits.length < MOST_FOUND) hits.push([state, words]);
    };
    if (/^s\d+$/.test(asked)) {
      const state = Number(asked.slice(1));
      if (state < total) hit(state, asked);
    } else {
      texts ??= prefixes.state.map((_, each) => `${actionsOf(each).join(" ")} `);
      const wanted = /^\d+$/.test(asked) && run.actions.length <= 10 ? [...asked].join(" ") : asked.replace(/[\s,]+/g, " ");
      texts.forEach((words, each) => {
        if (words.startsWith(`${wanted} `)) hit(prefixes.state[each], `${words.trim()} \u2192 s${prefixes.state[each]}`);
      });
    }
    found.append(make("span", count === 0 ? "nothing found" : `${short(count)} found`));
    for (const [state, words] of hits) {
      const button = make("button", words);
      button.type = "button";
      button.addEventListener("click", () => open(state, { bring: true }));
      found.append(button);
    }
  });

  new ResizeObserver(redraw).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  showAll();
})();
