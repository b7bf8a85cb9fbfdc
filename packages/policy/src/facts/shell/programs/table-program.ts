import { posix } from "node:path";
import { fileFilterOf } from "../../file-filter.ts";
import type { Obeyed } from "../../findings.ts";
import { noteMoved, type Shell } from "../shell.ts";
import { type Folders, isEndless, knownValue, type Scope, type Value } from "../value.ts";
import type { Program, Role } from "./program.ts";
import { applyRole, lostRights, type RoleSetting, UNUSABLE } from "./role.ts";
import { endsInput, isHuge, jqMayLoop, type ReadWords, readWords } from "./words.ts";

/** What reading a program by its table entry came to. */
export interface Reading {
  /** Whether what it does cannot be seen from its words. */
  readonly opaque: boolean;
  /** Whether git runs the repository's hooks for it. */
  readonly hooks?: boolean | undefined;
  /** Files that choose what runs in its place, and the folders from which on they are looked for. */
  readonly obeys?: Obeyed | undefined;
}

/** Options of curl with which it does more than to get something. */
const SENDING =
  "X request d data data-raw data-binary data-ascii data-urlencode json F form form-string T upload-file x proxy socks5 socks5-hostname preproxy resolve".split(
    " ",
  );

/** Reads the words of a program by its entry, and puts down what they say it does. */
export function readByTable(
  shell: Shell,
  name: string,
  entry: Program,
  words: readonly Value[],
  scope: Scope,
): Reading {
  const obeys = entry.obeys && { names: entry.obeys, folders: scope.folders };
  if (isQuestion(entry, words)) return { opaque: false, obeys };
  const read = readWords(words, entry);
  const shape = shapeFor(entry, read);
  const first = read.operands[0];
  const doubts = [...read.doubts.map((why) => `${name}: ${why}`)];
  if (shape.opaque) doubts.push(`${name} ${shape.opaque}`);
  const like = shape.like === undefined ? undefined : new RegExp(shape.like);
  if (like && read.operands.some((operand) => operand.text === null || !like.test(operand.text))) {
    doubts.push(`${name} with words of a kind that is not known`);
  }
  if (shape.forbid !== undefined && (first?.text == null || new RegExp(shape.forbid).test(first.text))) {
    doubts.push(`${name} with a script that may do more than show`);
  }
  const isCut = name === "head" && endsInput(texts(words), texts(read.operands));
  if (shape.endless || (!isCut && read.operands.some(isEndless))) shell.findings.isEndless = true;
  if (isHuge(name, words, read)) shell.findings.doubt(`${name} of more than fits on some disks`);
  if (name === "chmod" && read.present.has("r")) shell.findings.doubt(UNUSABLE);
  if (name === "jq" && jqMayLoop(first?.text ?? "")) shell.findings.isLong = true;
  if (shape.doubt) shell.findings.doubt(`${name} ${shape.doubt}`);
  if (shape.service !== undefined)
    shell.findings.add({ kind: "net", host: `service:${shape.service}`, looks: true });
  if (shape.net) shell.findings.add({ kind: "net", host: "*" });
  const filter = fileFilterOf(name, read);
  const looks = name === "curl" && !SENDING.some((option) => read.present.has(option));
  const setting: RoleSetting = {
    shell,
    scope: inFolder(read, scope),
    deep: shape.deep ?? false,
    filter,
    looks,
    barsFolders: barsFolders(name, read),
  };
  for (const { name: option, value, role } of read.options) {
    const from = option === "t" || option === "target-directory" ? read.operands : undefined;
    if (applyRole(role, value, { ...setting, from }) === "opaque")
      doubts.push(`${name} with an option that makes it do anything`);
  }
  if (shape.always) applyRole(shape.always, undefined, { ...setting, deep: true });
  for (const [value, role] of operandRoles(shape, read)) {
    if (applyRole(role, value, { ...setting, from: arriving(role, shape, read) }) === "opaque") {
      doubts.push(`${name} runs what it is given`);
    }
  }
  if (shape.links) noteLinks(shape.links, read.operands, scope);
  for (const why of doubts) shell.findings.hideIn(why);
  return { opaque: doubts.length > 0, hooks: shape.hooks, obeys };
}

/** The words of a subcommand that is known, `docker compose ps`; of any other, those of the program. */
export function readSubcommand(
  shell: Shell,
  name: string,
  entry: Program,
  words: readonly Value[],
  scope: Scope,
): Reading {
  const known = entry.subcommands ?? {};
  for (const count of [2, 1]) {
    const sub = words.slice(0, count).map(({ text }) => text ?? "\0");
    const leaf = Object.hasOwn(known, sub.join(" ")) ? known[sub.join(" ")] : undefined;
    if (leaf) return readByTable(shell, `${name} ${sub.join(" ")}`, leaf, words.slice(count), scope);
  }
  return readByTable(shell, name, entry, words, scope);
}

/** Whether permissions are set that lock a folder; `-r` among them keeps its owner from reading. */
function barsFolders(name: string, { present, operands }: ReadWords): boolean {
  if (name !== "chmod") return false;
  return (
    ["r", "w", "x"].some((right) => present.has(right)) || lostRights(operands[0]?.text ?? "") !== undefined
  );
}

function texts(values: readonly Value[]): readonly string[] {
  return values.map(({ text, start }) => text ?? start);
}

function isQuestion(entry: Program, words: readonly Value[]): boolean {
  return (entry.questions ?? []).some(
    (question) =>
      question.length === words.length && question.every((word, index) => words[index]?.text === word),
  );
}

type Shape = Omit<Program, "subcommands" | "when" | "questions" | "obeys" | "wraps">;

/** An entry as the options that are there make it. */
export function shapeFor(entry: Program, read: ReadWords): Shape {
  let shape: Shape = entry;
  for (const { options, ...change } of entry.when ?? []) {
    if (options.some((option) => read.present.has(option))) shape = { ...shape, ...change };
  }
  return shape;
}

/** Which operand is what. A glob may be several operands, so it may be what its neighbours are, too. */
function operandRoles(shape: Shape, read: ReadWords): readonly (readonly [Value | undefined, Role])[] {
  const operands =
    shape.implied !== undefined && read.operands.length < 2
      ? [read.operands[0] ?? knownValue("-"), knownValue(shape.implied)]
      : read.operands;
  const usual = shape.operands ?? "text";
  const hasFirst =
    shape.first !== undefined && !(shape.firstUnless ?? []).some((option) => read.present.has(option));
  const isAlone = operands.length <= (hasFirst ? 1 : 0) && !operands.some((value) => value.many);
  if (isAlone && shape.without) {
    const [first] = operands;
    return [...(first && shape.first ? [[first, shape.first] as const] : []), [undefined, shape.without]];
  }
  const lastIndex = shape.last === undefined || operands.length < 2 ? -1 : operands.length - 1;
  return operands.flatMap((value, index): (readonly [Value, Role])[] => {
    const roles = new Set<Role>();
    const isVague = value.many || value.pattern !== undefined;
    if (index === 0 && hasFirst && shape.first) roles.add(shape.first);
    if (index === lastIndex && shape.last) roles.add(shape.last);
    if (roles.size === 0 || isVague) roles.add(usual);
    // Where a glob or an unknown stands last, the last word is one of many.
    if (isVague && shape.last && index >= operands.length - 1) roles.add(shape.last);
    return [...roles].map((role) => [value, role] as const);
  });
}

function arriving(role: Role, shape: Shape, read: ReadWords): readonly Value[] | undefined {
  return role === shape.last ? read.operands.slice(0, -1) : undefined;
}

/** What arrives somewhere may hold links, or be one, that no file system knows yet. */
function noteLinks(kind: "itself" | "below", operands: readonly Value[], scope: Scope): void {
  const last = operands.at(-1);
  if (!last) return;
  const isFolder = last.text !== null && /(?:^|\/)\.{0,2}$/.test(last.text);
  const isAlone = operands.length === 1;
  if (!isFolder && !isAlone) noteMoved(last, scope, kind === "itself");
  for (const source of isAlone ? operands : operands.slice(0, -1)) {
    const name = source.text === null ? null : posix.basename(source.text);
    const path = isAlone ? name : name === null ? null : `${last.text}/${name}`;
    noteMoved(path === null ? last : knownValue(path), scope, kind === "itself");
  }
}

/** `-C folder`: the paths of this line start there. Where there are several, each is about the words behind it. */
export function inFolder(read: ReadWords, scope: Scope): Scope {
  const [folder, ...others] = read.options.filter(({ role }) => role === "folder");
  if (!folder) return scope;
  const inside = scope.copy();
  inside.folders = others.length > 0 ? undefined : foldersAfter(folder.value, scope);
  return inside;
}

/** Where a shell may be after going to a folder. */
export function foldersAfter(value: Value, scope: Scope): Folders {
  const { text } = value;
  if (text === null || value.pattern !== undefined) return undefined;
  if (text.startsWith("/")) return [text];
  return scope.folders?.map((folder) => `${folder}/${text}`);
}
