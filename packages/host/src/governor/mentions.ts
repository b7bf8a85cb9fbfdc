/** A reference to a file in a text: an `@` and what follows it. */
export interface Mention {
  /** The position of the `@`. */
  readonly at: number;
  /** What it may name, by the ways in which agents read such references; the longest first. */
  readonly names: readonly string[];
  /** Whether it can be meant for nothing else than a file, a folder or an address. */
  readonly isPath: boolean;
  /** Whether it is where an address of mail has its `@`. */
  readonly isInWord: boolean;
  /** Whether it is longer than is looked at, so that it may name something else than its names. */
  readonly isCut: boolean;
}

/** As long as a reference may be. */
const MAX_LENGTH = 512;
/** So many references of a text are looked at; of more, each is taken for a path that is not there. */
const MAX_MENTIONS = 200;

const CLOSING: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  "`": "`",
  "“": "”",
  "<": ">",
  "(": ")",
};
const SCHEME = /^(?:file|folder|path|dir):(?:\/\/)?/iu;
const WORD_BEFORE = /[\p{L}\p{N}_.+-]$/u;
const DELIMITER = /[\s,;!?()[\]{}<>"'`|*]/u;
const TRAILING: ReadonlySet<string> = new Set(".,;:!?)]}>'\"`*_");
/** Lines of a file, such as `:12` and `:12-40`. */
const LINES = /:\d{1,9}(?:[-:]\d{1,9})?$/u;
const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//iu;

/** The references in a text; those beyond a number are not looked at. */
export function mentionsIn(text: string, most = MAX_MENTIONS): readonly Mention[] {
  const found: Mention[] = [];
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    const after = text[at + 1];
    // Of several, such as those that begin a hunk of a diff, only the last could be one.
    if (after === undefined || after === "@" || /\s/u.test(after)) continue;
    const isInWord = WORD_BEFORE.test(text.slice(Math.max(0, at - 2), at));
    if (found.length >= most) {
      found.push({ at, names: [], isPath: !isInWord, isInWord, isCut: false });
      continue;
    }
    const names = namesIn(text.slice(at + 1, at + 1 + MAX_LENGTH));
    const isPath = !isInWord && (names.some(looksLikePath) || after in CLOSING);
    found.push({ at, names, isPath, isInWord, isCut: isCutAt(text, at + 1) });
  }
  return found;
}

/** A text in which no agent takes the references at these places for some: a space stands behind each `@`. */
export function defused(text: string, places: readonly number[]): string {
  let result = "";
  let from = 0;
  for (const at of places) {
    result += `${text.slice(from, at)}@ `;
    from = at + 1;
  }
  return result + text.slice(from);
}

/** A text in which no agent finds any reference at all. */
export function defusedWhole(text: string): string {
  return text.replace(/@(?=[^\s@])/gu, "@ ");
}

/** Whether a reference goes on beyond what is looked at: without a space until there, or in quotes that end later. */
function isCutAt(text: string, from: number): boolean {
  const end = from + MAX_LENGTH;
  const rest = text.slice(from, end);
  if (text.length <= end) return false;
  if (/^(?:\\.|\S)*/u.exec(rest)?.[0] === rest && !/\s/u.test(text[end] ?? "")) return true;
  const body = rest.slice(SCHEME.exec(rest)?.[0].length ?? 0);
  const closing = CLOSING[body[0] ?? ""];
  return closing !== undefined && body.indexOf(closing, 1) < 0 && text.indexOf(closing, end) >= 0;
}

/** The names that a reference may have, from what follows its `@`. */
function namesIn(rest: string): readonly string[] {
  const names = new Set<string>();
  const scheme = SCHEME.exec(rest)?.[0] ?? "";
  for (const body of new Set([rest, rest.slice(scheme.length)])) {
    const quoted = quotedIn(body);
    if (quoted !== undefined) names.add(quoted);
    const [run = ""] = /^(?:\\.|\S)*/u.exec(body) ?? [];
    const plain = run.split(/(?<!\\)\s/u, 1)[0] ?? "";
    const cut = body.slice(0, Math.max(0, body.search(DELIMITER)));
    for (const name of [plain, plain.replace(/\\(.)/gu, "$1"), body.split(/\s/u, 1)[0] ?? "", cut]) {
      names.add(name);
      names.add(trimmed(name));
      names.add(withoutLines(trimmed(name)));
      names.add(withoutLines(name));
    }
  }
  for (const name of [...names]) names.add(decoded(name));
  names.delete("");
  return [...names];
}

function trimmed(name: string): string {
  let end = name.length;
  while (end > 0 && TRAILING.has(name[end - 1] ?? "")) end -= 1;
  return name.slice(0, end);
}

function withoutLines(name: string): string {
  const [file = ""] = name.split("#", 1);
  return file.slice(0, -24) + file.slice(-24).replace(LINES, "");
}

function quotedIn(body: string): string | undefined {
  const closing = CLOSING[body[0] ?? ""];
  if (closing === undefined) return undefined;
  const end = body.indexOf(closing, 1);
  return end < 0 ? body.slice(1).split("\n", 1)[0] : body.slice(1, end);
}

function decoded(name: string): string {
  try {
    return name.includes("%") ? decodeURIComponent(name) : name;
  } catch {
    return name;
  }
}

function looksLikePath(name: string): boolean {
  return (
    name.includes("/") ||
    name.includes("\\") ||
    name.startsWith("~") ||
    name.startsWith(".") ||
    ADDRESS.test(name)
  );
}
