// What the page shows. All words of a review are put in as text (`append` of strings): nothing here makes markup of a text.

import { HIDDEN, Num, parse, write, JsonFault } from "./json.js";

/** What the server shows in the place of a secret; sent back, it stands for the secret. */
const MASK = "***";

/** An element with attributes, listeners (functions) and contents: elements, texts, numbers, lists of them, and nothing (null, undefined, false). */
export function el(tag, attributes = {}, ...contents) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length > 0) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...contents.flat(Infinity).filter((it) => it !== null && it !== undefined && it !== false).map(content));
  return made;
}

/** A content of an element. Anything that is no element and no text would be shown as `[object …]`, so it is an error. */
function content(it) {
  if (it instanceof Node || typeof it === "string" || typeof it === "number") return it;
  throw new TypeError("an element takes elements and texts");
}

/** A text of a task, with its hidden characters made visible. */
export function told(text) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    const code = `U+${found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    parts.push(text.slice(from, found.index), el("span.hidden-char", { title: "a character that is not seen" }, code));
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return el("bdi", {}, parts.filter((part) => part !== ""));
}

const WHEN = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "always" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

function relative(seconds) {
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  return Math.abs(seconds) < 5 ? "now" : AGO.format(Math.trunc(seconds / length), unit);
}

/** A time, in the reader's own zone, with how long ago it was; `tick` keeps that true. */
export function time(at) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return el("span", {}, told(String(at)));
  const element = el("time", { datetime: at, title: WHEN.format(date) });
  element.dataset.at = date.getTime();
  tell(element);
  return element;
}

function tell(element) {
  const seconds = (Number(element.dataset.at) - Date.now()) / 1000;
  element.textContent = relative(seconds);
  element.classList.toggle("soon", element.dataset.ends === "" && seconds < 300);
}

/** Says again how long ago every time of the page was. */
export function tick() {
  document.querySelectorAll("time").forEach(tell);
}

const STATES = {
  open: "waiting",
  approved: "approved",
  denied: "denied",
  edited: "approved with changes",
  responded: "answered in its place",
  expired: "expired",
  withdrawn: "withdrawn",
};

export const stateOf = (review) => STATES[review.state] ?? String(review.state);

/** Whether the call has run, and its result is what is reviewed. */
export const isBehind = (review) => review.hasResult || /^after/.test(review.step ?? "");

/** What a review is about, in a word. */
export const nameOf = (review) => review.function ?? review.step ?? "review";

const agentOf = (review) => (review.agent ? `${review.agent.namespace}/${review.agent.name}` : "");
const userOf = (review) => review.user?.email ?? review.user?.id ?? "";

/** A line of the list. */
export function entry(review, isCurrent) {
  const first = summary(review.message ?? review.arguments);
  return el("li", {},
    el("a", { href: `#${encodeURIComponent(review.id)}`, "aria-current": isCurrent ? "true" : null, "data-id": review.id },
      el("span.what", {}, told(nameOf(review)), el("span.since", {}, time(review.asked_at))),
      first && el("span.brief", {}, told(first)),
      el("span.meta", {}, told(agentOf(review)), userOf(review) && [" for ", told(userOf(review))], ", asked of ", told(review.reviewer)),
      review.state !== "open" && el("span", {}, state(review)),
    ));
}

const state = (review) => el(`span.state.${safe(review.state)}`, {}, stateOf(review));

const safe = (word) => (/^[a-z]+$/.test(word) ? `is-${word}` : "is-other");

function summary(args) {
  if (args === null) return "";
  const parts = args instanceof Map ? [...args] : [["", args]];
  const text = parts.map(([name, value]) => `${name && `${name}: `}${typeof value === "string" ? value : write(value)}`).join(", ");
  return text.length > 140 ? `${[...text].slice(0, 139).join("")}…` : text;
}

/** A value to the letter: strings as they are, everything else as JSON. */
function shown(value) {
  if (typeof value === "string") {
    return value === "" ? el("span.nothing", {}, "empty text") : el("span.text", {}, told(value));
  }
  if (value === null) return el("code.literal", {}, "null");
  if (value instanceof Num || typeof value === "boolean") return el("code.literal", {}, String(value));
  return el("pre", { tabindex: "0", role: "group", "aria-label": "Value as JSON" }, told(write(value, "  ")));
}

function values(value) {
  if (!(value instanceof Map)) return shown(value);
  if (value.size === 0) return el("p.nothing", {}, "no arguments");
  return el("dl.values", {}, [...value].map(([name, it]) => el("div", {}, el("dt", {}, told(name)), el("dd", {}, shown(it)))));
}

/** A time with how long ago it was, and when that is on the reader's clock. */
function moment(element) {
  if (element.dataset.at === undefined) return [element];
  return [element, " ", el("span.exact", {}, WHEN.format(new Date(Number(element.dataset.at))))];
}

function fact(name, ...contents) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, contents));
}

function section(title, ...contents) {
  const id = `part-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return el("section", { "aria-labelledby": id }, el("h3", { id }, title), contents);
}

/** What is asked: the question of the policy, or one that fits every review of its kind. */
function question(review) {
  if (review.text) return el("blockquote.reason", {}, el("p", {}, told(review.text)));
  if (isBehind(review)) return el("p.question", {}, "May the result be used?");
  return el("p.question", {}, review.call !== null ? "May this function run?" : "May this text go on?");
}

function whoAnswered(answered) {
  const { by } = answered;
  if (!by) return ["by somebody whom the server does not know"];
  return ["by ", told(by.email ?? by.subject ?? "")];
}

/** How many of the people who have to approve have done so. */
export const progressOf = ({ progress }) => `${progress.approved} of ${progress.needed} ${Number(progress.needed) === 1 ? "person has" : "people have"} approved`;

const VERBS = { approve: "Approved", deny: "Denied", edit: "Approved with changes", respond: "Answered in its place" };

/** The whole of a review, without the forms for answers. */
export function detail(review) {
  const { rule } = review;
  const place = rule && `${rule.file}:${rule.line}:${rule.column}`;
  const parts = [
    el("header.title", {},
      el("p.crumb", {}, el("button.quiet.back", { type: "button", id: "back" }, "Back to the list")),
      el("h2", { id: "detail-title", tabindex: "-1" }, told(nameOf(review)), " ", state(review)),
      isBehind(review) && el("p.question", {}, "The function has run."),
      review.state === "open" && review.progress && el("p.question", { id: "progress" }, `${progressOf(review)}.`)),
  ];
  const { answered } = review;
  if (answered) {
    parts.push(section("Answer",
      el("p", {}, `${VERBS[answered.answer] ?? answered.answer} `, whoAnswered(answered), ", ", time(answered.at), "."),
      answered.note && el("blockquote.note", {}, el("p", {}, told(answered.note)))));
  } else if (review.state !== "open") {
    parts.push(section("Answer", el("p", {}, review.state === "expired" ? "Nobody answered in time, so it was denied." : "The task needs no answer any more.")));
  }
  if (review.text || review.state === "open") parts.push(question(review));
  if (review.arguments !== null) parts.push(section(review.state === "edited" ? "Arguments that ran" : "Arguments", values(review.arguments)));
  if (review.hasResult) parts.push(section("Result", values(review.result)));
  if (typeof review.message === "string") parts.push(section("Text", el("div.message", {}, told(review.message))));
  else if (review.message !== null) parts.push(section("What was said", values(review.message)));
  const expires = review.expires_at && time(review.expires_at);
  if (expires && review.state === "open") {
    expires.dataset.ends = "";
    tell(expires);
  }
  parts.push(section("Why it is asked", el("dl.facts", {},
    rule?.expression && fact("Rule", el("code.rule", {}, told(rule.expression))),
    place && fact("Where", el("code", {}, told(place))),
    review.step && fact("Step", el("code", {}, told(review.step))),
    fact("Asked of", told(review.reviewer)),
    review.approvals?.length && fact("Approved by", told(review.approvals.map((it) => it.by?.email ?? it.by?.subject ?? "somebody").join(", "))),
    fact("Asked", moment(time(review.asked_at))),
    fact(review.state === "open" ? "Expires" : "Would have expired", expires ? moment(expires) : "never"),
    agentOf(review) && fact("Agent", told(agentOf(review))),
    userOf(review) && fact("Works for", told(userOf(review))),
    fact("Task", el("code", {}, told(review.task))))));
  return parts;
}

/** A field with its name, its help and its error at its place. `field.fail(text)` shows an error, `field.clear()` takes it away. */
function field(name, control, help) {
  const id = `field-${(field.count += 1)}`;
  control.id = id;
  const error = el("p.error", { id: `${id}-error` });
  const hint = help ? el("p.help", { id: `${id}-help` }, help) : null;
  control.setAttribute("aria-describedby", [hint && hint.id, error.id].filter(Boolean).join(" "));
  return {
    control,
    element: el("div.field", {}, el("label", { for: id }, name), hint, control, error),
    fail(text) {
      error.textContent = text;
      control.setAttribute("aria-invalid", "true");
    },
    clear() {
      error.textContent = "";
      control.removeAttribute("aria-invalid");
    },
  };
}
field.count = 0;

const place = (fault) => `${fault.message} (line ${fault.line}, column ${fault.column})`;

function area(value, attributes = {}) {
  const lines = value.split("\n").length;
  const made = el("textarea", { rows: String(Math.min(Math.max(lines, 1), 14)), spellcheck: "false", autocomplete: "off", ...attributes });
  made.value = value;
  return made;
}

/** A text that is read as JSON; a fault is shown at its place, and the caret is put there. */
function jsonField(name, value, help, isFine = () => null) {
  const made = field(name, area(value, { class: "code" }), help);
  made.read = () => {
    made.clear();
    try {
      const read = parse(made.control.value);
      const wrong = isFine(read);
      if (wrong) made.fail(wrong);
      return wrong ? undefined : read;
    } catch (fault) {
      if (!(fault instanceof JsonFault)) throw fault;
      made.fail(place(fault));
      made.control.setSelectionRange(fault.at, fault.at);
      return undefined;
    }
  };
  return made;
}

/** A field for one argument. `read()` gives its value, exactly the former one if nobody changed it, or undefined with an error shown. */
function argumentField(name, value) {
  HIDDEN.lastIndex = 0;
  if (typeof value === "string" && !HIDDEN.test(value)) {
    const made = field(told(name), area(value, { spellcheck: "true" }), value === MASK ? "A secret, which is not shown. It stays as it is." : null);
    const before = made.control.value;
    made.read = () => (made.control.value === before ? value : made.control.value);
    return made;
  }
  if (typeof value === "boolean") {
    const control = el("select", {}, ["true", "false"].map((word) => el("option", { value: word, selected: String(value) === word }, word)));
    const made = field(told(name), control, null);
    made.read = () => control.value === "true";
    return made;
  }
  if (value instanceof Num) {
    const control = el("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
    control.value = value.source;
    const made = field(told(name), control, null);
    made.read = () => {
      made.clear();
      let read;
      try {
        read = parse(control.value);
      } catch { /* said below */ }
      if (read instanceof Num) return read;
      made.fail("A number is expected, such as 12 or 12.5.");
      return undefined;
    };
    return made;
  }
  return jsonField(told(name), write(value, "  "), "JSON");
}

/** The form for changed arguments: a field each, or all of them as JSON. `read()` gives a `Map`, or undefined with errors shown. */
export function argumentForm(args) {
  const fields = new Map([...args].map(([name, value]) => [name, argumentField(name, value)]));
  const whole = jsonField("Arguments as JSON", write(args, "  "), "An object with a member for each argument.",
    (read) => (read instanceof Map ? null : "An object is expected, such as {\"amount\": 12}."));
  let isWhole = args.size === 0;
  const byField = el("div.fields", {}, [...fields.values()].map((it) => it.element));
  const byText = el("div.fields", {}, whole.element);
  const toggle = el("button.quiet", { type: "button", "aria-pressed": "false" }, "Edit as JSON");
  const show = () => {
    byField.hidden = isWhole;
    byText.hidden = !isWhole;
    toggle.setAttribute("aria-pressed", String(isWhole));
  };
  const readFields = () => {
    const read = [...fields].map(([name, it]) => [name, it.read()]);
    return read.some(([, value]) => value === undefined) ? undefined : new Map(read);
  };
  const controls = () => (isWhole ? [whole] : [...fields.values()]);
  toggle.addEventListener("click", () => {
    if (isWhole) {
      // back to fields only while they are the same members; each takes the value that stands in the text
      const read = whole.read();
      if (read === undefined) return whole.control.focus();
      for (const [name, it] of read) {
        const made = argumentField(name, it);
        if (fields.has(name)) fields.get(name).element.replaceWith(made.element);
        else byField.append(made.element);
        fields.set(name, made);
      }
      for (const name of [...fields.keys()].filter((name) => !read.has(name))) {
        fields.get(name).element.remove();
        fields.delete(name);
      }
    } else {
      const read = readFields();
      if (read === undefined) return;
      whole.control.value = write(read, "  ");
      whole.control.rows = Math.min(whole.control.value.split("\n").length, 14);
    }
    isWhole = !isWhole;
    show();
    controls()[0]?.control.focus();
  });
  show();
  return {
    element: el("div", {}, args.size > 0 && el("p.switch", {}, toggle), byField, byText),
    focus: () => controls()[0]?.control.focus(),
    focusError: () => controls().find((it) => it.control.getAttribute("aria-invalid"))?.control.focus(),
    read: () => (isWhole ? whole.read() : readFields()),
    /** Shows what the server says of arguments: at the field that it names, if it names one. */
    fail(problem) {
      const named = (finding) => String(finding.pointer ?? finding.path ?? "").split(/[/.[\]]/).find((part) => fields.has(part));
      let placed = false;
      for (const finding of problem.findings ?? []) {
        const name = named(finding);
        if (name === undefined || isWhole) continue;
        fields.get(name).fail(finding.message ?? "");
        placed = true;
      }
      if (!placed && isWhole) whole.fail(problem.detail ?? "");
      return placed || isWhole;
    },
  };
}

/** The form for an answer in the place of the function's: text, or JSON. */
export function resultForm() {
  const text = field("Text", area("", { rows: "4", spellcheck: "true" }), "The model gets it as the result of the function, which does not run.");
  const json = jsonField("Result as JSON", "", "The model gets it as the result of the function, which does not run.");
  json.control.rows = 6;
  let isText = true;
  const kinds = el("fieldset.kinds", {}, el("legend", {}, "Answer with"),
    [["text", "text"], ["json", "JSON"]].map(([value, name]) => el("label", {},
      el("input", { type: "radio", name: "result-kind", value, checked: value === "text", change: () => { isText = value === "text"; show(); } }), ` ${name}`)));
  const show = () => {
    text.element.hidden = !isText;
    json.element.hidden = isText;
  };
  show();
  text.read = () => {
    text.clear();
    if (text.control.value !== "") return text.control.value;
    text.fail("A text is expected.");
    return undefined;
  };
  const current = () => (isText ? text : json);
  return {
    element: el("div", {}, kinds, text.element, json.element),
    focus: () => current().control.focus(),
    focusError: () => current().control.focus(),
    read: () => current().read(),
    fail(problem) {
      current().fail(problem.detail ?? "");
      return true;
    },
  };
}

const OPERATIONS = {
  started: "The task began",
  input: "An input came",
  limits: "Limits were looked at",
  model_turn: "The model answered",
  turn: "The model had a turn",
  before: "A function was called",
  after: "A function has run",
  withdraw: "A call was taken back",
  execute: "A call was carried out",
  invoke: "A function was called and carried out",
  script: "A script was run",
  review: "A review was answered",
  resume: "A question was answered",
  event: "Something happened outside",
  output: "A response was ready",
  interrupt: "The task was interrupted",
  record: "Something was recorded",
  end: "The task was ended",
  policy: "An operator decided about the policy",
};

const VERDICTS = {
  allow: "allowed",
  block: "refused",
  lock_task: "task locked",
  suspend: "waits for a review",
  wait: "waits for other calls",
  terminate: "task ended",
  rejected: "rejected",
  invalid_input: "input refused",
  error: "failed",
  route: "routed",
  discard: "discarded",
};

/** An event of a task. */
export function happened(event) {
  const { decision } = event;
  const verdict = decision?.verdict;
  const by = decision?.decided_by;
  return el("li", { "data-version": event.version },
    el("p.line", {},
      el("span.op", {}, OPERATIONS[event.operation] ?? String(event.operation)),
      verdict && el(`span.verdict.${safe(String(verdict).replace("_", ""))}`, {}, VERDICTS[verdict] ?? String(verdict)),
      el("span.when", {}, time(event.at))),
    decision?.call !== null && decision?.call !== undefined && el("p.more-of", {}, "call ", el("code", {}, told(String(decision.call)))),
    by && el("p.more-of", {}, el("code", {}, told(`${by.path} at ${by.file}:${by.line}`))),
    decision?.message && el("p.more-of", {}, told(decision.message)));
}
