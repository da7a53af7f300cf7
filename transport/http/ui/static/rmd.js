// The pages are whole without this module. It keeps them current: on a live
// message the page fetches itself, and its regions marked data-live are replaced.

const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

// --- times ---
// The page has them in UTC. Here they become those of the viewer's clock.

const two = (n) => String(n).padStart(2, "0");
const day = (t) => `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
const clock = (t) => `${two(t.getHours())}:${two(t.getMinutes())}`;
const zone = (t) => t.toLocaleTimeString("en-GB", { timeZoneName: "short" }).split(" ").pop();

function localize(root) {
  for (const el of all("time[datetime]", root)) {
    const t = new Date(el.dateTime);
    el.title = el.dateTime.replace("T", " ").replace(/\.\d+Z/, " UTC");
    const [date, time, its] = el.childNodes;
    date.textContent = day(t) + " ";
    time.textContent = `${clock(t)}:${two(t.getSeconds())}`;
    its.textContent = " " + zone(t); // of that day: summer time may have ended since
  }
  for (const el of all("text[data-at]", root)) {
    const t = new Date(Number(el.dataset.at));
    if (el.textContent.includes("-")) el.textContent = day(t).slice(5);
    else el.textContent = clock(t) + (el.textContent.length > 5 ? ":" + two(t.getSeconds()) : "");
  }
  for (const el of all(".zone:not(time .zone)", root)) el.textContent = zone(new Date());
}

localize(document);

// --- how this replica stands ---

let banner = null; // as the last message had it
let shown = null; // the tick that the regions on the page belong to

function showStatus(t) {
  const values = { role: t.role, leader: t.leader || "none", age: t.age };
  for (const [name, value] of Object.entries(values)) {
    for (const el of all(`[data-status="${name}"]`)) {
      if (el.textContent !== value) el.textContent = value;
    }
  }
  if (t.banner !== banner) $("#banner").innerHTML = banner = t.banner; // our own template, escaped there
  $("#banner").hidden = t.banner === "";
}

function pulse(kind, text) {
  const el = $("#pulse");
  el.classList.toggle("live", kind === "live");
  el.classList.toggle("lost", kind === "lost");
  const label = $("[data-pulse]", el);
  if (label.textContent !== text) label.textContent = text;
}

// --- renewing the regions ---

let tag = "";
let seen = 0; // the index of the regions on the page
let busy = false;
let again = false;
let late = 0;

const watched = () => stream && silent === 0 && !document.hidden;

// What others look at too may be a moment older than the message that it was
// fetched for. While nothing moves on, no other message follows.
const behind = () => watched() && shown && seen < shown.index && !$("#main [data-still]");

async function renew() {
  if (busy) { again = true; return; }
  busy = true;
  clearTimeout(late);
  try {
    const headers = { "X-Rmd-Live": "1" };
    if (tag) headers["If-None-Match"] = tag;
    const answer = await fetch(location.pathname + location.search, { headers, cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(30000) });
    if (answer.ok || answer.status === 304) seen = Number(answer.headers.get("X-Rmd-Index"));
    if (answer.status === 200) {
      tag = answer.headers.get("ETag") || "";
      replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } else if (answer.status === 404) {
      pulse("lost", "it is gone");
    }
  } catch {
    // the stream says when the replica is there again
  } finally {
    busy = false;
    if (again) { again = false; setTimeout(renew, 250); }
    else late = setTimeout(() => { if (behind()) renew(); }, 1000);
  }
}

function replace(fresh) {
  localize(fresh);
  const main = $("#main");
  const here = $("[data-here]", fresh);
  if (here) { history.replaceState(null, "", here.dataset.here); tag = ""; }
  for (const region of all("[data-live]", main)) {
    const next = fresh.getElementById(region.id);
    if (!next) { region.replaceChildren(); continue; }
    if (region.innerHTML === next.innerHTML) continue;
    if (held(region)) { tag = ""; seen = 0; continue; }
    const scroll = all(".wide", region).map((el) => el.scrollLeft);
    const focus = focusPath(region);
    region.replaceWith(document.adoptNode(next));
    all(".wide", next).forEach((el, i) => { el.scrollLeft = scroll[i] || 0; });
    if (focus) focusAgain(next, focus);
  }
  // Regions that came into being find their place in the order of the new page.
  for (const next of all("[data-live]", fresh)) {
    if (document.getElementById(next.id)) continue;
    main.append(document.adoptNode(next));
  }
}

// held: somebody selects text in the region, or fills in a form of it.
function held(region) {
  const s = getSelection();
  if (s && !s.isCollapsed && region.contains(s.anchorNode)) return true;
  const el = document.activeElement;
  return el && region.contains(el) && /^(INPUT|SELECT|TEXTAREA)$/.test(el.tagName);
}

// The element that had the focus is found again by its address, or its place.
function focusPath(region) {
  const el = document.activeElement;
  if (!el || !region.contains(el)) return null;
  const list = all("a, button", region);
  return { href: el.getAttribute("href"), place: list.indexOf(el) };
}

function focusAgain(region, { href, place }) {
  const list = all("a, button", region);
  const el = (href && list.find((x) => x.getAttribute("href") === href)) || list[place];
  if (el) el.focus({ preventScroll: true });
}

// --- the stream ---

const SILENCE = 6000; // ms, api.StreamSilence
let stream = null;
let silent = 0;
let heard = 0; // when something came last

function listen() {
  heard = Date.now();
  stream = new EventSource("/ui/live");
  stream.addEventListener("tick", (message) => {
    const t = JSON.parse(message.data);
    silent = 0;
    heard = Date.now();
    $("#lost").hidden = true;
    pulse(t.leader ? "live" : "lost", t.leader ? "live" : "no leader");
    showStatus(t);
    if (t.assets !== document.body.dataset.assets) { location.reload(); return; }
    const moved = !shown || shown.index !== t.index || shown.leader !== t.leader || shown.term !== t.term || shown.role !== t.role;
    shown = t;
    if (moved && !$("#main [data-still]")) renew(); // a paused replay stays as it is
  });
  stream.onerror = () => {
    lost();
    // A stream that was refused is not opened again by the browser.
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 3000);
  };
}

function lost() {
  silent++;
  pulse("lost", "reconnecting");
  if (silent > 1) $("#lost").hidden = false;
}

// The browser notices only after minutes that the replica's machine has vanished.
setInterval(() => {
  if (!stream || stream.readyState === EventSource.CLOSED || Date.now() - heard < SILENCE) return;
  stream.close();
  lost();
  listen();
}, 1000);

// What the other replicas do does not move the index here: pages that show it
// look again now and then.
setInterval(() => {
  if (watched() && $("[data-paced]")) renew();
}, 2000);

// A running replay goes on whether or not anything is decided now.
setInterval(() => {
  if (stream && !document.hidden && $("[data-here]")) renew();
}, 700);

// Nothing is renewed where nobody looks.
function look() {
  if (!document.body.hasAttribute("data-renew")) return;
  if (document.hidden) {
    if (stream) stream.close();
    stream = null;
    pulse("", "paused");
  } else if (!stream) {
    listen();
  }
}

document.addEventListener("visibilitychange", look);
window.addEventListener("pagehide", () => { if (stream) stream.close(); stream = null; });
window.addEventListener("pageshow", look);

// --- the keyboard: / searches, g and a letter goes ---

let going = 0;

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
  if (e.key === "/") {
    const field = $("main [data-search]") || $("[data-search]");
    if (field) { e.preventDefault(); field.focus(); field.select(); }
    return;
  }
  if (e.key === "g") { going = Date.now(); return; }
  if (Date.now() - going < 1500) {
    going = 0;
    const link = $(`.side a[data-key="${CSS.escape(e.key)}"]`);
    if (link) { e.preventDefault(); link.click(); }
  }
});

// A choice in a filter takes effect at once; a name is filtered by on Enter.
for (const select of all(".filter select")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

// Filters that are empty need not stand in the address.
for (const form of all("form.filter")) {
  form.addEventListener("submit", () => {
    for (const field of form.elements) if (field.name && field.value === "") field.disabled = true;
    setTimeout(() => { for (const field of form.elements) field.disabled = false; });
  });
}

// The capacities of siblings are summed while somebody types; the server has the last word.
for (const form of all("form[data-sum]")) {
  const sum = $("output", form);
  form.addEventListener("input", () => {
    const values = all("[data-part]", form).map((field) => field.value.trim()).filter((value) => value !== "");
    const total = values.reduce((n, value) => n + parseFloat(value), 0);
    const shown = String(Math.round(total * 1e4) / 1e4);
    const percents = values.every((value) => /^(\d+\.?\d*|\.\d+)%?$/.test(value));
    const weights = values.every((value) => /^(\d+\.?\d*|\.\d+)w$/.test(value));
    sum.value = percents ? shown + "%" : weights ? shown + "w" : "of different kinds";
    const wrong = percents && values.length > 0 && shown !== "100";
    sum.className = "badge " + (wrong ? "bad" : "good");
  });
}

// The place in a narrow row of pages is brought into view.
$(".side a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
