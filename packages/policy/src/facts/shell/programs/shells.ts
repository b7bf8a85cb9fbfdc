import { CopiedMap } from "../copied-map.ts";
import { unknownValue } from "../value.ts";
import { type Call, CLEAR, type Handler, hidden } from "./call.ts";
import { programOf } from "./program.ts";
import { applyRole } from "./role.ts";
import { readWords } from "./words.ts";

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
  const inside = call.scope.copy();
  inside.functions = new CopiedMap();
  // Which of them are exported is not kept track of.
  inside.variables = new CopiedMap(
    [...call.scope.variables.keys()].map((name) => [name, unknownValue(true)]),
  );
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
