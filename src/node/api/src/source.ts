/** Manifests, policies and cases as a program gives them. */

/** A file, or a folder to be searched; or a text under a name. Where there are no files, texts alone. */
export type Source = string | { readonly name: string; readonly text: string };

/** One source, or several, as several. */
export function list(sources: Source | readonly Source[]): readonly Source[] {
  return Array.isArray(sources) ? (sources as readonly Source[]) : [sources as Source];
}
