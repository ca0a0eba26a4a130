/**
 * Celador as WebAssembly, for browsers, workers and Node.
 *
 * In: the module (`celador.wasm` of this package, or `celador-authoring.wasm`), as bytes, compiled, or as a response that streams in. Out: what `@celador/core`
 * offers, with tasks in memory. Manifests are texts, as there are no files.
 */

import { type Celador, type Port, celador } from "@celador/api";

export * from "@celador/api";

/** What the module exports: `src/wasm/lib.rs`. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  room(length: number): number;
  answer(about: number): number;
  answer_at(): number;
  forget(about: number): void;
  hold_host(answers: number): number;
  reply_room(length: number): number;
}

/** The module, or where it comes from. */
export type ModuleSource = WebAssembly.Module | BufferSource | Response | Promise<Response>;

/** Loads the module. Each time gives an engine of its own, with tasks of its own. */
export async function celadorFrom(source: ModuleSource): Promise<Celador> {
  const given = await source;
  if (given instanceof WebAssembly.Module) return over(await WebAssembly.instantiate(given, imports));
  if (typeof Response !== "undefined" && given instanceof Response) {
    return over((await WebAssembly.instantiateStreaming(given, imports)).instance);
  }
  return over((await WebAssembly.instantiate(given as BufferSource, imports)).instance);
}

/** The same of a module that was compiled, at once: on the main thread of a browser, small modules only. */
export function celadorOf(module: WebAssembly.Module): Celador {
  return over(new WebAssembly.Instance(module, imports));
}

/** What the module asks of its host. It never runs before it is an instance, nor in two at once. */
let running: Exports | undefined;

/** What answers calls of functions of the program, by numbers of this package. Few: one for each set of policies that was loaded with some. */
const answering: ((name: string, args: string) => string)[] = [];

const imports: WebAssembly.Imports = {
  celador: {
    now: () => Date.now(),
    random(address: number, length: number): void {
      if (running !== undefined) crypto.getRandomValues(new Uint8Array(running.memory.buffer, address, length));
    },
    call(answers: number, nameAt: number, nameLength: number, argsAt: number, argsLength: number): number {
      const [module, answer] = [running, answering[answers]];
      if (module === undefined || answer === undefined) return 0;
      const text = (at: number, length: number) => DECODER.decode(new Uint8Array(module.memory.buffer, at, length));
      const reply = ENCODER.encode(answer(text(nameAt, nameLength), text(argsAt, argsLength)));
      // the function may have asked another module
      running = module;
      const at = module.reply_room(reply.length);
      new Uint8Array(module.memory.buffer, at, reply.length).set(reply);
      return 1;
    },
  },
};

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

function over({ exports }: WebAssembly.Instance): Celador {
  const module = exports as unknown as Exports;
  const port: Port = {
    ask(what, about, body) {
      running = module;
      const request = `${what} ${body}`;
      const bytes = ENCODER.encode(request);
      const at = module.room(bytes.length);
      new Uint8Array(module.memory.buffer, at, bytes.length).set(bytes);
      const length = module.answer(about);
      return DECODER.decode(new Uint8Array(module.memory.buffer, module.answer_at(), length));
    },
    host: (answer) => module.hold_host(answering.push(answer) - 1),
    forget: (about) => module.forget(about),
  };
  return celador(port);
}
