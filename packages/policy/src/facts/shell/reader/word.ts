import type { Node } from "web-tree-sitter";
import { assignedNames, type Part, type Word } from "../syntax.ts";
import type { Reader } from "./reader.ts";
import { readStatements } from "./statement.ts";

/** What a word of no quotes may be made of, to a shell. */
const PLAIN_WORD = /^(?:[^\s'"`$\\|&;()<>]|\\[\s\S])*$/;

/** Reads a word, in a command or in an expression. */
export function readWord(reader: Reader, node: Node): Word {
  return reader.deeper(() => readKind(reader, node), [computed(false)]);
}

function readKind(reader: Reader, node: Node): Word {
  switch (node.type) {
    case "command_name":
    case "translated_string":
      return reader
        .partsOf(node, "none")
        .flatMap((part) => (part.type === "$" ? [] : readWord(reader, part)));
    case "concatenation":
      return readConcatenation(reader, node);
    case "raw_string":
      return [rawString(reader, node)];
    case "ansi_c_string":
      return [ansiString(reader, node)];
    case "string":
      return readString(reader, node);
    case "simple_expansion":
    case "expansion":
      return [readExpansion(reader, node, false)];
    case "command_substitution":
      return [readOutput(reader, node, false)];
    case "process_substitution":
      return [readPipe(reader, node)];
    case "arithmetic_expansion":
      return [readArithmetic(reader, node, false)];
    case "array":
      return [
        {
          kind: "computed",
          inside: reader
            .partsOf(node, "lines")
            .filter((part) => part.isNamed)
            .flatMap((part) => arrayElement(readWord(reader, part))),
          quoted: false,
          arithmetic: false,
          array: true,
        },
      ];
    case "brace_expression":
      reader.partsOf(node, "none");
      return plainWord(reader, node);
    default:
      return plainWord(reader, node);
  }
}

/** An element of an array. The subscript of `[subscript]=value` is arithmetic, which evaluates what variables hold. */
function arrayElement(word: Word): Word {
  const [first] = word;
  if (first?.kind !== "text" || first.quoted || !first.text.startsWith("[")) return word;
  const end = word.findIndex((part) => part.kind !== "text");
  const leading = word.slice(0, end === -1 ? word.length : end);
  const start = leading.map((part) => (part.kind === "text" ? part.text : "")).join("");
  const subscript = /^\[([^\]]*)\]\+?=/.exec(start)?.[1];
  const evaluated = subscript === undefined ? word : [text(subscript, true)];
  return [{ kind: "computed", inside: evaluated, quoted: true, arithmetic: true }, ...word];
}

function readConcatenation(reader: Reader, node: Node): Word {
  const parts = reader.partsOf(node, "none");
  // `$"…"` is one string to a shell, and a dollar before a string to the parser.
  if (parts.some((part, at) => part.type === "$" && parts[at + 1]?.type === "string")) {
    reader.doubt("a text to be translated");
  }
  return parts.flatMap((part) => readWord(reader, part));
}

/** Words, numbers, operators that stand as words, patterns: text as it is, if a shell would cut it the same way. */
function plainWord(reader: Reader, node: Node): Word {
  const raw = reader.textOf(node);
  if (node.type === "$" && raw === "$") return [text("$", true)];
  if (node.type === "ERROR") reader.doubt("the command could not be understood");
  const isLeaf = node.childCount === 0 || node.type === "brace_expression";
  if (isLeaf && PLAIN_WORD.test(raw)) return unquotedText(raw);
  reader.doubt("a word that could not be understood");
  return [computed(false)];
}

function rawString(reader: Reader, node: Node): Part {
  const raw = reader.textOf(node);
  if (!/^'[^']*'$/.test(raw)) reader.doubt("quotes that do not match");
  return text(raw.slice(1, -1), true);
}

function ansiString(reader: Reader, node: Node): Part {
  const raw = reader.textOf(node);
  if (!/^\$'(?:[^'\\]|\\[\s\S])*'$/.test(raw)) reader.doubt("quotes that do not match");
  // A shell without this kind of quotes would end the text at that quote.
  if (/\\'/.test(raw)) reader.doubt("quotes that not every shell reads alike");
  const decoded = ansiText(raw.slice(2, -1));
  return decoded === undefined ? computed(true) : text(decoded, true);
}

/** A string's text is what lies between its expansions; the parser drops blanks there, so it is cut from the source. */
function readString(reader: Reader, node: Node): Word {
  const children = node.children;
  const first = children[0];
  const last = children.at(-1);
  if (first?.type !== '"' || last?.type !== '"' || reader.text[last.endIndex - 1] !== '"') {
    reader.doubt("quotes that do not match");
    return [computed(true)];
  }
  const parts: Part[] = [];
  let at = first.endIndex;
  const literal = (to: number): void => {
    const raw = reader.slice(at, to);
    if (/^(?:[^"`$\\]|\\[\s\S]|\$(?![({['"A-Za-z0-9_@*#?$!-]))*$/.test(raw))
      parts.push(text(quotedText(raw), true));
    else {
      reader.doubt("a quoted text that could not be understood");
      parts.push(computed(true));
    }
  };
  for (const child of children.slice(1, -1)) {
    if (child.type === "string_content" || child.type === "$") continue;
    const start = child.startIndex + (/^\s*/.exec(reader.textOf(child))?.[0].length ?? 0);
    literal(start);
    parts.push(quotedPart(reader, child));
    at = child.endIndex;
  }
  literal(last.endIndex - 1);
  const filled = parts.filter((part) => part.kind !== "text" || part.text !== "");
  return filled.length > 0 ? filled : [text("", true)];
}

function quotedPart(reader: Reader, node: Node): Part {
  if (node.type === "simple_expansion" || node.type === "expansion") return readExpansion(reader, node, true);
  if (node.type === "command_substitution") return readOutput(reader, node, true);
  if (node.type === "arithmetic_expansion") return readArithmetic(reader, node, true);
  reader.doubt("a quoted text that could not be understood");
  return computed(true);
}

/** A piece of which nothing is known. */
export function computed(quoted: boolean): Part {
  return { kind: "computed", inside: [], quoted, arithmetic: false };
}

/** `$name` and `${…}`. */
function readExpansion(reader: Reader, node: Node, quoted: boolean): Part {
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
  const named = assigns && name && isName ? [reader.textOf(name)] : [];
  const sets = hasSubscript ? [...named, ...assignedNames(reader.textOf(node))] : named;
  return { kind: "computed", inside: insideOf(reader, node), quoted, arithmetic: hasSubscript, sets };
}

/** `$((…))` and `$[…]`. */
function readArithmetic(reader: Reader, node: Node, quoted: boolean): Part {
  const sets = assignedNames(reader.textOf(node));
  return { kind: "computed", inside: insideOf(reader, node), quoted, arithmetic: true, sets, isNumber: true };
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
function readPipe(reader: Reader, node: Node): Part {
  return { kind: "pipe", body: readStatements(reader, node) };
}

/** `$(…)` and backticks. */
function readOutput(reader: Reader, node: Node, quoted: boolean): Part {
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
function unquotedText(raw: string): readonly Part[] {
  if (!raw.includes("\\")) return [text(raw, false)];
  const parts: Part[] = [];
  for (const [, escaped, plain] of raw.matchAll(/\\([\s\S])|([^\\]+)|\\$/g)) {
    if (plain !== undefined) parts.push(text(plain, false));
    else if (escaped === undefined) parts.push(text("\\", true));
    else if (escaped !== "\n") parts.push(text(escaped, true));
  }
  return parts;
}

/** What is between double quotes, or in a here-document. */
function quotedText(raw: string): string {
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

/** What is in `$'…'`; `undefined` when a shell would cut it short or make bytes that are no text. */
function ansiText(raw: string): string | undefined {
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
