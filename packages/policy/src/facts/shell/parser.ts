import { createRequire } from "node:module";
import type { Tree } from "web-tree-sitter";

/** Gives the tree of a text, which its caller deletes; `undefined` when the parser gave up. */
export type ParseText = (text: string) => Tree | undefined;

/** An honest command takes a tenth of a millisecond. Some hostile ones would take minutes. */
const DEADLINE_MS = 100;

let loading: Promise<ParseText> | undefined;

/** The parser, loaded at the first call. */
export function shellParser(): Promise<ParseText> {
  loading ??= load();
  return loading;
}

async function load(): Promise<ParseText> {
  const { Language, Parser } = await import("web-tree-sitter");
  await Parser.init();
  const grammar = createRequire(import.meta.url).resolve("tree-sitter-bash/tree-sitter-bash.wasm");
  const language = await Language.load(grammar);
  let parser = new Parser().setLanguage(language);
  return (text) => {
    const began = performance.now();
    const isLate = (): boolean => performance.now() - began > DEADLINE_MS;
    try {
      const tree = parser.parse(text, undefined, { progressCallback: isLate });
      if (tree !== null) return tree;
      parser.delete();
    } catch {
      // A fault inside the WebAssembly: the parser is in no state to go on with, nor to be deleted.
    }
    parser = new Parser().setLanguage(language);
    return undefined;
  };
}
