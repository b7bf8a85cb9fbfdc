import type { Node } from "web-tree-sitter";
import type { Redirect, Statement, Word } from "../syntax.ts";
import { readHereDocument } from "./here-document.ts";
import type { Reader } from "./reader.ts";
import { NOTHING, readStatement, readUnknown } from "./statement.ts";
import { computed, readWord } from "./word.ts";

const OPERATORS = new Set(["<", ">", ">>", ">|", "&>", "&>>", "<&", ">&", "<&-", ">&-"]);

/** `> file` and its like. The parser takes words that follow for more targets; they are words of the command. */
export function readFileRedirect(reader: Reader, node: Node): { redirect: Redirect; rest: readonly Word[] } {
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

/** `<<< word`. */
export function readHereString(reader: Reader, node: Node): Redirect {
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
