import type { Node } from "web-tree-sitter";
import type { Part } from "../syntax.ts";
import type { Reader } from "./reader.ts";
import { readStatements } from "./statement.ts";
import { readWord } from "./word.ts";

/** `$name` and `${…}`. */
export function readExpansion(reader: Reader, node: Node, quoted: boolean): Part {
  const parts = reader.partsOf(node, "none");
  const name = parts[1];
  const isName = name?.type === "variable_name" || name?.type === "special_variable_name";
  const isPlain = node.type === "simple_expansion" ? parts.length === 2 : parts.length === 3;
  if (isPlain && name && isName) return { kind: "variable", name: reader.textOf(name), quoted };
  if (parts.some((part) => part.type === "@"))
    reader.doubt("a variable that is transformed, which may run what is in it");
  if (
    parts.some((part) => part.type === "!") &&
    !/^\$\{!\w+(?:[@*]|\[[@*]\])\}$/.test(reader.textOf(node).trim())
  )
    reader.doubt("a variable that another one names");
  const isAll = (part: Node): boolean => /\[[@*]\]$/.test(reader.textOf(part));
  const hasSubscript = parts.some((part) => (part.type === "subscript" && !isAll(part)) || part.type === ":");
  const assigns = parts.some((part) => part.type === "=" || part.type === ":=");
  const sets = assigns && name && isName ? reader.textOf(name) : undefined;
  return { kind: "computed", inside: insideOf(reader, node), quoted, arithmetic: hasSubscript, sets };
}

/** `$((…))` and `$[…]`. */
export function readArithmetic(reader: Reader, node: Node, quoted: boolean): Part {
  return { kind: "computed", inside: insideOf(reader, node), quoted, arithmetic: true };
}

/** Everything inside an expression that is computed or run. */
export function insideOf(reader: Reader, node: Node): readonly Part[] {
  return reader.deeper(() => reader.partsOf(node, "lines").flatMap((part) => insidePart(reader, part)), []);
}

const WORDS = new Set([
  "string",
  "raw_string",
  "ansi_c_string",
  "translated_string",
  "simple_expansion",
  "expansion",
  "command_substitution",
  "process_substitution",
  "arithmetic_expansion",
  "concatenation",
  "word",
  "number",
  "brace_expression",
]);

function insidePart(reader: Reader, part: Node): readonly Part[] {
  if (part.type === "variable_name" || part.type === "special_variable_name") {
    return [{ kind: "variable", name: reader.textOf(part), quoted: true }];
  }
  if (WORDS.has(part.type)) return readWord(reader, part);
  if (part.childCount > 0) {
    if (part.type === "ERROR") reader.doubt("the command could not be understood");
    if (
      part.type === "subshell" ||
      part.type === "compound_statement" ||
      part.type === "redirected_statement"
    ) {
      reader.doubt("an expression that could not be understood");
      return [{ kind: "output", body: readStatements(reader, part), quoted: true }];
    }
    return insideOf(reader, part);
  }
  const isToken = !part.isNamed && reader.textOf(part).trim() === part.type;
  if (!isToken && /\$[({[]|`|[<>]\(/.test(reader.textOf(part))) {
    reader.doubt("an expression that could not be understood");
  }
  return [];
}

/** `<(…)` and `>(…)`. */
export function readPipe(reader: Reader, node: Node): Part {
  return { kind: "pipe", body: readStatements(reader, node) };
}

/** `$(…)` and backticks. */
export function readOutput(reader: Reader, node: Node, quoted: boolean): Part {
  const raw = reader.textOf(node).trimStart();
  if (!raw.startsWith("`")) return { kind: "output", body: readStatements(reader, node), quoted };
  // Inside backticks a shell first takes one layer of backslashes off, then starts anew; a # does not reach past the end.
  const inside = /^`((?:[^`\\]|\\[\s\S])*)`$/.exec(raw)?.[1];
  if (inside === undefined) reader.doubt("backticks that do not match");
  const escaped = quoted ? /\\([$`\\"])/g : /\\([$`\\])/g;
  const script = reader.readScript((inside ?? raw.slice(1)).replace(escaped, "$1"));
  for (const why of script.unclear) reader.doubt(why);
  return { kind: "output", body: script.body, quoted };
}

/** A piece of literal text. */
export function text(text: string, quoted: boolean): Part {
  return { kind: "text", text, quoted };
}

/** An unquoted word: backslashes quote the character after them, and vanish with a line's end. */
export function unquotedText(raw: string): readonly Part[] {
  if (!raw.includes("\\")) return [text(raw, false)];
  const parts: Part[] = [];
  for (const [, escaped, plain] of raw.matchAll(/\\([\s\S])|([^\\]+)|\\$/g)) {
    if (plain !== undefined) parts.push(text(plain, false));
    else if (escaped === undefined) parts.push(text("\\", true));
    else if (escaped !== "\n") parts.push(text(escaped, true));
  }
  return parts;
}

/** What stands between double quotes, or in a here-document. */
export function quotedText(raw: string): string {
  return raw.includes("\\") ? raw.replace(/\\(?:([$`"\\])|\n)/g, "$1") : raw;
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "?": "?",
};

const ESCAPE =
  /\\(?:([abeEfnrtv\\'"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c([\s\S]))/g;

/** What stands in `$'…'`; `undefined` when a shell would cut it short or make bytes that are no text. */
export function ansiText(raw: string): string | undefined {
  let isText = true;
  const decoded = raw.replace(ESCAPE, (_, simple, octal, hex, short, long, control) => {
    if (simple !== undefined) return ESCAPES[simple] ?? "";
    if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) & 0x1f);
    const code =
      octal === undefined ? Number.parseInt(hex ?? short ?? long, 16) : Number.parseInt(octal, 8) & 255;
    // Bytes above 127 are parts of characters, which we do not put together.
    if (code === 0 || code > 0x10ffff || ((octal ?? hex) !== undefined && code > 127)) isText = false;
    return isText ? String.fromCodePoint(code) : "";
  });
  return isText && !decoded.includes("\0") ? decoded : undefined;
}
