import { target } from "../path-target.ts";
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
  const { entry, name, rest } = entryOf(subcommand, words);
  const read = entry && readWords(rest, entry);
  const shape = entry && read && shapeFor(entry, read);
  const only = shape?.names === true ? "names" : undefined;
  applyRole("tree", undefined, { ...call, scope: inside, deep: true, only });
  const settings = options.filter(({ role }) => role === "text").map(({ value }) => value);
  for (const setting of settings) runSetting(call, setting);
  if (!entry || !read)
    return hidden(call, `git ${subcommand.text ?? "…"} is not a subcommand that is known here`);
  const hasPaths = read.operands.length > (shape?.first !== undefined && !read.present.has("e") ? 1 : 0);
  if (shape?.shows && !hasPaths)
    call.shell.findings.add({ kind: "tracked", target: target(knownValue("."), inside) });
  if (
    name === "cat-file" &&
    read.operands.some(isObjectName) &&
    !read.present.has("t") &&
    !read.present.has("s")
  )
    call.shell.findings.doubt("git cat-file of an object whose path is not known");
  const { opaque, hooks } = readByTable(call.shell, `git ${name}`, entry, rest, inside);
  if (settings.length > 0) return hidden(call, "git with settings of its own");
  return { opaque, hooks, repository: inside.folders } satisfies Answer;
};

/** `git stash show` is not what `git stash` is. */
function entryOf(subcommand: Value, words: readonly Value[]) {
  const known = programOf("git")?.subcommands ?? {};
  const name = subcommand.text ?? "";
  const longer = `${name} ${words[0]?.text ?? ""}`;
  if (Object.hasOwn(known, longer)) return { name: longer, entry: known[longer], rest: words.slice(1) };
  return { name, entry: Object.hasOwn(known, name) ? known[name] : undefined, rest: words };
}

/** An object by its hash: it may be any version of any file. */
function isObjectName({ text }: Value): boolean {
  return text === null || /^[0-9a-f]{4,64}$/i.test(text);
}

/** `-c alias.x=!command`, `-c core.pager=command`: many settings are commands. */
function runSetting(call: Call, setting: Value): void {
  const command = /^[^=]*=!?([\s\S]*)$/.exec(setting.text ?? "")?.[1];
  if (command !== undefined)
    call.shell.runText(knownValue(command), call.scope.copy(), "git runs an unknown text");
}
