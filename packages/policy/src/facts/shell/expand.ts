import { knownOutput } from "./run-program.ts";
import type { Shell } from "./shell.ts";
import { assignedNames, type Part, type Word } from "./syntax.ts";
import { knownValue, type Scope, SOME_NUMBER, unknownValue, type Value } from "./value.ts";
import { isSecretVariable, NUMBERS, variableValue } from "./variable.ts";

/** The words that one word of a command becomes. Whatever runs inside it is run. */
export function expandWord(shell: Shell, word: Word, scope: Scope): readonly Value[] {
  const [only] = word;
  if (word.length === 1 && only?.kind === "variable" && /^[@*]$/.test(only.name))
    return allArguments(only, scope);
  const words = expandBraces(word);
  // In what comes out of braces, shells differ about `~` behind `=`.
  const isOdd =
    words?.length !== 1 && word.some((part) => part.kind === "text" && !part.quoted && /=~/.test(part.text));
  if (!words || isOdd) {
    runInside(shell, word, scope);
    return [unknownValue(true)];
  }
  return words.flatMap((one) => splitWord(shell, one, scope));
}

/** The one text that a word becomes where a shell does not split: in assignments, redirections and here-documents. */
export function expandedText(shell: Shell, word: Word, scope: Scope): Value {
  const tilde = tildePart(word, scope);
  const pieces = (tilde ?? word).map((part) => expandPart(shell, part, scope));
  const [only] = pieces;
  if (only && pieces.length === 1 && only.pattern !== undefined) return only;
  let start = "";
  for (const piece of pieces) {
    if (piece.text === null) return unknownValue(false, start + piece.start);
    start += piece.text;
  }
  return { ...knownValue(start), isPipe: pieces.length === 1 && only?.isPipe };
}

/** `"$@"` is the arguments as they are; without quotes they are split once more. */
function allArguments({ name, quoted }: { name: string; quoted: boolean }, scope: Scope): readonly Value[] {
  const { positional } = scope;
  if (positional === undefined) return [unknownValue(true)];
  if (name === "@" && quoted) return positional;
  const isPlain = positional.every(({ text }) => text !== null && /^[^\s*?[]+$/.test(text));
  if (!isPlain || scope.unusualWords)
    return positional.length === 0 && !quoted ? [] : [unknownValue(!quoted)];
  return quoted ? [knownValue(positional.map(({ text }) => text).join(" "))] : positional;
}

/** Expands, then splits what came unquoted out of variables, then looks for globs. */
function splitWord(shell: Shell, word: Word, scope: Scope): readonly Value[] {
  const values: Value[] = [];
  let text = "";
  let pattern = "";
  let isGlob = false;
  let isOpen = false;
  const parts = tildePart(word, scope) ?? word;
  const finish = (): void => {
    if (isOpen) values.push({ text, start: text, many: false, pattern: isGlob ? pattern : undefined });
    text = "";
    pattern = "";
    isGlob = false;
    isOpen = false;
  };
  const append = (piece: string, quoted: boolean): void => {
    text += piece;
    pattern += quoted ? escapePattern(piece) : piece;
    isGlob ||= !quoted && /[*?[]/.test(piece);
    isOpen = true;
  };
  for (const [index, part] of parts.entries()) {
    const value = expandPart(shell, part, scope);
    if (value.isPipe && parts.length === 1) return [value];
    if (parts.length === 1 && value.pattern !== undefined) return [value];
    const quoted = part.kind === "pipe" || part.quoted;
    if (
      value.text === null ||
      value.isPipe ||
      value.pattern !== undefined ||
      (!quoted && part.kind !== "text" && scope.unusualWords)
    ) {
      for (const rest of parts.slice(index + 1)) expandPart(shell, rest, scope);
      const start = text + (value.text === null ? value.start : "");
      return [...values, unknownValue(!quoted, start)];
    }
    if (quoted || part.kind === "text") {
      append(value.text, quoted);
      continue;
    }
    const pieces = value.text.split(/[ \t\n]+/);
    pieces.forEach((piece, at) => {
      if (at > 0) finish();
      if (piece !== "") append(piece, false);
    });
  }
  if (isGlob && scope.unusualWords) return [...values, unknownValue(true, text.split(/[*?[]/)[0])];
  finish();
  return values;
}

function expandPart(shell: Shell, part: Part, scope: Scope): Value {
  switch (part.kind) {
    case "text":
      return knownValue(part.text);
    case "variable":
      if (isSecretVariable(part.name, scope))
        shell.findings.doubt(`uses $${part.name}, which may hold a secret`);
      return variableValue(part.name, scope);
    case "pipe":
      shell.run(part.body, scope.copy());
      return { ...knownValue("/dev/fd/63"), isPipe: true };
    case "output":
      shell.run(part.body, scope.copy());
      return knownOutput(shell, part.body, scope) ?? unknownValue(!part.quoted);
    case "computed":
      if (part.arithmetic) checkArithmetic(shell, part.inside, scope);
      else runInside(shell, part.inside, scope);
      for (const name of part.sets ?? []) scope.set(name, part.isNumber ? SOME_NUMBER : unknownValue(true));
      return part.isNumber ? SOME_NUMBER : unknownValue(!part.quoted);
  }
}

/** Expands pieces only for what they run. */
export function runInside(shell: Shell, parts: readonly Part[], scope: Scope): void {
  for (const part of parts) expandPart(shell, part, scope);
}

/** Arithmetic evaluates the text of variables, and a subscript in it may run commands. */
export function checkArithmetic(shell: Shell, parts: readonly Part[], scope: Scope): void {
  for (const part of parts) {
    const value = expandPart(shell, part, scope);
    const isNumber = value.isNumber === true || (part.kind === "variable" && NUMBERS.has(part.name));
    for (const name of assignedNames(value.text ?? "")) scope.set(name, SOME_NUMBER);
    if (value.text === null ? !isNumber && part.kind !== "computed" : mayRunCommands(value.text, scope)) {
      shell.findings.hide("arithmetic on a text that may hold commands");
    }
  }
}

const LOOKUP_LIMIT = 8;

/** Whether a text runs commands where it is evaluated as arithmetic: names in it stand for what the variables hold. */
export function mayRunCommands(text: string, scope: Scope, depth = 0): boolean {
  // What a variable holds may set others that are not looked at here.
  if (/[$`[]/.test(text) || depth > LOOKUP_LIMIT || (depth > 0 && assignedNames(text).length > 0))
    return true;
  return [...new Set(text.match(/[A-Za-z_]\w*/g))].some((name) => {
    const own = NUMBERS.has(name) ? undefined : scope.variables.get(name);
    return (
      own !== undefined &&
      ((own.text === null && !own.isNumber) || mayRunCommands(own.text ?? "", scope, depth + 1))
    );
  });
}

const SOMETHING: Part = { kind: "computed", inside: [], quoted: true, arithmetic: false };

/** `~` at the start of a word, or of a value in `name=~`, is the home; `~name` and `~+` are not looked up. */
function tildePart(word: Word, scope: Scope): Word | undefined {
  const [first, ...rest] = word;
  if (first?.kind !== "text" || first.quoted || !first.text.includes("~")) return undefined;
  const found = /^((?:[A-Za-z_]\w*=)?)~([^/:]*)([\s\S]*)$/.exec(first.text);
  if (!found) return /^[A-Za-z_]\w*=.*:~/.test(first.text) ? [SOMETHING, ...rest] : undefined;
  const [, before = "", name = "", after = ""] = found;
  const home = variableValue("HOME", scope).text;
  const isWhole = after !== "" || rest.length === 0;
  if (name !== "" || !isWhole || home === null || after.includes(":~")) return [SOMETHING, ...rest];
  return [
    { kind: "text", text: before, quoted: false },
    { kind: "text", text: home, quoted: true },
    { kind: "text", text: after, quoted: false },
    ...rest,
  ];
}

function escapePattern(text: string): string {
  return text.replace(/[*?[\]\\{}()!+@|^]/g, "\\$&");
}

/** More words than this out of one are not listed. */
const WORD_LIMIT = 64;
const GROUP_LIMIT = 16;

type Token = string | Part;

/** `a{b,c}` as `ab` and `ac`; `undefined` when there are too many. Only what stands unquoted in the text counts. */
export function expandBraces(word: Word): readonly Word[] | undefined {
  const hasBrace = word.some((part) => part.kind === "text" && !part.quoted && part.text.includes("{"));
  if (!hasBrace) return [word];
  const tokens = word.flatMap((part): Token[] =>
    part.kind === "text" && !part.quoted ? [...part.text] : [part],
  );
  if (tokens.filter((token) => token === "{").length > GROUP_LIMIT) return undefined;
  return expand(tokens)?.map(toWord);
}

function expand(tokens: readonly Token[]): Token[][] | undefined {
  const group = firstGroup(tokens);
  if (!group) return [[...tokens]];
  if (group === "unclear") return undefined;
  const before = tokens.slice(0, group.start);
  const afters = expand(tokens.slice(group.end + 1));
  if (!afters) return undefined;
  const words: Token[][] = [];
  for (const choice of group.choices) {
    const middles = expand(choice);
    if (!middles) return undefined;
    for (const middle of middles) {
      for (const after of afters) {
        words.push([...before, ...middle, ...after]);
        if (words.length > WORD_LIMIT) return undefined;
      }
    }
  }
  return words;
}

interface Group {
  readonly start: number;
  readonly end: number;
  readonly choices: readonly (readonly Token[])[];
}

function firstGroup(tokens: readonly Token[]): Group | "unclear" | undefined {
  for (let start = 0; start < tokens.length; start += 1) {
    if (tokens[start] !== "{") continue;
    const commas: number[] = [];
    let depth = 0;
    for (let at = start; at < tokens.length; at += 1) {
      if (tokens[at] === "{") depth += 1;
      else if (tokens[at] === "," && depth === 1) commas.push(at);
      else if (tokens[at] === "}") depth -= 1;
      if (depth > 0) continue;
      const choices = choicesOf(tokens, start, at, commas);
      if (choices) return { start, end: at, choices };
      if (isUnclear(tokens, start, at)) return "unclear";
      break;
    }
  }
  return undefined;
}

/** Where braces hold no choice, a shell may take a later one for their end, or leave those inside as they are. */
function isUnclear(tokens: readonly Token[], start: number, end: number): boolean {
  return (
    tokens.slice(start + 1, end).includes("{") || tokens.slice(end, tokens.lastIndexOf("}")).includes(",")
  );
}

function choicesOf(
  tokens: readonly Token[],
  start: number,
  end: number,
  commas: readonly number[],
): readonly (readonly Token[])[] | undefined {
  if (commas.length > 0) {
    const edges = [start, ...commas, end];
    return edges.slice(1).map((edge, index) => tokens.slice((edges[index] ?? 0) + 1, edge));
  }
  const inside = tokens.slice(start + 1, end);
  if (!inside.every((token) => typeof token === "string")) return undefined;
  return range(inside.join(""));
}

/** `1..5`, `a..e`, `1..9..2`. */
function range(text: string): readonly (readonly Token[])[] | undefined {
  const numbers = /^([-+]?\d{1,18})\.\.([-+]?\d{1,18})(?:\.\.([-+]?\d{1,18}))?$/.exec(text);
  const letters = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.([-+]?\d{1,9}))?$/.exec(text);
  const found = numbers ?? letters;
  if (!found) return undefined;
  const [, first = "", last = ""] = found;
  const [from, to] = numbers ? [Number(first), Number(last)] : [first.charCodeAt(0), last.charCodeAt(0)];
  const step = Math.max(1, Math.abs(Number(found[3] ?? 1)));
  // A zero in front of either fills up both, signs counted.
  const isPadded = numbers && [first, last].some((end) => /^-?0\d/.test(end));
  const width = isPadded ? Math.max(first.length, last.length) : 0;
  const words: (readonly Token[])[] = [];
  for (let n = from; from <= to ? n <= to : n >= to; n += from <= to ? step : -step) {
    words.push(numbers ? [...padded(n, width)] : [letterAt(n)]);
    if (words.length > WORD_LIMIT || !Number.isSafeInteger(n)) return Array<Token[]>(WORD_LIMIT + 1).fill([]);
  }
  return words;
}

function padded(n: number, width: number): string {
  return n < 0 ? `-${String(-n).padStart(width - 1, "0")}` : String(n).padStart(width, "0");
}

/** Between `Z` and `a` stand signs that a shell may read once more. */
function letterAt(code: number): Token {
  const text = String.fromCharCode(code);
  return /\w/.test(text) ? text : SOMETHING;
}

function toWord(tokens: readonly Token[]): Word {
  const word: Part[] = [];
  let plain = "";
  const flush = (): void => {
    if (plain !== "") word.push({ kind: "text", text: plain, quoted: false });
    plain = "";
  };
  for (const token of tokens) {
    if (typeof token === "string") plain += token;
    else {
      flush();
      word.push(token);
    }
  }
  flush();
  return word;
}
