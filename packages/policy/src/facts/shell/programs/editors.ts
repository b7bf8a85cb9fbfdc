import { patchFindings } from "../../tool/patch.ts";
import { isEndless, knownValue } from "../value.ts";
import { awkMayLoop, isLargeCopy } from "./amounts.ts";
import { isPlainAwk } from "./awk-script.ts";
import { type Call, CLEAR, type Handler, hidden } from "./call.ts";
import { programOf } from "./program.ts";
import { applyRole } from "./role.ts";
import { isPlainSed } from "./sed-script.ts";
import { readWords } from "./words.ts";

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
