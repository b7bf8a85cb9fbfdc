import type { SourceMap } from "node:module";

/** Where a file of a bundle leads back to the sources. */
export type FindMap = (file: string) => Pick<SourceMap, "findEntry"> | undefined;

/** A stack as it reads when no bundle is in between; `folder` is the address of the bundle, with a slash at its end. */
export function stackText(error: object, frames: readonly object[], folder: string, find: FindMap): string {
  const lines = frames.map((frame) => `\n    at ${frame}`);
  return Error.prototype.toString.call(error) + lines.map((line) => toSource(line, folder, find)).join("");
}

function toSource(line: string, folder: string, find: FindMap): string {
  const begin = line.indexOf(folder);
  if (begin < 0) return line;
  const [place, file = "", row, column] =
    /^([^/:]+):(\d+):(\d+)/.exec(line.slice(begin + folder.length)) ?? [];
  const entry = place && find(file)?.findEntry(Number(row) - 1, Number(column) - 1);
  if (!entry || !("originalSource" in entry)) return line;
  const source = new URL(entry.originalSource, folder).href;
  const found = `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  return line.slice(0, begin) + found + line.slice(begin + folder.length + place.length);
}
