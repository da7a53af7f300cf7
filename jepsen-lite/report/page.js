"use strict";
// Draws the lanes of a run on a canvas: a window of time about the slider's.
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("lanes"), pen = canvas.getContext("2d");
  const time = document.getElementById("time"), zoom = document.getElementById("zoom");
  const now = document.getElementById("now"), width = document.getElementById("width"), near = document.getElementById("near");
  const left = 132, top = 22, right = 10, laneHeight = 24, faultRow = 13;
  const font = getComputedStyle(document.body).fontFamily;
  const color = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  let at = data.focus || 0, hues = {};

  // Faults that overlap lie in rows below each other.
  const rows = [];
  data.bars.filter(b => b.k === "fault" && b.l === 0).forEach(b => {
    let row = rows.findIndex(end => end <= b.f);
    if (row < 0) row = rows.length < 6 ? rows.push(0) - 1 : 5;
    rows[row] = b.t;
    b.row = row;
  });
  const heights = data.lanes.map((l, i) => i === 0 ? Math.max(1, rows.length) * faultRow + 6 : laneHeight);
  const tops = [];
  let bottom = top;
  heights.forEach(h => { tops.push(bottom); bottom += h; });
  const height = bottom + 8;

  const shortest = Math.min(200, data.end);
  const span = () => data.end * Math.pow(shortest / data.end, zoom.value / 100);
  const from = () => {
    const w = span();
    return Math.min(Math.max(at - w / 2, 0), data.end - w);
  };
  const clock = ms => ms >= 600000 ? (ms / 60000).toFixed(1) + " min" : (ms / 1000).toFixed(3) + " s";

  function step(w, px) { // of the axis: a round time of at least 90 pixels
    const least = w / px * 90;
    let s = Math.pow(10, Math.floor(Math.log10(least)));
    for (const k of [1, 2, 5, 10]) if (s * k >= least) return s * k;
    return s * 10;
  }

  function draw() {
    ["ink", "soft", "line", "line-soft", "surface", "sunken", "lead", "fault", "fault-soft", "down", "good", "warn", "accent", "violet", "bad"].forEach(n => hues[n] = color(n));
    const box = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    canvas.width = box * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + "px";
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, box, height);
    pen.font = "12px " + font;
    pen.textBaseline = "middle";
    const w = span(), f = from(), px = box - left - right, x = t => left + (t - f) / w * px;
    axis(f, w, px, x, box);
    pen.save();
    pen.beginPath();
    pen.rect(left, 0, px, height);
    pen.clip();
    data.bars.forEach(b => { if (b.t >= f && b.f <= f + w) drawBar(b, x); });
    data.ticks.forEach(k => { if (k.t >= f && k.t <= f + w) drawTick(k, x(k.t)); });
    data.chain.forEach((c, i) => drawChain(c, x, i));
    data.marks.filter(m => m.t >= f && m.t <= f + w).reduceRight((limit, m) => drawMark(m, x, limit), box - right);
    pen.strokeStyle = hues.ink;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x(at), top - 6);
    pen.lineTo(x(at), height);
    pen.stroke();
    pen.restore();
    tell(f, w);
  }

  function axis(f, w, px, x, box) {
    data.lanes.forEach((l, i) => {
      if (i % 2 === 0) {
        pen.fillStyle = hues.sunken;
        pen.fillRect(0, tops[i], box, heights[i]);
      }
      pen.fillStyle = l.k === "replica" || l.k === "faults" ? hues.ink : hues.soft;
      let name = l.n;
      while (name.length > 4 && pen.measureText(name).width > left - 14) name = name.slice(0, -2) + "…";
      pen.fillText(name, 6, tops[i] + heights[i] / 2);
    });
    const s = step(w, px);
    pen.fillStyle = hues.soft;
    pen.strokeStyle = hues["line-soft"];
    for (let t = Math.ceil(f / s) * s; t <= f + w; t += s) {
      const at = Math.round(x(t)) + .5;
      pen.beginPath();
      pen.moveTo(at, top - 4);
      pen.lineTo(at, height);
      pen.stroke();
      const text = (t / 1000).toFixed(s < 10 ? 3 : s < 100 ? 2 : s < 1000 ? 1 : 0) + " s";
      if (at + pen.measureText(text).width < box) pen.fillText(text, at + 3, 9);
    }
  }

  function drawBar(b, x) {
    const a = x(b.f), wide = Math.max(x(b.t) - a, 2);
    let y = tops[b.l] + 4, h = heights[b.l] - 8;
    if (b.l === 0) { y = tops[0] + 3 + (b.row || 0) * faultRow; h = faultRow - 2; }
    if (b.k === "lead") {
      pen.fillStyle = hues.lead;
      pen.fillRect(a, y, wide, h);
      label(b.x.replace(/^.* leads /, ""), a, wide, y + h / 2, "#ffffff");
    } else if (b.k === "deposed") {
      pen.strokeStyle = hues.lead;
      pen.setLineDash([4, 3]);
      pen.strokeRect(a + .5, y + .5, wide - 1, h - 1);
      pen.setLineDash([]);
    } else if (b.k === "down") {
      hatch(a, y, wide, h, hues.down);
    } else {
      pen.fillStyle = hues["fault-soft"];
      pen.strokeStyle = hues.fault;
      pen.globalAlpha = b.l === 0 ? 1 : .55;
      pen.fillRect(a, y, wide, h);
      pen.globalAlpha = 1;
      pen.strokeRect(a + .5, y + .5, Math.max(wide - 1, 1), h - 1);
      if (b.l === 0) label(b.x, a, wide, y + h / 2 + .5, hues.ink);
    }
  }

  function hatch(a, y, wide, h, hue) {
    pen.save();
    pen.beginPath();
    pen.rect(a, y, wide, h);
    pen.clip();
    pen.strokeStyle = hue;
    pen.lineWidth = 1.5;
    const end = Math.min(a + wide, left + canvas.clientWidth);
    for (let i = Math.max(a, left) - h; i < end; i += 6) {
      pen.beginPath();
      pen.moveTo(i, y + h);
      pen.lineTo(i + h, y);
      pen.stroke();
    }
    pen.strokeRect(a + .5, y + .5, wide - 1, h - 1);
    pen.restore();
  }

  function label(text, a, wide, y, hue) {
    const start = Math.max(a, left) + 4, room = a + wide - start - 4;
    if (room < 24) return;
    pen.font = "11px " + font;
    pen.fillStyle = hue;
    while (text.length > 1 && pen.measureText(text).width > room) text = text.length > 3 ? text.slice(0, -2) + "…" : "";
    if (text) pen.fillText(text, start, y);
    pen.font = "12px " + font;
  }

  function drawTick(k, a) {
    const y = tops[k.l], h = heights[k.l], mid = y + h / 2;
    if (k.k === "ok") {
      pen.fillStyle = hues.good;
      pen.fillRect(a - .75, y + 6, 1.5, h - 12);
    } else if (k.k === "fail") {
      pen.fillStyle = hues.soft;
      pen.fillRect(a - 4, mid - 1, 8, 2);
    } else if (k.k === "info") {
      pen.strokeStyle = hues.warn;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(a, mid - 5);
      pen.lineTo(a + 5, mid);
      pen.lineTo(a, mid + 5);
      pen.lineTo(a - 5, mid);
      pen.closePath();
      pen.stroke();
    } else if (k.k === "order") {
      pen.fillStyle = hues.accent;
      pen.fillRect(a - 1, mid - 3, 2.5, 6);
    } else {
      pen.fillStyle = hues.violet;
      pen.beginPath();
      pen.arc(a, mid, 3, 0, 7);
      pen.fill();
    }
  }

  function drawChain(c, x, i) {
    const a = x(c.t), y = c.l < 0 ? top - 2 : tops[c.l] + heights[c.l] / 2;
    pen.strokeStyle = hues.bad;
    pen.lineWidth = 2;
    if (c.l >= 0) {
      pen.beginPath();
      pen.arc(a, y, 8, 0, 7);
      pen.stroke();
    } else {
      pen.beginPath();
      pen.moveTo(a - 4, top - 9);
      pen.lineTo(a + 4, top - 9);
      pen.lineTo(a, top - 2);
      pen.closePath();
      pen.stroke();
    }
    if (i === data.chain.length - 1) {
      pen.lineWidth = 1;
      pen.setLineDash([4, 3]);
      pen.beginPath();
      pen.moveTo(a, top - 4);
      pen.lineTo(a, height);
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  // drawMark returns where its name begins: the one before it ends there.
  function drawMark(m, x, limit) {
    const a = x(m.t);
    pen.strokeStyle = hues.good;
    pen.lineWidth = 1;
    pen.setLineDash([2, 3]);
    pen.beginPath();
    pen.moveTo(a, top - 4);
    pen.lineTo(a, height);
    pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = hues.good;
    pen.font = "11px " + font;
    const start = Math.min(a + 3, limit - pen.measureText(m.x).width);
    pen.fillText(m.x, start, height - 5);
    pen.font = "12px " + font;
    return start - 8;
  }

  // What was going on: bars that lie over the time, then the events nearest to it.
  function tell(f, w) {
    const name = l => l < 0 ? "" : data.lanes[l].n;
    const over = data.bars.filter(b => b.f <= at && at <= b.t && (b.k !== "fault" || b.l === 0)).map(b => [b.f, name(b.l), b.x + " (until " + clock(b.t) + ")"]);
    const close = data.ticks.slice().sort((a, b) => Math.abs(a.t - at) - Math.abs(b.t - at)).slice(0, 12).sort((a, b) => a.t - b.t).map(k => [k.t, name(k.l), k.x]);
    near.replaceChildren();
    over.slice(0, 8).concat(close).forEach(row => {
      const tr = near.insertRow();
      const cell = (text, kind) => { const td = tr.insertCell(); td.textContent = text; td.className = kind; };
      cell(clock(row[0]), "num");
      cell(row[1], "who");
      cell(row[2], "");
    });
    now.textContent = clock(at);
    width.textContent = clock(w);
    time.value = at;
    document.querySelectorAll(".chain tr[data-at]").forEach(tr => tr.classList.toggle("on", Math.abs(Number(tr.dataset.at) - at) < .0005));
  }

  let asked = false;
  const later = () => { if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; draw(); }); } };
  const go = t => { at = Math.min(Math.max(t, 0), data.end); later(); };
  const under = e => from() + (e.clientX - canvas.getBoundingClientRect().left - left) / (canvas.clientWidth - left - right) * span();

  time.max = data.end;
  if (data.focus) { // a window that shows the whole chain
    const first = data.chain.reduce((a, c) => Math.min(a, c.t), data.focus), want = Math.max((data.focus - first) * 2.6, 8000);
    if (want < data.end) zoom.value = 100 * Math.log(want / data.end) / Math.log(shortest / data.end);
  }
  time.addEventListener("input", () => go(Number(time.value)));
  zoom.addEventListener("input", later);
  canvas.addEventListener("pointerdown", e => go(under(e)));
  canvas.addEventListener("pointermove", e => { if (e.buttons) go(under(e)); });
  canvas.addEventListener("wheel", e => {
    if (!e.ctrlKey && !e.shiftKey) return;
    e.preventDefault();
    zoom.value = Number(zoom.value) - Math.sign(e.deltaY) * 4;
    later();
  }, { passive: false });
  document.querySelectorAll(".chain tr[data-at]").forEach(tr => {
    tr.addEventListener("click", () => go(Number(tr.dataset.at)));
    tr.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); go(Number(tr.dataset.at)); } });
  });
  window.addEventListener("resize", later);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
  draw();
})();
