import { knownValue, unknownValue, type Value } from "../value.ts";
import { type Call, CLEAR, type Handler, hidden } from "./call.ts";
import { applyRole } from "./role.ts";

const PLAIN = new Set([
  "-print",
  "-print0",
  "-prune",
  "-ls",
  "-quit",
  "-depth",
  "-d",
  "-xdev",
  "-mount",
  "-x",
  "-empty",
  "-executable",
  "-readable",
  "-writable",
  "-true",
  "-false",
  "-not",
  "!",
  "(",
  ")",
  ",",
  "-o",
  "-or",
  "-a",
  "-and",
  "-daystart",
  "-noleaf",
  "-nouser",
  "-nogroup",
  "-ignore_readdir_race",
  "-warn",
  "-nowarn",
  "-H",
  "-P",
  "-s",
  "-X",
]);
const WITH_TEXT = new Set([
  "-name",
  "-iname",
  "-path",
  "-ipath",
  "-wholename",
  "-iwholename",
  "-regex",
  "-iregex",
  "-regextype",
  "-type",
  "-xtype",
  "-size",
  "-mtime",
  "-mmin",
  "-atime",
  "-amin",
  "-ctime",
  "-cmin",
  "-maxdepth",
  "-mindepth",
  "-perm",
  "-user",
  "-group",
  "-uid",
  "-gid",
  "-links",
  "-inum",
  "-printf",
  "-fstype",
  "-lname",
  "-ilname",
  "-used",
  "-newermt",
  "-newerct",
  "-newerat",
  "-O",
  "-D",
  "-E",
]);
const WITH_FILE = new Set(["-newer", "-anewer", "-cnewer", "-samefile"]);
const WRITES_FILE = new Set(["-fprint", "-fprint0", "-fls", "-fprintf"]);
const RUNS = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

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
  const onlyFiles = expression.some(
    ({ text }, index) => text === "-type" && expression[index + 1]?.text === "f",
  );
  const follows = [...before, ...expression].some(({ text }) => text === "-L" || text === "-follow");
  const doubts: string[] = [];
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
      for (const root of roots) applyRole("destroy", root, { ...setting, deep: true });
    } else if (RUNS.has(word)) {
      const length = commandLength(expression.slice(at + 1));
      const command = expression.slice(at + 1, at + 1 + length);
      const isInside = word === "-exec" || word === "-ok";
      const staysInside = onlyFiles && !follows && isInside;
      runFor(call, command, staysInside ? foundPlaces(roots, expression) : [unknownValue(false, "./")]);
      at += length + 1;
    } else if (word === "-L" || word === "-follow") continue;
    else doubts.push(word);
  }
  if (follows) shell.findings.doubt("find follows links, which may lead out of the folder");
  if (expression.some(({ text }) => text === null))
    return hidden(call, "find with words that are only known at run time");
  return doubts.length === 0
    ? CLEAR
    : hidden(call, `find: ${doubts[0]} is not a known part of an expression`);
};

function isEarly(text: string | null): boolean {
  return text === "-H" || text === "-L" || text === "-P";
}

function commandLength(words: readonly Value[]): number {
  const end = words.findIndex(
    ({ text }, at) => text === ";" || (text === "+" && words[at - 1]?.text === "{}"),
  );
  return end === -1 ? words.length : end;
}

/** The command runs on what is found: below the folders, if it is files and no links; anywhere else otherwise. */
function runFor(call: Call, command: readonly Value[], places: readonly Value[]): void {
  for (const found of places) {
    const words = command.map((word): Value => {
      if (word.text === "{}") return found;
      return word.text?.includes("{}") ? unknownValue(false) : word;
    });
    call.shell.runWords(words, call.scope.copy());
  }
}

/** The names that are looked for say more than the folders do. */
function foundPlaces(roots: readonly (Value | undefined)[], expression: readonly Value[]): readonly Value[] {
  const names = expression.flatMap(({ text }, at) =>
    /^-i?name$/.test(text ?? "") ? [expression[at + 1]?.text ?? "*"] : [],
  );
  return roots.flatMap((root) => {
    const folder = root?.text ?? (root === undefined ? "." : null);
    if (folder === null) return [unknownValue(false)];
    return names.length === 0 ? [knownValue(folder)] : names.map((name) => knownValue(`${folder}/${name}`));
  });
}
