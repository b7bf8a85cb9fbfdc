import { LruCache } from "@reins/kit";
import type { ParseText } from "./parser.ts";
import { Reader } from "./reader/reader.ts";
import { NOTHING, readStatement } from "./reader/statement.ts";
import type { Script } from "./syntax.ts";

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
