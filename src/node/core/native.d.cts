/** The addon of `src/node/lib.rs`. */
declare const native: {
  ask(what: string, about: number, body: string): string;
  askLater(what: string, about: number, body: string): Promise<string>;
  forget(about: number): void;
};
export = native;
