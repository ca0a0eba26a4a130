/** The addon of `src/node/lib.rs`. */
declare const native: {
  ask(what: string, about: number, body: string): string;
  askLater(what: string, about: number, body: string): Promise<string>;
  host(answer: (name: string, args: string) => string): number;
  forget(about: number): void;
};
export = native;
