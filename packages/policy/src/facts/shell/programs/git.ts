import { knownValue, type Value } from "../value.ts";
import { type Answer, type Call, CLEAR, type Handler, hidden } from "./call.ts";
import { programOf } from "./program.ts";
import { applyRole } from "./role.ts";
import { foldersAfter, readByTable, shapeFor } from "./table-program.ts";
import { readWords } from "./words.ts";

/** `git`: its own options, then a subcommand with options of its own. What the repository names to run is looked up later. */
export const gitProgram: Handler = (call) => {
  const { operands, options, present, doubts } = readWords(call.words, programOf("git") ?? {}, {
    stopsAtOperand: true,
  });
  const [subcommand, ...words] = operands;
  if (doubts.length > 0) return hidden(call, `git: ${doubts[0]}`);
  if (!subcommand) return present.has("c") ? hidden(call, "git with settings of its own") : CLEAR;
  const inside = call.scope.copy();
  for (const { value, role } of options) if (role === "folder") inside.folders = foldersAfter(value, inside);
  const known = programOf("git")?.subcommands ?? {};
  const entry = Object.hasOwn(known, subcommand.text ?? "") ? known[subcommand.text ?? ""] : undefined;
  const looksAtNames = entry !== undefined && shapeFor(entry, readWords(words, entry)).names === true;
  const only = looksAtNames ? "names" : undefined;
  applyRole("tree", undefined, { ...call, scope: inside, deep: true, only });
  const settings = options.filter(({ role }) => role === "text").map(({ value }) => value);
  for (const setting of settings) runSetting(call, setting);
  if (!entry) return hidden(call, `git ${subcommand.text ?? "…"} is not a subcommand that is known here`);
  const { opaque } = readByTable(call.shell, `git ${subcommand.text}`, entry, words, inside);
  if (settings.length > 0) return hidden(call, "git with settings of its own");
  return { opaque, repository: inside.folders } satisfies Answer;
};

/** `-c alias.x=!command`, `-c core.pager=command`: many settings are commands. */
function runSetting(call: Call, setting: Value): void {
  const command = /^[^=]*=!?([\s\S]*)$/.exec(setting.text ?? "")?.[1];
  if (command !== undefined)
    call.shell.runText(knownValue(command), call.scope.copy(), "git runs an unknown text");
}
