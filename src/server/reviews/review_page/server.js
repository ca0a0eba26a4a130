// What the page asks of the server: addresses, the token, problems, and the stream of reviews.

import { parse, plain, write } from "./json.js";

/** The token stands here and nowhere else: it goes with the tab. */
const TOKEN = "celador.token";

/** Milliseconds before the stream is opened anew, and the most that they grow to. */
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 30000;

/** Milliseconds between two looks at the list where there is no stream, and without a byte of the stream before it counts as lost. */
const ASK_EVERY = 5000;
const SILENCE = 90000;

/** What was asked for was not done. `status` is 0 if no answer came. */
export class Refusal extends Error {
  constructor(status, detail, problem = {}) {
    super(detail);
    this.status = status;
    this.problem = problem;
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (text) => sessionStorage.setItem(TOKEN, text),
  forget: () => sessionStorage.removeItem(TOKEN),
};

/** An address of the server, beside that of the page. */
const address = (path) => new URL(path, document.baseURI);

function headers(more) {
  const known = token.get();
  return known ? { ...more, authorization: `Bearer ${known}` } : more;
}

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(address(path), {
      ...options,
      headers: headers(options.headers ?? {}),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The server cannot be reached.");
  }
  return response;
}

/** The JSON of an answer that says that it was done. */
async function done(response) {
  let text;
  try {
    text = await response.text();
  } catch {
    throw new Refusal(0, "The answer of the server broke off.");
  }
  let body;
  try {
    body = parse(text);
  } catch {
    body = new Map();
  }
  if (response.ok) return body;
  const problem = body instanceof Map ? plain(body) : {};
  throw new Refusal(response.status, problem.detail ?? problem.title ?? `The server answered with status ${response.status}.`, problem);
}

/** A review: words as JavaScript has them, arguments, result and message to the letter. */
export function review(map) {
  const whole = plain(map);
  whole.arguments = map.get("arguments") ?? null;
  whole.result = map.get("result") ?? null;
  whole.message = map.get("message") ?? null;
  whole.hasResult = map.get("result") !== null && map.has("result");
  return whole;
}

const query = (parameters) => {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
};

/** A page of reviews: `{reviews, next}`. */
export async function list(state, after) {
  const page = await done(await ask(`v1/reviews${query({ state, after })}`));
  return { reviews: (page.get("reviews") ?? []).map(review), next: plain(page.get("next") ?? null) };
}

/** One review. */
export async function read(id) {
  return review(await done(await ask(`v1/reviews/${encodeURIComponent(id)}`)));
}

/** Answers a review: `{review, decision}`. `answer` is a `Map`, whose arguments and result go to the letter. */
export async function answer(id, answer) {
  const response = await ask(`v1/reviews/${encodeURIComponent(id)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: write(answer),
  });
  const body = await done(response);
  const decision = plain(body.get("decision") ?? null);
  return { review: review(body.get("review")), decision: typeof decision === "string" ? decision : decision?.verdict, repeated: body.get("repeated") === true };
}

/** The events of a task behind one of them: `{events, next}`. */
export async function events(task, after) {
  return plain(await done(await ask(`v1/tasks/${encodeURIComponent(task)}/events${query({ after })}`)));
}

const pause = (time, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, time);
    signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });

/**
 * Follows the reviews until `signal` ends it. `tell.review(review)` for each that is asked or changes, `tell.link(state)` with
 * `live`, `asking` (no stream: the list is asked for again and again) or `lost`, `tell.again()` when the list has to be asked
 * for since something may have been missed, `tell.unknown()` when the server wants another token.
 */
export async function follow(tell, signal) {
  let last = null;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const opened = await stream(last, signal);
      failures = 0;
      tell.link("live");
      await tell.again();
      for await (const event of opened) {
        if (event.id !== null) last = event.id;
        if (event.name !== "review") continue;
        tell.review(review(parse(event.data)));
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refusal && error.status === 401) return tell.unknown();
    }
    if (signal.aborted) return;
    // a stream that ended is opened anew; meanwhile the list is asked for, as it is where there is no stream
    failures += 1;
    try {
      await tell.again();
      tell.link("asking");
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) return tell.unknown();
      tell.link("lost");
    }
    await pause(Math.min(failures < 3 ? FIRST_PAUSE * failures : ASK_EVERY, LONGEST_PAUSE), signal);
  }
}

/** The events of the stream, which is read by `fetch`, because an `EventSource` sends no token. */
async function stream(last, signal) {
  const ended = new AbortController();
  const end = () => ended.abort();
  signal.addEventListener("abort", end, { once: true });
  const more = last === null ? {} : { "last-event-id": last };
  const response = await ask("v1/reviews/stream", { headers: { accept: "text/event-stream", ...more }, signal: ended.signal });
  if (!response.ok) await done(response);
  return eventsOf(response.body, end);
}

/** Server-sent events of a body: lines, of which a blank one ends an event. */
async function* eventsOf(body, end) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let silence = setTimeout(end, SILENCE);
  let rest = "";
  let event = { name: "message", data: [], id: null };
  try {
    for (;;) {
      const { value, done: over } = await reader.read();
      if (over) return;
      clearTimeout(silence);
      silence = setTimeout(end, SILENCE);
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (event.data.length > 0) yield { ...event, data: event.data.join("\n") };
          event = { name: "message", data: [], id: null };
          continue;
        }
        const colon = line.indexOf(":");
        const name = colon < 0 ? line : line.slice(0, colon);
        const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
        if (name === "event") event.name = text;
        else if (name === "data") event.data.push(text);
        else if (name === "id") event.id = text;
      }
    }
  } finally {
    clearTimeout(silence);
    reader.cancel().catch(() => {});
  }
}
