import type { Node } from "web-tree-sitter";
import type { Statement, Word } from "../syntax.ts";
import { insideOf } from "./expansion.ts";
import type { Reader } from "./reader.ts";
import { NOTHING, readStatements, readUnknown, sequence } from "./statement.ts";
import { readWord } from "./word.ts";

/** `if … then … elif … else … fi`. */
export function readIf(reader: Reader, node: Node): Statement {
  const tests: Statement[] = [];
  const bodies: Statement[] = [];
  const clause = (owner: Node): void => {
    const parts = reader.partsOf(owner, "lines");
    const then = parts.findIndex((part) => part.type === "then");
    const isElse = owner.type === "else_clause";
    if (then === -1 && !isElse) reader.doubt("the command could not be understood");
    const own = parts.filter((part) => part.type !== "elif_clause" && part.type !== "else_clause");
    tests.push(isElse ? NOTHING : sequence(reader, own.slice(0, Math.max(then, 0))));
    bodies.push(sequence(reader, own.slice(isElse ? 0 : then + 1)));
    for (const part of parts) {
      if (part.type === "elif_clause" || part.type === "else_clause") clause(part);
    }
  };
  clause(node);
  return { kind: "branch", tests, bodies };
}

/** `while` and `until`. */
export function readWhile(reader: Reader, node: Node): Statement {
  const parts = reader.partsOf(node, "lines");
  const body = parts.find((part) => part.type === "do_group");
  const test = parts.filter((part) => part !== body);
  return {
    kind: "loop",
    variable: undefined,
    values: [],
    test: sequence(reader, test),
    body: body ? readStatements(reader, body) : NOTHING,
  };
}

/** `for name in words`, `select`, and `for ((…))`. */
export function readFor(reader: Reader, node: Node): Statement {
  const parts = reader.partsOf(node, "lines");
  const body = parts.find((part) => part.type === "do_group" || part.type === "compound_statement");
  const statements = body ? readStatements(reader, body) : NOTHING;
  if (node.type === "c_style_for_statement") {
    const inside = parts.filter((part) => part !== body).flatMap((part) => insideOf(reader, part));
    const test: Statement = { kind: "test", words: [inside], arithmetic: true };
    return { kind: "loop", variable: undefined, values: [], test, body: statements };
  }
  const name = parts.find((part) => part.type === "variable_name");
  const values = parts.filter((part) => part.isNamed && part !== name && part !== body);
  let end = -1;
  for (const value of values) {
    reader.checkApart(end, value.startIndex);
    end = value.endIndex;
  }
  const hasWords = parts.some((part) => part.type === "in");
  return {
    kind: "loop",
    variable: name ? reader.textOf(name) : "",
    // Without `in`, a loop runs over the arguments.
    values: hasWords
      ? values.map((part) => readWord(reader, part))
      : [[{ kind: "variable", name: "@", quoted: true }]],
    test: undefined,
    body: statements,
  };
}

/** `case word in pattern) … ;; esac`. Patterns are expanded too. */
export function readCase(reader: Reader, node: Node): Statement {
  const tests: Statement[] = [];
  const bodies: Statement[] = [];
  for (const part of reader.partsOf(node, "lines")) {
    if (!part.isNamed) continue;
    if (part.type !== "case_item") {
      if (part.type === "ERROR") tests.push(readUnknown(reader, part));
      else tests.push({ kind: "test", words: [readWord(reader, part)], arithmetic: false });
      continue;
    }
    const items = reader.partsOf(part, "lines");
    const close = items.findIndex((item) => item.type === ")");
    if (close === -1) reader.doubt("the command could not be understood");
    for (const item of items.slice(0, close)) {
      if (!item.isNamed) continue;
      const inside = item.type === "extglob_pattern" ? patternParts(reader, item) : readWord(reader, item);
      tests.push({ kind: "test", words: [inside], arithmetic: false });
    }
    const body = items.slice(close + 1).filter((item) => !/^;[;&]&?$/.test(item.type));
    bodies.push(sequence(reader, body));
  }
  return { kind: "branch", tests, bodies: [...bodies, NOTHING] };
}

function patternParts(reader: Reader, item: Node): Word {
  if (/[$`'"\\()]/.test(reader.textOf(item))) reader.doubt("a pattern that could not be understood");
  return [];
}
