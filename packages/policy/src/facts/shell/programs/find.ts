import { posix } from "node:path";
import { nameGlob } from "../../../glob.ts";
import type { Found } from "../shell.ts";
import { knownValue, unknownValue, type Value } from "../value.ts";
import { applyRole } from "./role.ts";
import { type Call, CLEAR, type Handler, hidden } from "./words.ts";

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

const PLAIN = words(`
  -print -print0 -prune -ls -quit -depth -d -xdev -mount -x -empty -executable -readable
  -writable -true -false -not ! ( ) , -o -or -a -and -daystart -noleaf -nouser -nogroup
  -ignore_readdir_race -warn -nowarn -H -P -s -X
`);
const WITH_TEXT = words(`
  -name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype
  -size -mtime -mmin -atime -amin -ctime -cmin -maxdepth -mindepth -perm -user -group -uid
  -gid -links -inum -printf -fstype -lname -ilname -used -newermt -newerct -newerat -O -D
  -E
`);
const WITH_FILE = new Set(["-newer", "-anewer", "-cnewer", "-samefile"]);
const WRITES_FILE = new Set(["-fprint", "-fprint0", "-fls", "-fprintf"]);
const RUNS = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

/** How many actions of a kind of one `find` are gone through. */
const RUN_LIMIT = 64;
/** How many places of matches are distinguished; beyond it, anywhere below the folders. */
const PLACE_LIMIT = 256;

/** `find`: folders first, then an expression of which a part may delete, write or run. */
export const findProgram: Handler = (call) => {
  const { words, shell } = call;
  const begin = words.findIndex(({ text, start }) => /^[-(!,]/.test(text ?? start) && !isEarly(text));
  const before = begin === -1 ? words : words.slice(0, begin);
  const folders = before.filter(({ text }) => !isEarly(text));
  const expression = begin === -1 ? [] : words.slice(begin);
  const roots: readonly (Value | undefined)[] = folders.length === 0 ? [undefined] : folders;
  const setting = { ...call, deep: false };
  for (const root of roots) applyRole("read", root, setting);
  const follows = [...before, ...expression].some(
    ({ text }) => text === "-follow" || (isEarly(text) && text?.includes("L")),
  );
  const doubts: string[] = [];
  let [runs, deletes] = [0, 0];
  for (let at = 0; at < expression.length; at += 1) {
    const word = expression[at]?.text ?? "";
    if (PLAIN.has(word)) continue;
    if (WITH_TEXT.has(word)) at += 1;
    else if (WITH_FILE.has(word)) {
      at += 1;
      applyRole("read", expression[at], setting);
    } else if (WRITES_FILE.has(word)) {
      applyRole("overwrite", expression[at + 1], setting);
      at += word === "-fprintf" ? 2 : 1;
    } else if (word === "-delete") {
      deletes += 1;
      const tests = deletes <= RUN_LIMIT ? testsBefore(expression, at) : [];
      for (const place of foundPlaces(roots, namesIn(tests))) applyRole("destroy", place, setting);
    } else if (RUNS.has(word)) {
      const end = commandEnd(expression, at + 1);
      runs += 1;
      if (runs <= RUN_LIMIT) {
        const isInside = word === "-exec" || word === "-ok";
        const tests = testsBefore(expression, at);
        const names = namesIn(tests);
        const places = foundPlaces(roots, names);
        const found = areFiles(tests) ? places : places.map((place) => searched(place, names));
        runFor(
          call,
          expression.slice(at + 1, end),
          !follows && isInside ? found : [unknownValue(false, "./")],
        );
      }
      at = end;
    } else if (isEarly(word) || word === "-follow") continue;
    else doubts.push(word);
  }
  if (follows) shell.findings.doubt("find follows links, which may lead out of the folder");
  if (runs > RUN_LIMIT) return hidden(call, "find runs too many commands to follow");
  // What begins like a path is one; anything else may be a part of the expression.
  if (expression.some(({ text }) => text === null) || words.some(mayBeExpression))
    return hidden(call, "find with words that are only known at run time");
  return doubts.length === 0
    ? CLEAR
    : hidden(call, `find: ${doubts[0]} is not a known part of an expression`);
};

function mayBeExpression({ text, start, many }: Value): boolean {
  return text === null && (many || !/^[^-(!,]/.test(start));
}

/** What is found and may be a link is looked for when the facts are put together. */
function searched(place: Value, names: readonly string[] | undefined, splits = false): Value {
  return place.text === null ? place : { ...place, search: { names, splits } };
}

/** The paths that a `find` prints which does nothing else; `undefined` where they cannot be determined. */
export function foundPaths(words: readonly Value[]): Found | undefined {
  const begin = words.findIndex(({ text, start }) => /^[-(!,]/.test(text ?? start));
  const roots = begin === -1 ? words : words.slice(0, begin);
  const expression = begin === -1 ? [] : words.slice(begin);
  for (let at = 0; at < expression.length; at += 1) {
    const text = expression[at]?.text ?? "";
    if (/^-(?:printf|ls|O|D|E|H|X|s|d|x)$/.test(text)) return undefined;
    if (WITH_TEXT.has(text)) at += 1;
    else if (!PLAIN.has(text)) return undefined;
  }
  if (roots.some(({ text, pattern }) => text === null || pattern !== undefined)) return undefined;
  const prints = [...expression.keys()].filter((at) => /^-print0?$/.test(expression[at]?.text ?? ""));
  if (prints.length > RUN_LIMIT) return undefined;
  const endsWithNul = expression.some(({ text }) => text === "-print0");
  const tests = prints.map((at) => testsBefore(expression, at));
  const names = namesIn([{ any: tests.length > 0 ? tests : alternativesOf(expression) }]);
  const places = foundPlaces(roots.length === 0 ? [undefined] : roots, names);
  return { endsWithNul, values: places.map((place) => searched(place, names, !endsWithNul)) };
}

/** Letters that stand before the folders; some only where find is that of BSD. */
function isEarly(text: string | null): boolean {
  return /^-[EHLPXdsx]+$/.test(text ?? "");
}

/** Where the command ends that begins at a word. */
function commandEnd(words: readonly Value[], begin: number): number {
  for (let at = begin; at < words.length; at += 1) {
    const text = words[at]?.text;
    if (text === ";" || (text === "+" && at > begin && words[at - 1]?.text === "{}")) return at;
  }
  return words.length;
}

/** The command runs on what is found: below the folders, if it is files and no links; anywhere else otherwise. */
function runFor(call: Call, command: readonly Value[], places: readonly Value[]): void {
  for (const found of places) {
    const words = command.map((word, at): Value => {
      // What is found is run itself: its folder does not show which program that is.
      if (at === 0 && word.text?.includes("{}")) return unknownValue(false);
      if (word.text === "{}") return found;
      return word.text?.includes("{}") ? unknownValue(false) : word;
    });
    call.shell.runWords(words, call.scope.child());
  }
}

/** A test of an expression with its value, or a group of which one list of tests holds. */
type Test =
  | { readonly name: string; readonly value: string }
  | { readonly any: readonly (readonly Test[])[] };

/** A group that is being read: the alternatives before the last `-o`, and the tests since. */
interface Group {
  readonly isNegated: boolean;
  alternatives: (readonly Test[])[];
  tests: Test[];
}

/** The tests that hold for whatever gets to a place of an expression: not negated, and no way around them. */
function testsBefore(expression: readonly Value[], end: number): readonly Test[] {
  return groupsAt(expression, end).flatMap(({ tests }) => tests);
}

/** The ways in which a whole expression holds. */
function alternativesOf(expression: readonly Value[]): readonly (readonly Test[])[] {
  const [whole] = groupsAt(expression, expression.length);
  return whole ? [...whole.alternatives, whole.tests] : [];
}

/** The groups that are open at a place of an expression, the outermost first. */
function groupsAt(expression: readonly Value[], end: number): readonly Group[] {
  const outermost: Group = { isNegated: false, alternatives: [], tests: [] };
  const open = [outermost];
  let isNegated = false;
  for (let at = 0; at < end; at += 1) {
    const name = expression[at]?.text ?? "";
    const group = open.at(-1) ?? outermost;
    if (name === "!" || name === "-not") isNegated = !isNegated;
    else if (name === "-o" || name === "-or") {
      group.alternatives.push(group.tests);
      group.tests = [];
    } else if (name === ",") [group.alternatives, group.tests] = [[], []];
    else if (name === "(") {
      open.push({ isNegated, alternatives: [], tests: [] });
      isNegated = false;
    } else if (name === ")") {
      open.pop();
      if (!group.isNegated) open.at(-1)?.tests.push({ any: [...group.alternatives, group.tests] });
    } else {
      if (!isNegated) group.tests.push({ name, value: expression[at + 1]?.text ?? "*" });
      isNegated = false;
      if (RUNS.has(name)) at = commandEnd(expression, at + 1);
      else if (WITH_TEXT.has(name) || WITH_FILE.has(name) || WRITES_FILE.has(name))
        at += name === "-fprintf" ? 2 : 1;
    }
  }
  return open;
}

/** Whether only files, and no links, pass some tests. */
function areFiles(tests: readonly Test[]): boolean {
  return tests.some((test) =>
    "any" in test ? test.any.every(areFiles) : test.name === "-type" && test.value === "f",
  );
}

/** Files that many workspaces have and that matter more than others of their name. */
const NOTABLE = [
  ".env",
  ".env.local",
  ".envrc",
  ".npmrc",
  ".mcp.json",
  "opencode.json",
  "CLAUDE.md",
  "AGENTS.md",
  ".git/config",
  ".git/hooks/pre-commit",
  ".claude/settings.json",
  ".claude/settings.local.json",
  ".vscode/settings.json",
  ".vscode/tasks.json",
  ".github/workflows/ci.yml",
  ".gitlab-ci.yml",
  ".husky/pre-commit",
  ".pre-commit-config.yaml",
];

/** What is found lies below the folders; the names that are looked for say more. */
function foundPlaces(roots: readonly (Value | undefined)[], names: readonly string[] = []): readonly Value[] {
  const isVague = names.length === 0 || roots.length * names.length > PLACE_LIMIT;
  const isNamed = (path: string): boolean => names.some((name) => matchesAnyCase(name, posix.basename(path)));
  const notable = isVague ? [] : NOTABLE.filter(isNamed);
  return roots.flatMap((root) => {
    const folder = root === undefined ? "." : root.text;
    if (folder === null || root?.pattern !== undefined) return [unknownValue(false, "./")];
    if (isVague) return [{ ...knownValue(folder), deep: true }];
    const also = notable.map((path) => `${folder}/${path}`);
    // The names say what it is; `also` says that it may be anywhere below the folder.
    const named = names.map((name) => ({ ...knownValue(`${folder}/${name}`), also }));
    return [...named, { ...knownValue(folder), deep: true, names }];
  });
}

/** The names of what passes some tests; `undefined` where it may be any. */
function namesIn(tests: readonly Test[]): readonly string[] | undefined {
  for (const test of tests) {
    const found = "any" in test ? test.any.map(namesIn) : /^-i?name$/.test(test.name) ? [[test.value]] : [];
    const names = found.flatMap((one) => one ?? ["*"]);
    if (names.length > 0 && !names.includes("*")) return names;
  }
  return undefined;
}

function matchesAnyCase(pattern: string, name: string): boolean {
  const matcher = nameGlob(pattern.toLowerCase(), { matchesDots: true });
  return matcher?.(name.toLowerCase()) ?? true;
}
