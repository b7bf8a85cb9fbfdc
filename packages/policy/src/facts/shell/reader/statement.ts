import type { Node } from "web-tree-sitter";
import { assignedNames, type Redirect, type ShellAssignment, type Statement, type Word } from "../syntax.ts";
import type { Reader } from "./reader.ts";
import { readFileRedirect, readHereString, readLoneRedirect, readRedirected } from "./redirect.ts";
import { insideOf, readWord } from "./word.ts";

/** A statement that does nothing. */
export const NOTHING: Statement = { kind: "sequence", statements: [] };

/** Tokens that only frame or separate statements. */
const FRAME = new Set([
  ..."; & ( ) { } $( ` <( >( do done then else elif fi if while until in esac case".split(" "),
  "\n",
]);

/** Reads the statements that a node holds, one after another. */
export function readStatements(reader: Reader, node: Node): Statement {
  return reader.deeper(() => sequence(reader, reader.partsOf(node, "lines")), NOTHING);
}

/** Makes a sequence of nodes, of which some are only separators. `&` sends what precedes it to the background. */
function sequence(reader: Reader, nodes: readonly Node[]): Statement {
  const statements: Statement[] = [];
  let previous: Node | undefined;
  for (const node of nodes) {
    if (!node.isNamed && FRAME.has(node.type)) {
      const last = statements.at(-1);
      if (node.type === "&" && last) statements[statements.length - 1] = { kind: "subshell", body: last };
      previous = undefined;
      continue;
    }
    if (previous && !reader.slice(previous.endIndex, node.startIndex).includes("\n")) {
      reader.doubt("commands without a separator between them");
    }
    statements.push(readStatement(reader, node));
    previous = node;
  }
  const [only] = statements;
  return statements.length === 1 && only ? only : { kind: "sequence", statements };
}

/** Reads one statement. What is not understood makes the whole text unclear, and what is inside it is read all the same. */
export function readStatement(reader: Reader, node: Node): Statement {
  return reader.deeper(() => readKind(reader, node), NOTHING);
}

function readKind(reader: Reader, node: Node): Statement {
  switch (node.type) {
    case "command":
      return readCommand(reader, node);
    case "redirected_statement":
      return readRedirected(reader, node);
    case "file_redirect":
    case "herestring_redirect":
      return readLoneRedirect(reader, node);
    case "variable_assignment":
      return { kind: "command", assignments: [readAssignment(reader, node)], words: [], redirects: [] };
    case "variable_assignments":
      return {
        kind: "command",
        assignments: reader.partsOf(node, "line").map((part) => readAssignment(reader, part)),
        words: [],
        redirects: [],
      };
    case "declaration_command":
    case "unset_command":
      return readDeclaration(reader, node);
    case "test_command":
      return readTest(reader, node);
    case "list":
      return readList(reader, node);
    case "pipeline":
      return pipeline(reader, reader.partsOf(node, "lines"));
    case "negated_command":
      return {
        kind: "negation",
        body: sequence(
          reader,
          reader.partsOf(node, "line").filter((part) => part.type !== "!"),
        ),
      };
    case "subshell":
      return { kind: "subshell", body: readStatements(reader, node) };
    case "compound_statement":
      return node.firstChild?.type === "((" ? readTest(reader, node) : readStatements(reader, node);
    case "if_statement":
      return readIf(reader, node);
    case "while_statement":
      return readWhile(reader, node);
    case "for_statement":
    case "c_style_for_statement":
      return readFor(reader, node);
    case "case_statement":
      return readCase(reader, node);
    case "function_definition":
      return readFunction(reader, node);
    case "do_group":
    case "program":
      return readStatements(reader, node);
    default:
      return readUnknown(reader, node);
  }
}

/** A pipeline's parts, `|` and `|&` between them. */
export function pipeline(reader: Reader, nodes: readonly Node[]): Statement {
  const statements = nodes.filter((part) => part.isNamed).map((part) => readStatement(reader, part));
  return { kind: "pipeline", statements };
}

function readList(reader: Reader, node: Node): Statement {
  const parts = reader.partsOf(node, "lines");
  const [first, operator, second] = parts;
  if (parts.length !== 3 || !first || !second || (operator?.type !== "&&" && operator?.type !== "||")) {
    return readUnknown(reader, node);
  }
  return {
    kind: "list",
    first: readStatement(reader, first),
    second: readStatement(reader, second),
    needs: operator.type === "&&",
  };
}

const ARITHMETIC_TEST = /^-(?:eq|ne|lt|le|gt|ge|v|R)$/;

function readTest(reader: Reader, node: Node): Statement {
  const opening = node.firstChild?.type ?? "";
  const words = [insideOf(reader, node)];
  // To a shell `[` is a command like any other, and ends with its line.
  if (opening === "[" && reader.textOf(node).replaceAll("\\\n", "").includes("\n")) {
    reader.doubt("a test of several lines");
  }
  const hasOperator = (part: Node): boolean =>
    part.childCount === 0
      ? part.type === "test_operator" && ARITHMETIC_TEST.test(reader.textOf(part).trim())
      : part.children.some(hasOperator);
  const sets = opening === "((" ? assignedNames(reader.textOf(node)) : [];
  return { kind: "test", words, arithmetic: opening === "((" || hasOperator(node), sets };
}

function readFunction(reader: Reader, node: Node): Statement {
  const parts = reader.partsOf(node, "lines");
  const name = parts.find((part) => part.type === "word");
  const rest = parts.filter((part) => part.isNamed && part !== name);
  if (!name) reader.doubt("a function without a name");
  const redirected = rest.some((part) => part.type.endsWith("_redirect"));
  if (redirected) reader.doubt("a function with a redirection");
  const bodies = rest.filter((part) => !part.type.endsWith("_redirect"));
  return {
    kind: "function",
    name: name ? reader.textOf(name).replaceAll("\\", "") : "",
    body: sequence(reader, bodies),
  };
}

/** Something the parser did not understand, or that has no place here. */
export function readUnknown(reader: Reader, node: Node): Statement {
  reader.doubt("the command could not be understood");
  if (node.childCount === 0) return NOTHING;
  const isStatement = /(?:_statement|^command|_command|list|pipeline|subshell|ERROR|_definition)$/;
  const statements = node.children.flatMap((part): Statement[] => {
    if (!part.isNamed || part.type === "comment") return [];
    if (isStatement.test(part.type)) return [readStatement(reader, part)];
    return [{ kind: "test", words: [readWord(reader, part)], arithmetic: false }];
  });
  return { kind: "sequence", statements };
}

/** A simple command: assignments, words and redirections in any order. */
function readCommand(reader: Reader, node: Node): Statement {
  const assignments: ShellAssignment[] = [];
  const words: Word[] = [];
  const redirects: Redirect[] = [];
  const strange: Statement[] = [];
  let wordEnd = -1;
  for (const part of reader.partsOf(node, "line")) {
    switch (part.type) {
      case "variable_assignment":
        assignments.push(readAssignment(reader, part));
        break;
      case "file_redirect": {
        const { redirect, rest } = readFileRedirect(reader, part);
        redirects.push(redirect);
        words.push(...rest);
        break;
      }
      case "herestring_redirect":
        redirects.push(readHereString(reader, part));
        break;
      case "subshell":
      case "ERROR":
        strange.push(readUnknown(reader, part));
        break;
      default:
        reader.checkApart(wordEnd, part.startIndex);
        wordEnd = part.endIndex;
        words.push(readWord(reader, part));
    }
  }
  const command: Statement = { kind: "command", assignments, words, redirects };
  return strange.length === 0 ? command : { kind: "sequence", statements: [command, ...strange] };
}

/** `NAME=value`, `NAME+=value`, `NAME[index]=value`. */
function readAssignment(reader: Reader, node: Node): ShellAssignment {
  const [name, operator, ...values] = reader.partsOf(node, "none");
  const appends = operator?.type === "+=";
  if (!name || (operator?.type !== "=" && !appends)) {
    reader.doubt("an assignment that could not be understood");
    return { name: "", value: [...insideOf(reader, node)], appends: false };
  }
  const value = values.flatMap((part) => readWord(reader, part));
  if (values.length > 1) reader.doubt("an assignment that could not be understood");
  if (name.type === "variable_name") return { name: reader.textOf(name), value, appends };
  const inside = [...insideOf(reader, name), ...value];
  const variable = name.firstChild ? reader.textOf(name.firstChild) : "";
  const sets = assignedNames(reader.textOf(name));
  const part = { kind: "computed", inside, quoted: true, arithmetic: true, array: true, sets } as const;
  return { name: variable, value: [part], appends };
}

/** `export`, `declare`, `typeset`, `local`, `readonly`, `unset`: words and assignments after a keyword. */
function readDeclaration(reader: Reader, node: Node): Statement {
  const [keyword, ...parts] = reader.partsOf(node, "line");
  const assignments: ShellAssignment[] = [];
  const words: Word[] = [];
  let end = keyword?.endIndex ?? -1;
  for (const part of parts) {
    reader.checkApart(end, part.startIndex);
    end = part.endIndex;
    if (part.type === "variable_assignment") assignments.push(readAssignment(reader, part));
    else if (part.type === "variable_name") {
      assignments.push({ name: reader.textOf(part), value: undefined, appends: false });
    } else words.push(readWord(reader, part));
  }
  return { kind: "declaration", keyword: keyword ? reader.textOf(keyword) : "", assignments, words };
}

/** `if … then … elif … else … fi`. */
function readIf(reader: Reader, node: Node): Statement {
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
function readWhile(reader: Reader, node: Node): Statement {
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
function readFor(reader: Reader, node: Node): Statement {
  const parts = reader.partsOf(node, "lines");
  const body = parts.find((part) => part.type === "do_group" || part.type === "compound_statement");
  const statements = body ? readStatements(reader, body) : NOTHING;
  if (node.type === "c_style_for_statement") {
    const inside = parts.filter((part) => part !== body).flatMap((part) => insideOf(reader, part));
    const sets = assignedNames(reader.slice(node.startIndex, body?.startIndex ?? node.endIndex));
    const test: Statement = { kind: "test", words: [inside], arithmetic: true, sets };
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
  // Without `in`, a loop runs over the arguments.
  const words: readonly Word[] = hasWords
    ? values.map((part) => readWord(reader, part))
    : [[{ kind: "variable", name: "@", quoted: true }]];
  // A menu takes its words in any order, and any number of times.
  const isMenu = parts.some((part) => part.type === "select");
  return {
    kind: "loop",
    variable: name ? reader.textOf(name) : "",
    values: isMenu ? [[{ kind: "computed", inside: words.flat(), quoted: false, arithmetic: false }]] : words,
    test: undefined,
    body: statements,
  };
}

/** `case word in pattern) … ;; esac`. Patterns are expanded too. */
function readCase(reader: Reader, node: Node): Statement {
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
    if (items.some(({ type }) => type.endsWith("&"))) reader.doubt("a case that goes on with the next one");
    bodies.push(sequence(reader, body));
  }
  return { kind: "branch", tests, bodies: [...bodies, NOTHING] };
}

function patternParts(reader: Reader, item: Node): Word {
  if (/[$`'"\\()]/.test(reader.textOf(item))) reader.doubt("a pattern that could not be understood");
  return [];
}
