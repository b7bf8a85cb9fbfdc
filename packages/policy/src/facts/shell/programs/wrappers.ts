import { unknownValue, type Value } from "../value.ts";
import { isHarmlessVariable } from "../variable.ts";
import { joined } from "./builtins.ts";
import { type Program, programOf } from "./program.ts";
import { applyRole } from "./role.ts";
import { foldersAfter } from "./table-program.ts";
import { type Answer, type Call, CLEAR, type Handler, hidden, readWords } from "./words.ts";

/** Programs whose words are another program's call. */
export const WRAPPERS: readonly (readonly [string, Handler])[] = [
  ["env", environment],
  ["xargs", fromInput],
  ["parallel", (call) => fromInput(call, "parallel puts commands together by itself")],
  ["sudo", asOther],
  ["doas", asOther],
  ["watch", repeated],
  ["flock", locked],
  ["script", recorded],
  ["coproc", (call) => startRest(call, call.words, "a command runs beside the others")],
];

/** `nohup`, `timeout 5`, `nice -n 3` and their like, by their entries. */
export function wrapByTable(call: Call, entry: Program, skipped: number): Answer {
  const { operands, options, doubts } = readWords(call.words, entry, { stopsAtOperand: true });
  for (const { value, role } of options) applyRole(role, value, { ...call, deep: false });
  const why = doubts[0] ?? entry.opaque;
  return startRest(call, operands.slice(skipped), why === undefined ? undefined : `${call.name}: ${why}`);
}

function startRest(call: Call, rest: readonly Value[], why?: string): Answer {
  if (rest.length > 0) call.shell.runWords(rest, call.scope.child(), call.input);
  return why === undefined ? CLEAR : hidden(call, why);
}

function environment(call: Call): Answer {
  const { operands, doubts, options, present } = readWords(call.words, programOf("env") ?? {}, {
    stopsAtOperand: true,
  });
  const start = operands.findIndex(({ text, start: known }) => !(text ?? known).includes("="));
  const rest = start === -1 ? [] : operands.slice(start);
  const names = operands
    .slice(0, operands.length - rest.length)
    .map(({ start: known }) => known.split("=")[0] ?? "");
  const inside = call.scope.child();
  for (const { value, role } of options) if (role === "folder") inside.folders = foldersAfter(value, inside);
  if (rest.length > 0) call.shell.runWords(rest, inside, call.input);
  else call.shell.findings.doubt("prints the environment, which may hold secrets");
  const changed = names.find((name) => !isHarmlessVariable(name));
  if (changed !== undefined) return hidden(call, `${changed} is set, which may change what a program does`);
  if (doubts.length > 0) return hidden(call, `env: ${doubts[0]}`);
  const takesAway = ["i", "u", "ignore-environment", "unset"].some((option) => present.has(option));
  return takesAway ? hidden(call, "env takes variables away") : CLEAR;
}

/** The command gets more words than it is written with. */
function fromInput(call: Call, why?: string): Answer {
  const { operands, doubts, options, present } = readWords(call.words, programOf("xargs") ?? {}, {
    stopsAtOperand: true,
  });
  for (const { value, role } of options)
    if (role === "read") applyRole("read", value, { ...call, deep: false });
  const replaces = ["I", "i", "J", "replace"].some((option) => present.has(option));
  const mark = replaces || call.name === "parallel" ? marks(options) : [];
  const given = operands.map((value) =>
    mark.some((one) => value.text?.includes(one)) ? unknownValue(false, startOf(value, mark)) : value,
  );
  const rest = mark.length > 0 && call.name !== "parallel" ? given : [...given, ...arriving(call, present)];
  if (operands.length > 0) call.shell.runWords(rest, call.scope.child());
  const doubt = why ?? (doubts[0] === undefined ? undefined : `xargs: ${doubts[0]}`);
  return doubt === undefined ? CLEAR : hidden(call, doubt);
}

/** The words that come by the pipe, where they come from a program that finds files and are taken apart as it ends them. */
function arriving({ name, input }: Call, present: ReadonlySet<string>): readonly Value[] {
  const { found } = input;
  const takesOthers = ["a", "arg-file", "d", "delimiter", "E", "eof", "e"].some((option) =>
    present.has(option),
  );
  const isNul = present.has("0") || present.has("null");
  if (!found || takesOthers || name !== "xargs" || isNul !== found.endsWithNul) return [unknownValue(true)];
  return found.values;
}

/** Any of the options' values may be what is replaced. */
function marks(options: readonly { readonly value: Value }[]): readonly string[] {
  return ["{}", ...options.map(({ value }) => value.text ?? "").filter((text) => text !== "")];
}

function startOf(value: Value, mark: readonly string[]): string {
  const at = Math.min(...mark.map((one) => value.start.indexOf(one)).filter((index) => index >= 0));
  return value.start.slice(0, at);
}

function asOther(call: Call): Answer {
  const { operands } = readWords(call.words, programOf("sudo") ?? {}, { stopsAtOperand: true });
  const start = operands.findIndex(({ text, start: known }) => !(text ?? known).includes("="));
  return startRest(call, start === -1 ? [] : operands.slice(start), `${call.name} runs it as another user`);
}

function repeated(call: Call): Answer {
  const { operands, doubts, present } = readWords(call.words, programOf("watch") ?? {}, {
    stopsAtOperand: true,
  });
  call.shell.findings.isLong = true;
  // With `-x` no shell takes the words apart once more.
  if (present.has("x")) call.shell.runWords(operands, call.scope.child());
  else call.shell.runText(joined(operands), call.scope.child(), "watch runs what is only known at run time");
  return doubts.length === 0 ? CLEAR : hidden(call, `watch: ${doubts[0]}`);
}

function locked(call: Call): Answer {
  const { operands, options, doubts } = readWords(call.words, programOf("flock") ?? {}, {
    stopsAtOperand: true,
  });
  for (const { value, role } of options) applyRole(role, value, { ...call, deep: false });
  const [file, ...rest] = operands;
  if (file && !/^\d+$/.test(file.text ?? "")) applyRole("write", file, { ...call, deep: false });
  if (rest[0]?.text === "-c" && rest[1])
    call.shell.runText(rest[1], call.scope.child(), "flock runs an unknown text");
  else if (rest.length > 0) call.shell.runWords(rest, call.scope.child());
  return doubts.length === 0 ? CLEAR : hidden(call, `flock: ${doubts[0]}`);
}

function recorded(call: Call): Answer {
  const { operands, options, present, doubts } = readWords(call.words, programOf("script") ?? {});
  for (const { value, role } of options) applyRole(role, value, { ...call, deep: false });
  applyRole("overwrite", operands[0] ?? { text: "typescript", start: "typescript", many: false }, {
    ...call,
    deep: false,
  });
  if (operands.length > 1) call.shell.runWords(operands.slice(1), call.scope.child());
  if (doubts.length > 0) return hidden(call, `script: ${doubts[0]}`);
  return present.has("c") || present.has("command") || operands.length > 1
    ? CLEAR
    : hidden(call, "script starts a shell");
}

/** Shells: what they are given as text is read like any other command. */
export const SHELLS: readonly (readonly [string, Handler])[] = [
  "bash",
  "sh",
  "dash",
  "ash",
  "zsh",
  "ksh",
].map((name) => [name, startShell] as const);

function startShell(call: Call): ReturnType<Handler> {
  const { operands, present, doubts, options } = readWords(call.words, programOf("bash") ?? {}, {
    stopsAtOperand: true,
  });
  const isOdd = doubts.length > 0 || options.some(({ value }) => value.text !== "pipefail");
  if (present.has("version") || present.has("help")) return CLEAR;
  const inside = call.scope.child();
  const [text, , ...positional] = operands;
  inside.positional = positional;
  if (present.has("c") && text) {
    call.shell.runText(text, inside, `${call.name} -c with a text that is only known at run time`);
    const isKnown = text.text !== null && text.pattern === undefined;
    if (!isKnown) return { opaque: true };
    return isOdd ? hidden(call, `${call.name} with options that are not known`) : CLEAR;
  }
  if (operands.length > 0 && !present.has("s")) {
    applyRole("read", operands[0], { ...call, deep: false });
    return hidden(call, `${call.name} runs a script`);
  }
  const { text: input } = call.input;
  if (!input) return hidden(call, `${call.name} runs what it reads`);
  inside.positional = operands;
  call.shell.runText(input, inside, `${call.name} runs a text that is only known at run time`);
  if (input.text === null) return { opaque: true };
  return isOdd ? hidden(call, `${call.name} with options that are not known`) : CLEAR;
}
