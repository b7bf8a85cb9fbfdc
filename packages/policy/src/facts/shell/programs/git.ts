import type { Shown } from "../../git/shown.ts";
import { target } from "../shell.ts";
import { knownValue, type Value } from "../value.ts";
import { programOf } from "./program.ts";
import { applyRole } from "./role.ts";
import { foldersAfter, readByTable, shapeFor } from "./table-program.ts";
import { type Answer, type Call, CLEAR, type Handler, hidden, type ReadWords, readWords } from "./words.ts";

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
  const shown = only === undefined || name === "commit" ? shownBy(name, rest, read) : undefined;
  if (shown) call.shell.findings.add({ kind: "shown", target: target(knownValue("."), inside), shown });
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

/** Options with which changes are shown line by line. */
const PATCH = new Set(
  "p u U c m L W patch unified patch-with-raw patch-with-stat cc dd remerge-diff diff-merges binary word-diff word-diff-regex color-words function-context".split(
    " ",
  ),
);
/** Options with which only names and numbers are. */
const LISTING = new Set(
  "s no-patch stat name-only name-status numstat shortstat raw summary dirstat dirstat-by-file compact-summary quiet X".split(
    " ",
  ),
);
/** Options that leave commits out, so that a number of them may reach far back. */
const FILTERS =
  "since after until before author committer grep grep-reflog S G skip merges no-merges min-parents max-parents min-age max-age diff-filter find-object L i follow since-as-filter cherry-pick left-only right-only".split(
    " ",
  );
const EVERY_BRANCH = ["all", "branches", "tags", "remotes", "glob"];
const BY_LOG = ["g", "walk-reflogs", "reflog"];

/** What a subcommand shows of what git kept earlier; `undefined` if that is nothing but names. */
function shownBy(
  name: string,
  words: readonly Value[],
  { operands, options, present }: ReadWords,
): Shown | undefined {
  const has = (names: Iterable<string>): boolean => [...names].some((one) => present.has(one));
  const isPatch = has(PATCH);
  if ((has(LISTING) && !isPatch) || present.has("L")) return undefined;
  const texts = operands.flatMap(({ text, pattern }) =>
    text === null || pattern !== undefined ? [] : [text],
  );
  const count = words
    .map(({ text }) => /^-(\d+)$/.exec(text ?? "")?.[1])
    .findLast((one) => one !== undefined);
  const given = options.findLast((option) => option.name === "n" || option.name === "max-count")?.value.text;
  const most = has(FILTERS) || (given ?? count) === undefined ? undefined : Number(given ?? count);
  switch (name) {
    case "show":
      return { how: "commits", words: texts };
    case "log":
    case "whatchanged":
      if (!isPatch) return undefined;
      if (has(BY_LOG)) return { how: "log", words: texts };
      return { how: "walk", words: texts, most, all: has(EVERY_BRANCH) };
    case "diff":
      if (present.has("no-index")) return undefined;
      return { how: "between", words: texts, cached: present.has("cached") || present.has("staged") };
    case "status":
    case "commit":
      return has(["v", "verbose"]) ? { how: "between", words: [], cached: true } : undefined;
    case "reflog":
      return isPatch ? { how: "log", words: texts.filter((text) => text !== "show") } : undefined;
    case "stash list":
      return isPatch ? { how: "log", words: ["stash"] } : undefined;
    case "stash show":
      return { how: "stash", words: texts.map((text) => (/^\d+$/.test(text) ? `stash@{${text}}` : text)) };
    case "archive":
      return { how: "tree", words: texts };
    case "grep":
      return {
        how: "tree",
        words: texts.slice(present.has("e") || present.has("f") ? 0 : 1),
        onlyNamed: true,
      };
    default:
      return undefined;
  }
}

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
    call.shell.runText(knownValue(command), call.scope.child(), "git runs an unknown text");
}
