/**
 * The way to the engine: requests and answers as texts of JSON, whether the engine is an addon of Node, a WebAssembly module or
 * behind a thread that waits for a database.
 *
 * In: what is asked, the handle of what it is about, a body. Out: the answer, or an error as one of the classes of `errors`. The
 * names and bodies are those of `src/embed/texts.rs`.
 */

import { CeladorError, type Diagnostic, InternalError, LoadError, MisuseError, StoreError } from "./errors.js";

/** Something that is there, or a promise of it. */
export type Awaitable<T> = T | Promise<T>;

/** Where a task is kept. */
export type Place = "memory" | "store" | "server";

/** What an addon or a module gives. Answers are JSON: the answer itself, or an object with `error`. */
export interface Port {
  /** Answers at once. */
  ask(what: string, about: number, body: string): string;
  /** Answers when a store or server has; missing where there are none. */
  askLater?(what: string, about: number, body: string): Promise<string>;
  /** Holds what answers calls of functions of the program, by name and a list of arguments as JSON; its handle. Missing where none are called. */
  host?(answer: (name: string, args: string) => string): number;
  /** Forgets a handle. */
  forget(about: number): void;
}

/** Goes on with something, whether it is there or promised. */
export function then<T, U>(value: Awaitable<T>, next: (value: T) => U): Awaitable<Awaited<U>> {
  return (value instanceof Promise ? value.then(next) : next(value)) as Awaitable<Awaited<U>>;
}

/** A port with what is needed around it: errors that are thrown, handles that go with their objects, and who waits for a change. */
export class Desk {
  readonly #port: Port;
  readonly #handles: FinalizationRegistry<number>;
  readonly #waiting = new Set<() => void>();

  constructor(port: Port) {
    this.#port = port;
    this.#handles = new FinalizationRegistry((handle) => port.forget(handle));
  }

  /** Asks; with `later` on another thread, and the answer is a promise then. */
  ask<T>(what: string, about: number, body: object, later = false): Awaitable<T> {
    const text = JSON.stringify(body);
    if (!later) return read<T>(this.#port.ask(what, about, text));
    if (this.#port.askLater === undefined) throw new MisuseError("no_stores", "tasks are in memory alone here");
    return this.#port.askLater(what, about, text).then(read<T>);
  }

  /** Asks at once. */
  now<T>(what: string, about: number, body: object): T {
    return read<T>(this.#port.ask(what, about, JSON.stringify(body)));
  }

  /** Holds what answers calls of functions of the program; its handle. */
  host(answer: (name: string, args: string) => string): number {
    if (this.#port.host === undefined) throw new MisuseError("no_functions", "policies call no functions of the program here");
    return this.#port.host(answer);
  }

  /** Lets a handle go at once. */
  forget(handle: number): void {
    this.#port.forget(handle);
  }

  /** Lets a handle go with this object. */
  keep(object: object, handle: number): void {
    this.#handles.register(object, handle);
  }

  /** Tells those who wait that a task has changed. */
  changed(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** The next change of any task in this process; at the latest so many milliseconds later, as reviews and calls that wait expire. */
  change(most: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, most);
      this.#waiting.add(wake);
    });
  }
}

interface Failure {
  kind: "load" | "misuse" | "store" | "internal";
  code: string;
  message: string;
  diagnostics?: Diagnostic[];
}

function read<T>(text: string): T {
  const answer = JSON.parse(text) as T & { error?: Failure };
  if (answer?.error !== undefined) throw error(answer.error);
  return answer;
}

function error({ kind, code, message, diagnostics }: Failure): CeladorError {
  switch (kind) {
    case "load":
      return new LoadError(code, message, diagnostics);
    case "misuse":
      return new MisuseError(code, message);
    case "store":
      return new StoreError(code, message);
    default:
      return new InternalError(code, message);
  }
}
