// Comes first in whatever runs from a bundle: leads the places in stack traces back to the sources. The maps are read
// when there is a stack to show, because Node would read them all at every start.
import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { stackText } from "./stack-text.ts";

const folder = new URL(".", import.meta.url);
const maps = new Map<string, SourceMap | undefined>();

Error.prepareStackTrace = (error, frames) => stackText(error, frames, folder.href, mapOf);

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(new URL(`${file}.map`, folder)));
  return maps.get(file);
}

function readMap(path: URL): SourceMap | undefined {
  return existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, "utf8"))) : undefined;
}
