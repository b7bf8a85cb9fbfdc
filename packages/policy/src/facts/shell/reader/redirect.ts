import type { Node } from "web-tree-sitter";
import type { Part, Redirect, Statement, Word } from "../syntax.ts";
import type { Reader } from "./reader.ts";
import { NOTHING, pipeline, readStatement, readUnknown } from "./statement.ts";
import { computed, readWord, text } from "./word.ts";

const OPERATORS = new Set(["<", ">", ">>", ">|", "&>", "&>>", "<&", ">&", "<&-", ">&-"]);

/** `> file` and its like. The parser takes words that follow for more targets; they are words of the command. */
export function readFileRedirect(reader: Reader, node: Node): { redirect: Redirect; rest: readonly Word[] } {
  checkDescriptor(reader, node);
  const parts = reader.partsOf(node, "line").filter((part) => part.type !== "file_descriptor");
  const [operator, target, ...rest] = parts;
  const known = operator !== undefined && OPERATORS.has(operator.type);
  const closes = operator?.type.endsWith("-") === true;
  if (!known || (target === undefined && !closes) || target?.type === "ERROR") {
    reader.doubt("a redirection that could not be understood");
  }
  let end = target?.endIndex ?? -1;
  for (const word of rest) {
    reader.checkApart(end, word.startIndex);
    end = word.endIndex;
  }
  return {
    redirect: {
      kind: "file",
      operator: operator ? reader.textOf(operator).trim() : "",
      target: target ? readWord(reader, target) : closes ? [] : [computed(true)],
    },
    rest: rest.map((word) => readWord(reader, word)),
  };
}

/** A word of digits, or a name in braces, right before a redirection is what it redirects. */
const DESCRIPTOR = /(?:^|[\s;&|()<>`]|\\\n)(?:\d+|\{\w+\})$/;
const LONGEST_DESCRIPTOR = 80;

/** Doubts a redirection whose descriptor the parser took for a word of the command, as it does behind a joined line. */
function checkDescriptor(reader: Reader, { startIndex }: Node): void {
  const before = reader.text.slice(Math.max(0, startIndex - LONGEST_DESCRIPTOR), startIndex);
  if (DESCRIPTOR.test(before)) reader.doubt("a descriptor that was taken for a word");
}

/** `<<< word`. */
export function readHereString(reader: Reader, node: Node): Redirect {
  checkDescriptor(reader, node);
  const words = reader
    .partsOf(node, "line")
    .filter((part) => part.isNamed && part.type !== "file_descriptor");
  return { kind: "text", text: words.flatMap((part) => readWord(reader, part)) };
}

/** `$(< file)`: a redirection without a command. */
export function readLoneRedirect(reader: Reader, node: Node): Statement {
  if (node.type === "herestring_redirect") {
    return { kind: "command", assignments: [], words: [], redirects: [readHereString(reader, node)] };
  }
  const { redirect, rest } = readFileRedirect(reader, node);
  return { kind: "command", assignments: [], words: rest, redirects: [redirect] };
}

/** A statement with redirections behind it. */
export function readRedirected(reader: Reader, node: Node): Statement {
  const redirects: Redirect[] = [];
  const words: Word[] = [];
  let body: Statement | undefined;
  let wrap = (inner: Statement): Statement => inner;
  for (const part of reader.partsOf(node, "line")) {
    if (part.type === "file_redirect") {
      const { redirect, rest } = readFileRedirect(reader, part);
      redirects.push(redirect);
      words.push(...rest);
    } else if (part.type === "herestring_redirect") redirects.push(readHereString(reader, part));
    else if (part.type === "heredoc_redirect") {
      const found = readHereDocument(reader, part);
      redirects.push(...found.redirects);
      words.push(...found.words);
      const after = wrap;
      wrap = (inner) => after(found.wrap(inner));
    } else if (body === undefined) body = readStatement(reader, part);
    else body = { kind: "sequence", statements: [body, readUnknown(reader, part)] };
  }
  return wrap(withRedirects(reader, body ?? NOTHING, words, redirects));
}

function withRedirects(
  reader: Reader,
  body: Statement,
  words: readonly Word[],
  redirects: readonly Redirect[],
): Statement {
  if (body === NOTHING && words.length === 0) return { kind: "command", assignments: [], words, redirects };
  if (body.kind === "command") {
    return { ...body, words: [...body.words, ...words], redirects: [...body.redirects, ...redirects] };
  }
  const innermost = lastCommand(body, words, redirects);
  if (innermost) return innermost;
  if (words.length > 0) reader.doubt("words after a redirection that belong to no command");
  return { kind: "redirected", body, redirects };
}

/** `a && b > f x`: the parser hangs the redirection on the whole list, a shell on the last command. */
function lastCommand(
  body: Statement,
  words: readonly Word[],
  redirects: readonly Redirect[],
): Statement | undefined {
  if (body.kind === "command") {
    return { ...body, words: [...body.words, ...words], redirects: [...body.redirects, ...redirects] };
  }
  if (body.kind === "list") {
    const second = lastCommand(body.second, words, redirects);
    return second && { ...body, second };
  }
  if (body.kind !== "pipeline") return undefined;
  const last = body.statements.at(-1);
  const changed = last && lastCommand(last, words, redirects);
  return changed && { ...body, statements: [...body.statements.slice(0, -1), changed] };
}

/** A here-document, and what else stood on its line, which the parser puts inside it. */
interface HereDocument {
  readonly redirects: readonly Redirect[];
  readonly words: readonly Word[];
  /** Puts the command into the pipeline or list that goes on after the here-document's mark. */
  readonly wrap: (command: Statement) => Statement;
}

/** `<<END … END`. The text is cut from the source by the shell's own rule, and the parser has to agree on its end. */
function readHereDocument(reader: Reader, node: Node): HereDocument {
  checkDescriptor(reader, node);
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
