import type { Node } from "web-tree-sitter";
import type { Part, Word } from "../syntax.ts";
import {
  ansiText,
  quotedText,
  readArithmetic,
  readExpansion,
  readOutput,
  readPipe,
  text,
  unquotedText,
} from "./expansion.ts";
import type { Reader } from "./reader.ts";

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
