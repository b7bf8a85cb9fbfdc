import { createRequire } from "node:module";
import { LruCache } from "@reins/kit";
import type { Tree } from "web-tree-sitter";
import { Reader } from "./reader/reader.ts";
import { NOTHING, readStatement } from "./reader/statement.ts";
import type { Script } from "./syntax.ts";

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

/** Longer commands are not read. */
const LENGTH_LIMIT = 64 * 1_024;

/** What a shell takes for neither blank nor letter, and people do not see. */
const UNSEEN = /(?![\t\n])\p{Cc}|\p{Cs}/u;

/** Counted in characters of text. The syntax tree of a script of short commands needs at most 200 bytes for each. */
const known = new LruCache<string, Script>({ entries: 1_000, size: 256 * 1_024 });

/** Reads a command line. The same text is read once, as long as it is not forgotten. */
export function readScript(text: string, parse: ParseText): Script {
  const before = known.get(text);
  if (before) return before;
  const script = read(text, parse);
  known.set(text, script, text.length + 200);
  return script;
}

function read(text: string, parse: ParseText): Script {
  if (text.length > LENGTH_LIMIT) return unreadable("the command is too long to be read");
  const reader = new Reader(text, parse, (inner) => read(inner, parse));
  if (UNSEEN.test(text)) reader.doubt("the command holds control characters");
  const tree = parse(text);
  if (!tree) return unreadable("the command could not be read in time");
  try {
    const root = tree.rootNode;
    reader.checkBlank(0, root.startIndex, "lines");
    reader.checkBlank(root.endIndex, text.length, "lines");
    if (root.hasError) reader.doubt("the command is not correct, or not understood");
    const body = readStatement(reader, root);
    return { body, unclear: reader.unclear };
  } finally {
    tree.delete();
  }
}

function unreadable(why: string): Script {
  return { body: NOTHING, unclear: [why] };
}
