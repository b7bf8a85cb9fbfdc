import { describe, expect, test } from "vitest";
import { realFiles } from "../../packages/policy/src/facts/files.ts";
import { gatherFacts } from "../../packages/policy/src/facts/gather.ts";
import { hostName, hostOfUrl } from "../../packages/policy/src/facts/net/host.ts";
import { fold } from "../../packages/policy/src/facts/path/fold.ts";
import { givenPath } from "../../packages/policy/src/facts/path/given-path.ts";
import {
  isCredentials,
  isPersistence,
  isSomebodysHome,
} from "../../packages/policy/src/facts/path/place-table.ts";
import { isProcessContent } from "../../packages/policy/src/facts/path/process-path.ts";
import { shellGlob } from "../../packages/policy/src/facts/path/shell-glob.ts";
import { repositoryPrograms } from "../../packages/policy/src/facts/repository.ts";
import { isPlainAwk } from "../../packages/policy/src/facts/shell/programs/awk-script.ts";
import { isPlainSed } from "../../packages/policy/src/facts/shell/programs/sed-script.ts";
import { isModest, readJson, textsIn } from "../../packages/policy/src/facts/tool/json.ts";
import { patchFindings } from "../../packages/policy/src/facts/tool/patch.ts";
import { readToolCall } from "../../packages/policy/src/facts/tool/tool-call.ts";
import { loadToolTables } from "../../packages/policy/src/facts/tool/tool-table.ts";
import { type Grower, grower, growthOf, MOST_GROWTH } from "./growth.ts";

const context = {
  roots: ["/nonexistent/workspace"],
  cwd: "/nonexistent/workspace",
  home: "/nonexistent/home",
  harness: "/nonexistent/reins",
  agent: "claude-code",
  tables: loadToolTables(),
  files: realFiles,
};

/** The facts of a call; the same text twice is read once, so that each call gets one of its own. */
let calls = 0;
function factsOf(tool_name: string, given: object): Promise<unknown> {
  const payload = { tool_name, arguments: given };
  return gatherFacts(
    { event_type: "pre_action", session_id: "s", agent_id: "a", depth: 0, payload },
    context,
  );
}
function run(command: string): Promise<unknown> {
  calls += 1;
  return factsOf("Bash", { command: `${command} #${calls}` });
}

/** Commands are read up to 64 KiB; a part of the sizes that growth is measured at, and ten times that, stay below. */
const COMMANDS: Readonly<Record<string, (size: number) => string>> = {
  words: (size) => `ls ${"a ".repeat(size / 2)}`,
  "one long word": (size) => `ls ${"a".repeat(size)}`,
  options: (size) => `grep ${"-n ".repeat(size / 3)}`,
  "unknown long options": (size) => `grep ${"--zz ".repeat(size / 5)}`,
  "short options in one word": (size) => `ls -${"l".repeat(size)}`,
  commands: (size) => "ls;".repeat(size / 3),
  pipes: (size) => `${"cat|".repeat(size / 4)}cat`,
  "and lists": (size) => `${"ls&&".repeat(size / 4)}ls`,
  assignments: (size) => Array.from({ length: size / 8 }, (_, at) => `v${at}=1`).join(";"),
  "assignments and subshells": (size) =>
    `${Array.from({ length: size / 16 }, (_, at) => `v${at}=1`).join(";")};${"(ls);".repeat(size / 10)}`,
  "assignments and lists": (size) =>
    `${Array.from({ length: size / 16 }, (_, at) => `v${at}=1`).join(";")};${"ls&&".repeat(size / 8)}ls`,
  substitutions: (size) => `echo ${"$(ls) ".repeat(size / 6)}`,
  "nested substitutions": (size) => `echo ${"$(echo ".repeat(size / 8)}${")".repeat(size / 8)}`,
  "open substitutions": (size) => `echo ${"$(".repeat(size / 2)}`,
  backticks: (size) => "`ls` ".repeat(size / 5),
  "nested expansions": (size) => `echo ${"${a:-".repeat(size / 6)}${"}".repeat(size / 6)}`,
  "double quotes": (size) => `echo ${'"a"'.repeat(size / 3)}`,
  "single quotes": (size) => `echo ${"'a'".repeat(size / 3)}`,
  "open quotes": (size) => `echo ${"\"'".repeat(size / 2)}`,
  backslashes: (size) => `echo ${"\\a".repeat(size / 2)}`,
  braces: (size) => `echo ${"{a,b}".repeat(size / 5)}`,
  "long braces": (size) => `echo {${"a,".repeat(size / 2)}b}`,
  "open braces": (size) => `echo ${"{a,".repeat(size / 3)}`,
  "a range": (size) => `echo {1..${"9".repeat(size)}}`,
  stars: (size) => `ls ${"*a".repeat(size / 2)}`,
  brackets: (size) => `ls ${"[a".repeat(size / 2)}`,
  tildes: (size) => `ls ${"~a ".repeat(size / 3)}`,
  redirections: (size) => `ls ${">a ".repeat(size / 3)}`,
  "here-documents": (size) => `${"cat <<E\na\nE\n".repeat(size / 12)}`,
  "a long here-document": (size) => `cat <<E\n${"$a `b`\n".repeat(size / 7)}E`,
  "an open here-document": (size) => `cat <<E\n${"a\n".repeat(size / 2)}`,
  parentheses: (size) => `${"(".repeat(size / 2)}ls${")".repeat(size / 2)}`,
  arithmetic: (size) => `echo $((${"1+".repeat(size / 2)}1))`,
  functions: (size) => Array.from({ length: size / 16 }, (_, at) => `f${at}(){ ls; }`).join(";"),
  loops: (size) => `${"for a in b; do ".repeat(size / 24)}ls${"; done".repeat(size / 24)}`,
  "a loop over many words": (size) => `for a in ${"b ".repeat(size / 2)}; do ls $a; done`,
  tests: (size) => `[[ ${"a == b && ".repeat(size / 10)} c ]]`,
  cases: (size) => `case a in ${"b) ls;; ".repeat(size / 8)} esac`,
  folders: (size) => "cd a;".repeat(size / 5),
  moves: (size) => "mv a b;".repeat(size / 7),
  wrappers: (size) => `${"env ".repeat(size / 4)}ls`,
  "texts in texts": (size) => `${"sh -c '".repeat(size / 8)}`,
  evals: (size) => `eval ${"eval ".repeat(size / 5)}ls`,
  "find with names": (size) => `find . ${"-name a -o ".repeat(size / 11)} -name b -delete`,
  "find with commands": (size) => `find . ${"-exec ls {} ; ".repeat(size / 14)}`,
  "find with folders": (size) => `find ${"a ".repeat(size / 4)} ${"-name b ".repeat(size / 16)}`,
  "an awk script of slashes": (size) => `awk '${"/a/;".repeat(size / 4)}'`,
  "a sed script": (size) => `sed '${"s/a/b/;".repeat(size / 7)}'`,
  "git and colons": (size) => `git show ${"a:".repeat(size / 2)}`,
  "git and many paths": (size) => `git diff -- ${"a ".repeat(size / 2)}`,
  "curl and many files": (size) => `curl -F f=@${"a,".repeat(size / 2)}b https://example.com`,
  "curl and a long address": (size) => `curl https://a${"?@".repeat(size / 2)}`,
  "dots in a path": (size) => `cat ${".".repeat(size)}x`,
  "folders that are not there": (size) => `cat ${"a/".repeat(size / 2)}x`,
  "folders up and down": (size) => `cat ${"a/../".repeat(size / 5)}x`,
  comments: (size) => "ls # a\n".repeat(size / 7),
  newlines: (size) => `ls${"\n".repeat(size)}`,
  blanks: (size) => `ls${" ".repeat(size)}x`,
};

/** Texts that are made to be looked at again and again. */
const TEXTS: Readonly<Record<string, (size: number) => string>> = {
  letters: (size) => "a".repeat(size),
  dots: (size) => `${".".repeat(size)}x`,
  blanks: (size) => `${" ".repeat(size)}x`,
  slashes: (size) => "/".repeat(size),
  "short folders": (size) => "/a".repeat(size / 2),
  "folders of keys, almost": (size) => "/.ssh".repeat(size / 5),
  "processes, almost": (size) => "/proc/1/task/1".repeat(size / 14),
  colons: (size) => `/a${":b".repeat(size / 2)}`,
  "question marks": (size) => `https://${"?".repeat(size)}`,
  "at signs": (size) => `https://${"a@".repeat(size / 2)}`,
  "words with dots": (size) => "a.".repeat(size / 2),
  "closing signs": (size) => `https://a/${")".repeat(size)}a`,
  addresses: (size) => "https://a.b/c ".repeat(size / 14),
  percents: (size) => "%41".repeat(size / 3),
  "letters of other scripts": (size) => "é\u200b".repeat(size / 2),
  newlines: (size) => `x${"\n".repeat(size)}x`,
  "patch headers": (size) => `*** Begin Patch\n${"*** Update File: a\n".repeat(size / 19)}*** End Patch`,
  "diff headers": (size) => "--- a/b\n+++ b/b\n@@ -1 +1 @@\n".repeat(size / 28),
  quotes: (size) => '"'.repeat(size),
  "awk, almost": (size) => "/a".repeat(size / 2),
  "sed commands": (size) => `${"s/a/b/g;p;".repeat(size / 10)}!`,
  "sed texts": (size) => `${"a x ".repeat(size / 4)}\n!`,
  "sed addresses": (size) => `${"/a/,/b/p;".repeat(size / 9)}!`,
  "a star and letters": (size) => `*${"a".repeat(size)}`,
};

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  "hosts of addresses": hostOfUrl,
  "host names": hostName,
  "folded paths": fold,
  "given paths": (text) => givenPath(text, "/", "/home/u"),
  credentials: isCredentials,
  persistence: isPersistence,
  homes: isSomebodysHome,
  processes: isProcessContent,
  patches: (text) => patchFindings(text, ["/"]),
  "awk scripts": isPlainAwk,
  "sed scripts": isPlainSed,
  "JSON texts": readJson,
  "paths of tools": (text) => factsOf("Read", { file_path: text }),
  "globs of tools": (text) => factsOf("Glob", { pattern: text }),
  "searches of tools": (text) => factsOf("Grep", { pattern: text, glob: text }),
  "addresses of tools": (text) => factsOf("WebFetch", { url: text, prompt: "" }),
  "words of unknown tools": (text) =>
    factsOf("mcp__x__y", { a: text, path: text, command: text.slice(0, 40_000) }),
  "names of tools": (text) => factsOf(text, {}),
};

/** Arguments that are wide, deep or many. */
const VALUES: Readonly<Record<string, (size: number) => unknown>> = {
  "a wide list": (size) => Array.from({ length: size / 4 }, () => 1),
  "a list of texts": (size) => Array.from({ length: size / 4 }, (_, at) => `t${at}`),
  "a list of lists": (size) => Array.from({ length: size / 8 }, () => [[]]),
  "a wide object": (size) => Object.fromEntries(Array.from({ length: size / 8 }, (_, at) => [`k${at}`, at])),
  "a deep list": (size) =>
    Array.from({ length: Math.min(size / 4, 3_000) }).reduce<unknown>((inner) => [inner], 1),
};

const VALUE_READERS: Readonly<Record<string, (value: unknown) => unknown>> = {
  "texts in values": (value) => textsIn(value, 200),
  modesty: isModest,
  "tool calls": (value) => readToolCall({ tool_name: "x", arguments: value, input: value }),
  "unknown tools": (value) => factsOf("mcp__x__y", { value }),
  "known tools": (value) => factsOf("Read", { file_path: value }),
};

/** Settings of a repository that somebody else wrote. */
const SETTINGS: Readonly<Record<string, (size: number) => string>> = {
  newlines: (size) => "\n".repeat(size),
  blanks: (size) => " \t".repeat(size / 2),
  sections: (size) => "[submodule".repeat(size / 10),
  "open brackets": (size) => "[".repeat(size),
  settings: (size) => "a = b\n".repeat(size / 6),
};

function settingsOf(text: string): Promise<unknown> {
  const folder = "/w/.git";
  return repositoryPrograms(
    {
      realpath: (path) => Promise.resolve(path),
      lstat: (path) => Promise.resolve(path === folder ? "folder" : undefined),
      readlink: () => Promise.resolve(undefined),
      list: () => Promise.resolve([]),
      readStart: (path) => Promise.resolve(path === `${folder}/config` ? text : undefined),
      linkedIdentity: () => Promise.resolve(undefined),
      bytes: () => Promise.resolve(undefined),
      state: () => Promise.resolve(undefined),
    },
    "/w",
  );
}

/** Reads one text after the other: the one that is slow makes all of them slow. */
function answering(read: (text: string) => unknown): (texts: readonly string[]) => Promise<void> {
  return async (texts) => {
    for (const text of texts) await read(text);
  };
}

const growers: readonly Grower[] = [
  ...Object.entries(COMMANDS).map(([name, make]) =>
    grower(`a command of ${name}`, run, (size) => make(size / 32)),
  ),
  ...Object.entries(READERS).map(([reader, read]) =>
    grower(reader, answering(read), (size) => Object.values(TEXTS).map((make) => make(size / 16))),
  ),
  ...Object.entries(VALUE_READERS).flatMap(([reader, read]) =>
    Object.entries(VALUES).map(([name, make]) =>
      grower(`${reader}: ${name}`, read, (size) => make(size / 16)),
    ),
  ),
  ...Object.entries(SETTINGS).map(([name, make]) =>
    grower(`settings of git: ${name}`, settingsOf, (size) => make(size / 4)),
  ),
  grower(
    "a glob of many stars",
    (pattern: string) => shellGlob(pattern)?.("a".repeat(255)),
    (size) => "*a".repeat(size / 2),
  ),
  grower(
    "a glob of many brackets",
    (pattern: string) => shellGlob(pattern)?.("a".repeat(255)),
    (size) => "[".repeat(size / 2),
  ),
  grower(
    "a glob of open ranges",
    (pattern: string) => shellGlob(pattern)?.("a".repeat(255)),
    (size) => "[a-".repeat(size / 3),
  ),
];

describe("facts take time in proportion to what they are given", () => {
  test.each(growers.map((one) => [one.name, one] as const))("%s", { timeout: 60_000 }, async (_, one) => {
    expect(await growthOf(one)).toBeLessThanOrEqual(MOST_GROWTH);
  });
});
