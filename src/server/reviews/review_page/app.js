// The page on which people answer reviews: which reviews there are, which one is looked at, what is done with it.

import * as server from "./server.js";
import { Refusal, token } from "./server.js";
import { argumentForm, detail, el, entry, happened, isBehind, nameOf, progressOf, resultForm, stateOf, tick, told } from "./view.js";

/** Events of a task that are shown: the last ones. */
const MOST_EVENTS = 300;

/** Where it is kept whether keys of one letter are used. */
const KEYS = "celador.keys";

const at = (id) => document.getElementById(id);

const reviews = new Map();
let shown = { state: "open", next: null };
/** The review that is looked at: its id, its state and digest as they are drawn, and the open form. */
let current = { id: null, drawn: null, form: null };
let following = new AbortController();
let looks = 0;

// ---- what there is

/** Oldest first; what was asked in one moment stays in the order of the server. */
const order = (a, b) => new Date(a.asked_at) - new Date(b.asked_at);

const listed = () => [...reviews.values()].filter((it) => it.state === shown.state || it.id === current.id && isHeld(it)).sort(order);

/** A review that was answered while it was looked at stays in the list until another one is looked at. */
const isHeld = (review) => current.held && review.id === current.id;

function drawList() {
  const list = at("list");
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.id : null;
  const rows = listed();
  list.replaceChildren(...rows.map((it) => entry(it, it.id === current.id)));
  if (focused) [...list.querySelectorAll("a")].find((link) => link.dataset.id === focused)?.focus({ preventScroll: true });
  const open = rows.filter((it) => it.state === shown.state).length;
  const more = shown.next === null ? "" : "+";
  at("queue-title").replaceChildren(shown.state === "open" ? "Waiting" : "Reviews", " ", el("span.count", {}, `${open}${more}`));
  at("empty").hidden = rows.length > 0;
  at("empty").textContent = shown.state === "open" ? "Nothing waits for an answer." : "There is nothing here.";
  at("more").hidden = shown.next === null;
  const waiting = [...reviews.values()].filter((it) => it.state === "open").length;
  document.title = waiting > 0 ? `(${waiting}${shown.state === "open" ? more : ""}) Reviews – Celador` : "Reviews – Celador";
}

/** Asks for the list from its beginning, as far as it was shown. */
async function load() {
  const { state } = shown;
  const before = [...reviews.values()].filter((it) => it.state === state);
  const found = new Map();
  let next = null;
  do {
    const page = await server.list(state, next);
    if (state !== shown.state) return;
    page.reviews.forEach((it) => found.set(it.id, it));
    next = page.next;
  } while (next !== null && found.size < before.length);
  // one that is missing now was answered, unless it stands behind the last page
  const gone = before.filter((it) => !found.has(it.id) && next === null);
  gone.forEach((it) => reviews.delete(it.id));
  found.forEach((it) => reviews.set(it.id, it));
  shown.next = next;
  drawList();
  const here = current.id && found.get(current.id);
  if (here) redraw(here);
  else if (current.id && gone.some((it) => it.id === current.id)) await look(current.id, { quiet: true });
}

async function loadMore() {
  try {
    const page = await server.list(shown.state, shown.next);
    page.reviews.forEach((it) => reviews.set(it.id, it));
    shown.next = page.next;
    drawList();
    const first = page.reviews[0];
    if (first) at("list").querySelector(`a[data-id="${CSS.escape(first.id)}"]`)?.focus();
  } catch (error) {
    refused(error);
  }
}

/** A review that was asked, or that changed. */
function changed(review) {
  const before = reviews.get(review.id);
  reviews.set(review.id, review);
  if (review.id === current.id) {
    current.held = current.held || review.state !== shown.state;
    redraw(review);
  }
  drawList();
  if (!before && review.state === "open") say(`New: ${nameOf(review)}, asked of ${review.reviewer}.`);
}

// ---- the one that is looked at

/** What of a review an answer would be about, and how many of several people have approved. */
const keyOf = (review) => `${review.state} ${review.digest} ${review.answered?.at ?? ""}`;
const approvalsOf = (review) => review.approvals?.length ?? 0;

/** Draws the review again if something of it is new, unless somebody is at work on it: then they are told. */
function redraw(review) {
  if (current.drawn === keyOf(review)) {
    if (current.approvals === approvalsOf(review)) return;
    // what somebody writes here meanwhile is not lost: it is about the same
    if (current.form || at("note")?.value) {
      current.approvals = approvalsOf(review);
      at("progress")?.replaceChildren(`${progressOf(review)}.`);
    } else {
      draw(review);
    }
    return say(`${nameOf(review)}: ${progressOf(review)}.`);
  }
  if (current.form && review.state === "open") return say("This review has changed. What you send now is refused; open it again.");
  draw(review);
}

/** What can be answered. A function that has run cannot run with other arguments, nor not run. */
function choices(review) {
  const isAhead = review.arguments instanceof Map && !isBehind(review);
  return { edit: isAhead, respond: isAhead };
}

function draw(review) {
  const panel = at("detail");
  const hadFocus = panel.contains(document.activeElement);
  const isNew = current.drawn !== keyOf(review);
  current = { ...current, drawn: keyOf(review), approvals: approvalsOf(review), form: null };
  const timeline = el("aside.timeline", { "aria-labelledby": "timeline-title" },
    el("h3", { id: "timeline-title" }, "The task so far"),
    el("p.plain", { id: "timeline-note" }, "Loading…"),
    el("ol", { id: "timeline" }));
  panel.replaceChildren(el("div.review", {}, detail(review), review.state === "open" ? answers(review) : null), timeline);
  panel.setAttribute("aria-labelledby", "detail-title");
  at("back").addEventListener("click", toList);
  if (hadFocus) at("detail-title").focus({ preventScroll: true });
  if (isNew) fromTop();
  drawEvents(review.task);
}

function answers(review) {
  const can = choices(review);
  const note = el("textarea", { id: "note", rows: "2", "aria-describedby": "note-help" });
  const failed = el("p.error", { id: "answer-error", role: "alert", tabindex: "-1" });
  const place = el("div.form-place", { id: "form-place" });
  const choose = (kind) => openForm(kind, review, place);
  const button = (id, style, name, click) => el(`button.${style}`, { type: "button", id, click }, name);
  return el("section.answers", { "aria-labelledby": "answers-title" },
    el("h3", { id: "answers-title" }, "Your answer"),
    el("div.field", {},
      el("label", { for: "note" }, "Note"),
      el("p.help", { id: "note-help" }, "Kept with the answer. The model reads it, unless the policy keeps notes private."),
      note),
    el("div.buttons", { id: "buttons" },
      button("approve", "approve", isBehind(review) ? "Approve the result" : "Approve", () => send(review, "approve")),
      button("deny", "deny", "Deny", () => send(review, "deny")),
      can.edit && el("button.plain-button", { type: "button", id: "edit", "aria-expanded": "false", "aria-controls": "form-place", click: () => choose("edit") }, "Edit…"),
      can.respond && el("button.plain-button", { type: "button", id: "respond", "aria-expanded": "false", "aria-controls": "form-place", click: () => choose("respond") }, "Respond…")),
    place,
    failed);
}

function openForm(kind, review, place) {
  if (current.form?.kind === kind) return closeForm();
  closeForm(false);
  const form = kind === "edit" ? argumentForm(review.arguments) : resultForm();
  const title = kind === "edit" ? "Approve with other arguments" : "Answer in the place of the function";
  const element = el("form.answer-form", {
    "aria-label": title,
    novalidate: true,
    submit: (event) => {
      event.preventDefault();
      const value = form.read();
      if (value === undefined) return form.focusError();
      send(review, kind, value);
    },
  },
  el("h4", {}, title), form.element,
  el("div.buttons", {},
    el("button.approve", { type: "submit" }, kind === "edit" ? "Approve with these arguments" : "Send this result"),
    el("button.plain-button", { type: "button", click: () => closeForm() }, "Cancel")));
  place.replaceChildren(element);
  at(kind).setAttribute("aria-expanded", "true");
  current.form = { kind, ...form };
  form.focus();
}

function closeForm(focus = true) {
  const { form } = current;
  if (!form) return;
  current.form = null;
  at("form-place")?.replaceChildren();
  const opener = at(form.kind);
  opener?.setAttribute("aria-expanded", "false");
  if (focus) opener?.focus();
}

/** Sends an answer. What is sent is bound to the review as it is drawn, by its digest. */
async function send(review, kind, value) {
  const panel = at("detail");
  if (panel.hasAttribute("aria-busy")) return;
  panel.setAttribute("aria-busy", "true");
  at("answer-error").textContent = "";
  const body = new Map([["answer", kind]]);
  if (kind === "edit") body.set("arguments", value);
  if (kind === "respond") body.set("result", value);
  const note = at("note").value.trim();
  if (note) body.set("note", note);
  if (review.digest) body.set("digest", review.digest);
  try {
    const { review: now, decision, repeated } = await server.answer(review.id, body);
    if (repeated && now.state === "open") {
      reviews.set(now.id, now);
      if (current.id === now.id) {
        draw(now);
        at("answer-error").textContent = `You have approved already, and each person counts once. ${progressOf(now)}.`;
        at("answer-error").focus();
      }
      return;
    }
    current.held = true;
    reviews.set(now.id, now);
    if (current.id === now.id) {
      draw(now);
      at("detail-title").focus();
    }
    drawList();
    if (now.state === "open" && now.progress) return say(`${nameOf(now)}: ${progressOf(now)}.`);
    say(`${nameOf(now)}: ${stateOf(now)}.${decision === "block" && kind !== "deny" ? " The policy refused it all the same." : ""}`);
  } catch (error) {
    await answerRefused(error, review);
  } finally {
    panel.removeAttribute("aria-busy");
  }
}

async function answerRefused(error, review) {
  if (!(error instanceof Refusal)) throw error;
  if (error.status === 401) return signIn("The token is not accepted any more.");
  const words = {
    0: `${error.message} It is not known whether the answer was taken; it may be sent again.`,
    404: "This review is not there any more, or it is not for you.",
    409: `Nothing was changed: ${error.message}`,
    403: `You may not answer: ${error.message}`,
  };
  const isPlaced = error.status === 422 && current.form?.fail(error.problem);
  if (isPlaced) current.form.focusError();
  const said = at("answer-error");
  if (said) said.textContent = words[error.status] ?? error.message;
  if (error.status === 409 && current.id === review.id) {
    const note = said?.textContent ?? "";
    const now = await server.read(review.id).catch(() => null);
    if (!now || current.id !== now.id) return;
    reviews.set(now.id, now);
    current.held = true;
    closeForm(false);
    draw(now);
    drawList();
    const again = at("answer-error");
    if (again) again.textContent = note;
    else say(note);
    (again ?? at("detail-title")).focus();
  }
}

/** Looks at the review of this id: the address of the page says which. */
async function look(id, { quiet = false } = {}) {
  const ticket = (looks += 1);
  let review = reviews.get(id);
  if (!review || quiet) {
    try {
      review = await server.read(id);
    } catch (error) {
      if (ticket !== looks) return;
      if (error instanceof Refusal && error.status === 404) {
        at("detail").replaceChildren(el("p.empty", {}, "This review is not there, or it is not for you."));
        at("detail").removeAttribute("aria-labelledby");
        return;
      }
      return refused(error);
    }
    if (ticket !== looks) return;
    reviews.set(id, review);
  }
  if (current.id !== id) current = { id, drawn: null, form: null, held: false };
  if (review.state !== shown.state) current.held = true;
  document.body.classList.add("looks");
  redraw(review);
  drawList();
}

/** Shows a review from its beginning: what an answer is about is in sight before the buttons are. */
function fromTop() {
  at("detail").scrollTop = 0;
  // where the page is narrow, it scrolls as a whole
  if (getComputedStyle(at("detail")).overflowY === "visible") scrollTo(0, 0);
}

function drawNothing() {
  current = { id: null, drawn: null, form: null, held: false };
  looks += 1;
  document.body.classList.remove("looks");
  at("detail").removeAttribute("aria-labelledby");
  at("detail").replaceChildren(el("p.empty", {}, "Choose a review to see what would be done, and why it is asked."));
}

/** The events of the task, oldest first. Who answers a review need not own its task, and is shown none of them then. */
async function drawEvents(task) {
  const ticket = looks;
  const events = [];
  let after = null;
  let missing = 0;
  try {
    do {
      const page = await server.events(task, after);
      events.push(...page.events);
      const over = events.length - MOST_EVENTS;
      if (over > 0) {
        events.splice(0, over);
        missing += over;
      }
      after = page.next;
      if (ticket !== looks) return;
    } while (after !== null);
  } catch (error) {
    if (ticket !== looks || !at("timeline-note")) return;
    const hidden = error instanceof Refusal && [403, 404, 410].includes(error.status);
    at("timeline-note").textContent = hidden ? "The events of this task are not shown to you: it belongs to somebody else." : `The events cannot be shown: ${error.message}`;
    return;
  }
  if (!at("timeline")) return;
  at("timeline-note").textContent = missing > 0 ? `${missing} earlier events are not shown.` : "";
  at("timeline-note").hidden = missing === 0;
  at("timeline").replaceChildren(...events.map(happened));
}

// ---- words

let toastTimer;

/** Says something in passing; a screen reader says it too. */
function say(text) {
  const toast = at("toast");
  toast.replaceChildren(told(text));
  toast.classList.add("is-shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => toast.classList.remove("is-shown"), 6000);
}

const LINKS = { live: "Live", asking: "Looking every few seconds", lost: "No connection; trying again", connecting: "Connecting…" };

function link(state) {
  const element = at("link");
  if (element.dataset.state === state) return;
  element.dataset.state = state;
  at("link-text").textContent = LINKS[state];
}

function refused(error) {
  if (!(error instanceof Refusal)) throw error;
  if (error.status === 401) return signIn(token.get() ? "This token is not accepted." : "");
  say(error.message);
}

// ---- who asks

function signIn(why) {
  following.abort();
  token.forget();
  reviews.clear();
  drawNothing();
  at("list").replaceChildren();
  at("board").hidden = true;
  at("leave").hidden = true;
  at("link").hidden = true;
  at("gate").hidden = false;
  at("gate-error").textContent = why;
  document.title = "Sign in – Celador";
  at("token").value = "";
  at("token").focus();
}

async function begin() {
  following.abort();
  following = new AbortController();
  const { signal } = following;
  try {
    await load();
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof Refusal && error.status === 401) return signIn(token.get() ? "This token is not accepted." : "");
    if (error instanceof Refusal && error.status === 403) return signIn(`This token may not read reviews. ${error.message}`);
    link("lost");
  }
  at("gate").hidden = true;
  at("board").hidden = false;
  at("link").hidden = false;
  at("leave").hidden = token.get() === null;
  fromAddress();
  server.follow({
    review: changed,
    link,
    again: load,
    unknown: () => signIn("The token is not accepted any more."),
  }, signal);
}

// ---- the address, the keyboard

const idOf = () => {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
};

function fromAddress() {
  const id = idOf();
  if (id.startsWith("rv_")) return look(id);
  drawNothing();
  drawList();
}

function toList() {
  const { id } = current;
  history.replaceState(null, "", location.pathname + location.search);
  drawNothing();
  drawList();
  const links = [...at("list").querySelectorAll("a")];
  (links.find((it) => it.dataset.id === id) ?? links[0] ?? at("queue-title")).focus();
}

function step(by) {
  const ids = listed().map((it) => it.id);
  if (ids.length === 0) return;
  const here = ids.indexOf(current.id);
  const next = here < 0 ? (by > 0 ? 0 : ids.length - 1) : Math.min(Math.max(here + by, 0), ids.length - 1);
  location.hash = encodeURIComponent(ids[next]);
  at("list").querySelector(`a[data-id="${CSS.escape(ids[next])}"]`)?.focus();
}

const press = {
  j: () => step(1),
  k: () => step(-1),
  a: () => at("approve")?.focus(),
  d: () => at("deny")?.focus(),
  e: () => at("edit")?.click(),
  r: () => at("respond")?.click(),
  n: () => at("note")?.focus(),
  l: toList,
  "?": () => at("keys").showModal(),
};

function keyed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || at("keys").open || at("board").hidden) return;
  if (event.key === "Escape") {
    if (current.form) closeForm();
    else if (current.id) toList();
    return;
  }
  const writes = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (writes || !at("keys-on").checked) return;
  const act = press[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

// ---- the beginning

at("gate").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = at("token").value.trim();
  if (!/^[\x21-\x7e]+$/.test(given)) {
    at("gate-error").textContent = "A token has no blanks and no other letters than those of ASCII.";
    return;
  }
  token.set(given);
  begin();
});
at("leave").addEventListener("click", () => signIn(""));
at("state").addEventListener("change", (event) => {
  shown = { state: event.target.value, next: null };
  current.held = current.id !== null;
  load().catch(refused);
});
at("more").addEventListener("click", loadMore);
at("keys-open").addEventListener("click", () => at("keys").showModal());
at("keys-on").checked = sessionStorage.getItem(KEYS) !== "off";
at("keys-on").addEventListener("change", (event) => sessionStorage.setItem(KEYS, event.target.checked ? "on" : "off"));
at("skip").addEventListener("click", (event) => {
  event.preventDefault();
  at("detail").focus();
});
addEventListener("hashchange", () => {
  if (!at("board").hidden) fromAddress();
});
addEventListener("keydown", keyed);
setInterval(tick, 10000);
begin();
