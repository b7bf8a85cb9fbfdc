import { patchFindings } from "../../tool/tool-call.ts";
import { isEndless, knownValue } from "../value.ts";
import { programOf } from "./program.ts";
import { applyRole } from "./role.ts";
import { awkMayLoop, type Call, CLEAR, type Handler, hidden, isLargeCopy, readWords } from "./words.ts";

/** Programs that change text, some of them by a small language of their own. */
export const EDITORS: readonly (readonly [string, Handler])[] = [
  ["sed", editStream],
  ["gsed", editStream],
  ...["awk", "gawk", "mawk", "nawk"].map((name) => [name, runAwk] as const),
  ["dd", copyBlocks],
  ["apply_patch", applyPatch],
  ["applypatch", applyPatch],
];

function editStream(call: Call): ReturnType<Handler> {
  const { operands, options, present, doubts } = readWords(call.words, programOf("sed") ?? {});
  const setting = { ...call, deep: false };
  const hasScript = ["e", "f", "expression", "file"].some((option) => present.has(option));
  const given = options.filter(({ name }) => name === "e" || name === "expression").map(({ value }) => value);
  // BSD's `-i` takes the next word for a suffix, so that the script may be the one after it.
  const isBsd = present.has("i") && operands[0]?.text === "";
  const scripts = [...given, ...(hasScript ? [] : operands.slice(0, isBsd ? 2 : 1))];
  const files = hasScript ? operands : operands.slice(1);
  const isOdd = options.map(({ value, role }) => applyRole(role, value, setting)).includes("opaque");
  const inPlace = present.has("i") || present.has("in-place");
  for (const file of files) applyRole(inPlace ? "edit" : "read", file, setting);
  const vague = scripts.some(({ pattern, many }) => pattern !== undefined || many);
  const isPlain = scripts.every(({ text }) => text !== null && isPlainSed(text));
  if (doubts.length > 0) return hidden(call, `sed: ${doubts[0]}`);
  if (isOdd) return hidden(call, "sed keeps what was there under a name that may mean something");
  const usesFile = present.has("f") || present.has("file");
  return isPlain && !vague && !usesFile ? CLEAR : hidden(call, "a sed script that may do more than edit");
}

function runAwk(call: Call): ReturnType<Handler> {
  const { operands, doubts } = readWords(call.words, programOf("awk") ?? {}, { stopsAtOperand: true });
  const setting = { ...call, deep: false };
  const [script, ...files] = operands;
  for (const file of files) {
    if (file && !/^[A-Za-z_]\w*=/.test(file.start)) applyRole("read", file, setting);
  }
  // With options that are not known the first operand may be a file, too.
  if (doubts.length > 0 && script) applyRole("read", script, { ...setting, deep: false });
  const isPlain = script?.text != null && script.pattern === undefined && isPlainAwk(script.text);
  if (awkMayLoop(script?.text ?? "")) call.shell.findings.isLong = true;
  return isPlain && doubts.length === 0 ? CLEAR : hidden(call, "an awk script that may do more than print");
}

const DD = /^(if|of|bs|ibs|obs|cbs|count|skip|seek|iseek|oseek|conv|iflag|oflag|status)=([\s\S]*)$/;

function copyBlocks(call: Call): ReturnType<Handler> {
  for (const word of call.words) {
    const [, name, value = ""] = DD.exec(word.start) ?? [];
    if (name === undefined) return hidden(call, "dd with words that are not known");
    const file = word.text === null ? word : knownValue(value);
    if (name === "if") applyRole("read", file, { ...call, deep: false });
    if (name === "of") applyRole("overwrite", file, { ...call, deep: false });
    const hasEnd = call.words.some(({ start }) => start.startsWith("count=")) && !isLargeCopy(call);
    if (name === "if" && isEndless(file) && !hasEnd) call.shell.findings.isEndless = true;
  }
  if (isLargeCopy(call)) call.shell.findings.doubt("dd of more than fits on some disks");
  return CLEAR;
}

/** The patch tool that Codex puts into its shell: the patch is its word or its input. */
function applyPatch(call: Call): ReturnType<Handler> {
  const patch = call.words[0] ?? call.input.text;
  const findings = patch?.text == null ? undefined : patchFindings(patch.text, call.scope.folders);
  if (!findings || call.words.length > 1) return hidden(call, "a patch that could not be read");
  for (const finding of findings) call.shell.findings.add(finding);
  return CLEAR;
}

/** Words that reach files, programs or the environment, wherever they occur outside of strings and comments. */
const REACHING = /^(?:system|getline|close|fflush|ENVIRON|PROCINFO|ARGV|ARGC|SYMTAB|FUNCTAB|extension)$/;
const REACHING_ANYWHERE =
  /[|>@]|system|getline|close|fflush|ENVIRON|PROCINFO|ARG[VC]|SYMTAB|FUNCTAB|extension/;
/** Signs and words behind which a slash begins an expression and does not divide. */
const BEFORE_EXPRESSION =
  /^(?:[([{},;!~&|=<>?:+*%^\n-]|&&|\|\||[<>=!+*%^-]=|printf?|return|exit|in|case|else|do|)$/;
/** Behind these a line goes on. */
const BEFORE_LINE = /^(?:[,{?:]|&&|\|\||do|else)$/;
const TOKEN =
  /\\\n|#[^\n]*|"(?:[^"\\\n]|\\[\s\S])*"|[A-Za-z_]\w*|\d[\w.]*|\+\+|--|&&|\|\||[<>=!+*%^-]=|[ \t\r]+|[\s\S]/gy;
/** A slash in brackets ends it for some, and does not for others. */
const EXPRESSION = /\/(?:[^/\\\n[]|\\[^\n]|\[\^?\]?(?:[^\]\\\n/]|\\[^\n])*\])*\//y;

/**
 * Whether a script of awk only looks at its input and prints: it writes no file, runs nothing, and reads nothing but
 * what it is given. A `>` compares, except in what is printed.
 */
export function isPlainAwk(script: string): boolean {
  let before = "";
  let depth = 0;
  let printing: number | undefined;
  for (let at = 0; at < script.length; ) {
    if (script[at] === "/") {
      // Behind a closing parenthesis it may be either: then nothing that follows may reach out in any reading.
      if (/^(?:\)|\+\+|--|expression)$/.test(before)) return !REACHING_ANYWHERE.test(script.slice(at));
      if (BEFORE_EXPRESSION.test(before)) {
        EXPRESSION.lastIndex = at;
        const found = EXPRESSION.exec(script)?.[0];
        if (found === undefined) return false;
        at += found.length;
        before = "expression";
        continue;
      }
    }
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(script)?.[0] ?? "";
    if (token === "" || token === '"' || token === "\\" || token === "@" || REACHING.test(token))
      return false;
    at += token.length;
    if (/^(?:[ \t\r]|#|\\\n)/.test(token)) continue;
    if (token === "|") return false;
    if (/^[([]$/.test(token)) depth += 1;
    else if (/^[)\]]$/.test(token)) depth -= 1;
    else if (/^printf?$/.test(token)) printing = depth;
    else if (/^[;{}]$/.test(token) || (token === "\n" && !BEFORE_LINE.test(before))) printing = undefined;
    else if (token === ">" && printing !== undefined && depth <= printing) return false;
    if (token !== "\n" || !BEFORE_LINE.test(before)) before = token;
  }
  return true;
}

/** Longer scripts are not looked through. */
const LENGTH_LIMIT = 10_000;

/**
 * Whether a script of sed only prints, deletes and replaces. Those that write files (`w`), read them (`r`) or run
 * commands (`e`) are not plain, and neither is what is written in an unusual way.
 */
export function isPlainSed(script: string): boolean {
  if (script === "") return true;
  if (script.length > LENGTH_LIMIT) return false;
  const scanner = new Scanner(script);
  scanner.skip(/\s*/y);
  do {
    if (!scanner.command()) return false;
    scanner.skip(/[ \t\r\f\v]*/y);
    if (scanner.isAtEnd) return true;
    if (!scanner.take(/[;\n]/y)) return false;
    scanner.skip(/\s*/y);
  } while (!scanner.isAtEnd);
  return true;
}

class Scanner {
  readonly #script: string;
  #at = 0;

  constructor(script: string) {
    this.#script = script;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#script.length;
  }

  /** Goes behind what fits here; whether it does. */
  take(sticky: RegExp): boolean {
    sticky.lastIndex = this.#at;
    if (!sticky.test(this.#script)) return false;
    this.#at = sticky.lastIndex;
    return true;
  }

  skip(sticky: RegExp): void {
    this.take(sticky);
  }

  command(): boolean {
    if (this.#address()) {
      this.skip(/\s*/y);
      if (this.take(/,\s*/y) && !this.take(/[+~]?\d+/y) && !this.#address()) return false;
      this.skip(/\s*!?\s*/y);
    }
    if (this.take(/[pdDPqQ=gGhHxnN]/y)) return true;
    if (this.take(/[aic]\\?\s?[^\n;]*/y)) return true;
    if (this.take(/y\//y)) return this.#part("/", false) && this.#part("/", false);
    if (!this.take(/s[/|#,:@!%]/y)) return false;
    const delimiter = this.#script[this.#at - 1] ?? "";
    if (!this.#part(delimiter, true) || !this.#part(delimiter, false)) return false;
    this.skip(/[gpIiM0-9]*/y);
    return true;
  }

  #address(): boolean {
    if (this.take(/\d+(?:~\d+)?|\$/y)) return true;
    if (!this.take(/\//y)) return false;
    if (!this.#part("/", true)) return false;
    this.skip(/I?/y);
    return true;
  }

  /** Goes behind the next delimiter. Within brackets it ends an expression for some, and does not for others. */
  #part(delimiter: string, isExpression: boolean): boolean {
    let inBrackets = false;
    for (; this.#at < this.#script.length; this.#at += 1) {
      const letter = this.#script[this.#at];
      if (letter === "\n") return false;
      if (letter === delimiter) {
        this.#at += 1;
        return !inBrackets;
      }
      if (letter === "\\" && !inBrackets) {
        if (this.#script[this.#at + 1] === "\n") return false;
        this.#at += 1;
      } else if (isExpression && !inBrackets && letter === "[") {
        inBrackets = true;
        if (this.#script[this.#at + 1] === "^") this.#at += 1;
        if (this.#script[this.#at + 1] === "]") this.#at += 1;
      } else if (inBrackets && letter === "]") inBrackets = false;
    }
    return false;
  }
}
