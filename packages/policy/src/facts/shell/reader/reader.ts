import { createRequire } from "node:module";
import { LruCache } from "@reins/kit";
import type { Node, Parser, Tree } from "web-tree-sitter";
import type { Script } from "../syntax.ts";
import { NOTHING, readStatement } from "./statement.ts";

/** Gives the tree of a text, which its caller deletes; `undefined` when the parser gave up, or has broken. */
export type ParseText = (text: string) => Tree | undefined;

/** An honest command takes a tenth of a millisecond. Some hostile ones would take minutes. */
const DEADLINE_MS = 100;

/**
 * What parsing may take, in pages of 64 KiB. Honest commands need a tenth of it; some hostile ones would take two
 * gigabytes and seconds in which no deadline is looked at.
 */
const MEMORY = { initial: 512, maximum: 1_024 };

/** Of the types of the web, this is all that is used. */
declare const WebAssembly: { readonly Memory: new (pages: typeof MEMORY) => object };

let loading: Promise<ParseText> | undefined;

/**
 * The parser, loaded at the first call. Callers get it for each action anew: one that broke inside of its WebAssembly
 * parses nothing more, because its memory may hold anything, and the next call loads another.
 */
export function shellParser(): Promise<ParseText> {
  loading ??= load();
  return loading;
}

async function load(): Promise<ParseText> {
  const { Language, Parser } = freshLibrary();
  await Parser.init({ wasmMemory: new WebAssembly.Memory(MEMORY) });
  const language = await Language.load(require.resolve("tree-sitter-bash/tree-sitter-bash.wasm"));
  let parser = new Parser().setLanguage(language);
  let isBroken = false;
  return (text) => {
    if (isBroken) return undefined;
    const began = performance.now();
    const isLate = (): boolean => performance.now() - began > DEADLINE_MS;
    try {
      const tree = parser.parse(text, undefined, { progressCallback: isLate });
      if (tree !== null) return tree;
      parser.delete();
      parser = new Parser().setLanguage(language);
    } catch {
      isBroken = true;
      loading = undefined;
      discard(parser);
    }
    return undefined;
  };
}

const require = createRequire(import.meta.url);

/** The library with a WebAssembly instance of its own. It keeps one for as long as its module is loaded. */
function freshLibrary(): typeof import("web-tree-sitter") {
  const path = require.resolve("web-tree-sitter");
  delete require.cache[path];
  return require(path);
}

/** Takes a broken parser from the library's finalizers, which would fail in its memory some time later. */
function discard(parser: Parser): void {
  try {
    parser.delete();
  } catch {
    // It is no longer registered, which comes first; there is nothing to free in memory that goes as a whole.
  }
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
  // What a parser gave up on, another may parse.
  if (script !== GIVEN_UP) known.set(text, script, text.length + 200);
  return script;
}

function read(text: string, parse: ParseText): Script {
  if (text.length > LENGTH_LIMIT) return unreadable("the command is too long to be read");
  const reader = new Reader(text, parse, (inner) => read(inner, parse));
  if (UNSEEN.test(text)) reader.doubt("the command holds control characters");
  const tree = parse(text);
  if (!tree) return GIVEN_UP;
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

const GIVEN_UP = unreadable("the command could not be read in time");

/** Deeper than anybody writes by hand. */
const DEPTH_LIMIT = 100;

/**
 * The text that is being read, and what was found unclear in it. The parser is good but not a shell: it skips blanks
 * that a shell does not take for blanks, and now and then cuts words elsewhere. So whatever it says is checked against
 * the text, and where the two do not fit, the reading goes on (what is dangerous shall still be seen) but is unclear.
 */
export class Reader {
  readonly text: string;
  readonly parse: ParseText;
  /** Reads another text as a script: the inside of backticks. */
  readonly readScript: (text: string) => Script;
  readonly #unclear = new Set<string>();
  #depth = 0;

  constructor(text: string, parse: ParseText, readScript: (text: string) => Script) {
    this.text = text;
    this.parse = parse;
    this.readScript = readScript;
  }

  get unclear(): readonly string[] {
    return [...this.#unclear];
  }

  doubt(why: string): void {
    this.#unclear.add(why);
  }

  slice(from: number, to: number): string {
    return this.text.slice(from, to);
  }

  textOf(node: Node): string {
    return this.text.slice(node.startIndex, node.endIndex);
  }

  /** Reads what is nested, unless it is nested too deep. */
  deeper<T>(read: () => T, otherwise: T): T {
    if (this.#depth >= DEPTH_LIMIT) {
      this.doubt("the command is nested too deep");
      return otherwise;
    }
    this.#depth += 1;
    try {
      return read();
    } finally {
      this.#depth -= 1;
    }
  }

  /** The parts of a node without comments. What lies between them has to be blank, to a shell too. */
  partsOf(node: Node, blanks: "none" | "line" | "lines"): readonly Node[] {
    const kept: Node[] = [];
    let at = node.startIndex;
    for (const child of node.children) {
      this.checkBlank(at, child.startIndex, blanks);
      if (child.isMissing) this.doubt("the command is not complete");
      if (child.type === "comment") this.#checkComment(child);
      else kept.push(child);
      at = child.endIndex;
    }
    if (kept.length > 0) this.checkBlank(at, node.endIndex, blanks);
    return kept;
  }

  checkBlank(from: number, to: number, blanks: "none" | "line" | "lines"): void {
    if (from >= to) return;
    const between = this.slice(from, to).replaceAll("\\\n", "");
    const fits = blanks === "lines" ? /^[ \t\n]*$/ : blanks === "line" ? /^[ \t]*$/ : /^$/;
    if (!fits.test(between)) this.doubt("the command could not be read without gaps");
  }

  /** Two words with nothing between them, save a line's continuation, are one word to a shell. */
  checkApart(left: number, right: number): void {
    if (left >= 0 && this.slice(left, right).replaceAll("\\\n", "") === "") this.doubt("words that touch");
  }

  /** A shell starts a comment only where a word could start. */
  #checkComment(node: Node): void {
    let at = node.startIndex;
    while (this.text.startsWith("\\\n", at - 2) && at >= 2) at -= 2;
    if (at > 0 && !/[ \t\n;&|(]/.test(this.text[at - 1] ?? ""))
      this.doubt("a # that does not start a comment");
    if (this.textOf(node).includes("\n")) this.doubt("a comment of several lines");
  }
}
