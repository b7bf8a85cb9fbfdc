import type { Node } from "web-tree-sitter";
import type { Part, Redirect, Statement, Word } from "../syntax.ts";
import type { Reader } from "./reader.ts";
import { readFileRedirect, readHereString } from "./redirect.ts";
import { pipeline, readStatement } from "./statement.ts";
import { text } from "./text.ts";
import { computed, readWord } from "./word.ts";

/** A here-document, and what else stood on its line, which the parser puts inside it. */
export interface HereDocument {
  readonly redirects: readonly Redirect[];
  readonly words: readonly Word[];
  /** Puts the command into the pipeline or list that goes on after the here-document's mark. */
  readonly wrap: (command: Statement) => Statement;
}

/** `<<END … END`. The text is cut from the source by the shell's own rule, and the parser has to agree on its end. */
export function readHereDocument(reader: Reader, node: Node): HereDocument {
  const redirects: Redirect[] = [];
  const words: Word[] = [];
  const parts = node.children.filter((part) => part.type !== "comment");
  const start = parts.find((part) => part.type === "heredoc_start");
  const end = parts.find((part) => part.type === "heredoc_end");
  const operator = parts.find((part) => part.type === "<<" || part.type === "<<-");
  let wrap = (command: Statement): Statement => command;
  if (parts.some((part) => part.type === "ERROR" || part.isMissing) || !start || !end || !operator) {
    reader.doubt("a here-document that could not be understood");
  }
  if (start) redirects.push({ kind: "text", text: bodyOf(reader, start, end, operator?.type === "<<-") });
  const marks = new Set([
    "<<",
    "<<-",
    "heredoc_start",
    "heredoc_end",
    "heredoc_body",
    "file_descriptor",
    "&&",
    "||",
  ]);
  let at = start?.endIndex ?? node.startIndex;
  for (const part of parts) {
    if (
      start &&
      part.startIndex >= start.endIndex &&
      part.type !== "heredoc_body" &&
      part.type !== "heredoc_end"
    ) {
      reader.checkBlank(at, part.startIndex, "line");
      at = part.endIndex;
    }
    if (marks.has(part.type)) continue;
    if (part.type === "file_redirect") {
      const { redirect, rest } = readFileRedirect(reader, part);
      redirects.push(redirect);
      words.push(...rest);
    } else if (part.type === "herestring_redirect") redirects.push(readHereString(reader, part));
    else if (part.type === "pipeline") {
      const rest = pipeline(reader, part.children);
      wrap = (command) => ({ kind: "pipeline", statements: [command, rest] });
    } else if (/_statement$|command$|list|subshell/.test(part.type)) {
      const second = readStatement(reader, part);
      const needs = parts.some((other) => other.type === "&&");
      wrap = (command) => ({ kind: "list", first: command, second, needs });
    } else words.push(readWord(reader, part));
  }
  return { redirects, words, wrap };
}

function bodyOf(reader: Reader, start: Node, end: Node | undefined, stripsTabs: boolean): Word {
  const mark = reader.textOf(start).trim();
  const delimiter = mark.replace(/\\(.)/g, "$1").replace(/['"]/g, "");
  const isLiteral = /['"\\]/.test(mark);
  const lineEnd = reader.text.indexOf("\n", start.endIndex);
  if (lineEnd === -1 || !/^(?:[\w.!-]+|'[\w.! -]+'|"[\w.! -]+"|\\[\w.!-]+)$/.test(mark)) {
    reader.doubt("a here-document that could not be understood");
    return [computed(true)];
  }
  const lines: string[] = [];
  let at = lineEnd + 1;
  for (;;) {
    const next = reader.text.indexOf("\n", at);
    const line = reader.slice(at, next === -1 ? reader.text.length : next);
    const stripped = stripsTabs ? line.replace(/^\t+/, "") : line;
    if (stripped === delimiter) break;
    lines.push(`${stripped}\n`);
    if (next === -1) {
      reader.doubt("a here-document without an end");
      break;
    }
    at = next + 1;
  }
  const agreed =
    end && reader.textOf(end).trim() === delimiter && reader.slice(at, end.startIndex).trim() === "";
  if (!agreed) reader.doubt("a here-document that ends elsewhere for a shell");
  const body = lines.join("");
  return isLiteral ? [text(body, true)] : expandedBody(reader, body);
}

/** Without quotes around its mark, a here-document is read like a string, so that is what the parser is given. */
function expandedBody(reader: Reader, body: string): readonly Part[] {
  if (!/[$`]/.test(body)) return [text(body.replace(/\\(?:([\\])|\n)/g, "$1"), true)];
  const script = reader.readScript(`: "${body.replace(/(\\[\s\S])|"/g, (_, escaped) => escaped ?? '\\"')}"`);
  for (const why of script.unclear) reader.doubt(why);
  const [, word] = script.body.kind === "command" ? script.body.words : [];
  if (word) return word;
  reader.doubt("a here-document that could not be understood");
  return [computed(true)];
}
