import { posix } from "node:path";
import type { Destroys, Reach, Target } from "../../findings.ts";
import { hostName, hostOfUrl, isDevelopmentUrl } from "../../host.ts";
import { type Shell, target } from "../shell.ts";
import { knownValue, type Scope, unknownValue, type Value } from "../value.ts";
import type { Role } from "./program.ts";

/** What a role is applied in. */
export interface RoleSetting extends Reach {
  readonly shell: Shell;
  readonly scope: Scope;
  /** Whether it only gets what it asks for. */
  readonly looks?: boolean | undefined;
  /** Whether folders that are written cannot be used any more. */
  readonly barsFolders?: boolean | undefined;
  /** What arrives where the word says. */
  readonly from?: readonly Value[] | undefined;
}

/** Puts down what a word in a role does. A word that is not there stands for the working folder. */
export function applyRole(role: Role, word: Value | undefined, setting: RoleSetting): "opaque" | undefined {
  const value = word ?? knownValue(".");
  const { shell, scope, deep } = setting;
  switch (role) {
    case "text":
    case "folder":
      return undefined;
    case "opaque":
      return "opaque";
    case "format":
      // Some of them are read from a file.
      return /^(?:wide|json|yaml|name|(?:jsonpath|custom-columns)=.*)$/s.test(value.text ?? "")
        ? undefined
        : "opaque";
    case "filter":
      return value.text === null || FILTER_READS_MORE.test(value.text) ? "opaque" : undefined;
    case "backup":
      return BACKUP_ENDING.test(value.text ?? " ") ? undefined : "opaque";
    case "unpack":
      applyRole("move", word, setting);
      return write(unpacked(value), { ...setting, from: undefined }, "existing");
    case "repository":
      return /^[\w.-]+\/[\w.-]+$/.test(value.text ?? "") ? undefined : "opaque";
    case "read":
      return read(value, setting, deep);
    case "outside":
      return value.text === null || /^[/~]|(?:^|\/)\.\.(?:\/|$)/.test(value.text)
        ? read(value, setting, deep)
        : undefined;
    case "tree":
    case "staged":
      return read(value, setting, true);
    case "tracked":
      return tracked(value, setting);
    case "list":
      read(value, { ...setting, filter: undefined }, false);
      return read(unknownValue(true), { ...setting, filter: undefined }, false);
    case "globbed":
      return /[{}[\]]/.test(value.text ?? "")
        ? read(unknownValue(true), setting, deep)
        : read(value, setting, deep);
    case "follow":
      shell.findings.doubt("links in a folder may lead out of it");
      return read(value, setting, true);
    case "write":
      return write(value, setting, "never");
    case "overwrite":
      // What is done to the working folder as a whole, such as by a merge, leaves alone what git does not have.
      return write(value, setting, "existing", { keeps: word === undefined });
    case "prefix":
      return prefix(value, setting);
    case "mode":
      // Such a program runs as its owner.
      if (value.text === null || SET_ID.test(value.text))
        shell.findings.hide("permissions that may let others run it as its owner");
      if (lostRights(value.text ?? "") === "read") shell.findings.doubt(UNUSABLE);
      return undefined;
    case "update":
      return write(value, { ...setting, deep: true, only: "some" }, "never");
    case "restore":
      return restore(value, setting);
    case "fill":
      return write(value, { ...setting, deep: true, from: undefined }, "existing");
    case "edit":
      return write(value, setting, "always", { keeps: true });
    case "destroy":
      return write(value, setting, "always", { onLink: true });
    case "move":
      read(value, { ...setting, filter: undefined }, deep);
      return write(value, setting, "always", { onLink: true, keeps: true });
    case "url":
      return url(value, setting);
    case "host":
      return net(setting, value.text === null ? "*" : hostName(value.text.replace(/^.*@/, "")));
    case "remote-read":
    case "remote-write":
      return remote(role, value, setting);
    case "upload":
      return upload(value, setting);
    case "cookie":
      return value.start.includes("=") ? undefined : read(value, setting, false);
    case "shell":
      shell.runText(value, scope.child(), "a command that is only known at run time");
      return undefined;
  }
}

/** What in a filter of jq reads variables of the environment, or files. */
const FILTER_READS_MORE = /\benv\b|\$ENV|\bimport\b|\binclude\b|\binput_filename\b|\bget_search_list\b/;

/** Endings that make no name that means something to a program; a `/` or a `*` in one leads elsewhere. */
const BACKUP_ENDING = /^(?:|[eE]|~|[.~_-]?(?:bak|bck|orig|old|backup|save|tmp)\d*~?)$/i;

/** `a.md` of `a.md.gz`, `a.tar` of `a.tgz`. */
function unpacked(value: Value): Value {
  if (value.text === null || value.pattern !== undefined || value.many) return unknownValue(true);
  const ending = /\.t[gbxlz][a-z0-9]*$/i.test(value.text) ? ".tar" : "";
  return knownValue(value.text.replace(/\.[^./]*$/, ending));
}

function read(value: Value, setting: RoleSetting, deep: boolean): undefined {
  if (value.isPipe || value.text === "-") return;
  const { shell, scope } = setting;
  for (const path of targets(value, scope)) {
    const { search } = value;
    shell.findings.add({ kind: "read", target: path, ...reachOf(value, { ...setting, deep }), search });
  }
}

function write(
  value: Value,
  setting: RoleSetting,
  destroys: Destroys,
  how: { readonly onLink?: boolean; readonly keeps?: boolean } = {},
): undefined {
  // What is found may be a link, and then what it leads to is written.
  if (value.search) return write(unknownValue(false, value.start), setting, destroys, how);
  if (value.isPipe || value.text === "-") return;
  const { shell, scope } = setting;
  const from = setting.from?.map((source) => target(source, scope));
  for (const path of targets(value, scope)) {
    const { barsFolders } = setting;
    const reach = reachOf(value, setting);
    shell.findings.add({ kind: "write", target: path, ...reach, destroys, from, barsFolders, ...how });
  }
}

function reachOf(value: Value, { deep, only, filter }: Reach): Reach {
  if (deep || !value.deep) return { deep, only, filter };
  if (value.names === undefined) return { deep: true, filter };
  return { deep: true, only: "some", filter: filter && { ...filter, only: value.names } };
}

function targets(value: Value, scope: Scope): readonly Target[] {
  const guesses = (value.also ?? []).map((path) => ({ ...target(knownValue(path), scope), ifExists: true }));
  return [target(value, scope), ...guesses];
}

function net({ shell }: RoleSetting, host: string, looks = false): undefined {
  shell.findings.add({ kind: "net", host, looks });
}

/** `u+s`, `=rws`, `4755`, `+4000`: the set-user-ID and set-group-ID bits. */
const SET_ID = /[+=][rwxXtugo]*s|(?:^|[,+=])[FD]?0*[2-7][0-7]{3}(?:$|,)/;

/** Why permissions are asked about that their owner cannot work with. */
export const UNUSABLE = "its owner could no longer use what it changes";

/**
 * What the owner of a file can no longer do to it with such permissions: read it, or write and enter it, which matters
 * to a folder; `undefined` if nothing.
 */
export function lostRights(mode: string): "read" | "enter" | undefined {
  if (/^[0-7]{1,5}$/.test(mode)) {
    const owner = Number(mode.padStart(3, "0").at(-3));
    return (owner & 4) === 0 ? "read" : owner === 7 ? undefined : "enter";
  }
  const lost = mode.split(",").flatMap((clause) => {
    const [, who = "", changes = ""] = /^([ugoa]*)(.*)$/s.exec(clause) ?? [];
    if (who !== "" && !/[ua]/.test(who)) return [];
    return [...changes.matchAll(/([-=])([^-+=]*)/g)].flatMap(([, sign, rights = ""]) =>
      sign === "-"
        ? [...rights]
        : ["r", "w", "x"].filter((right) => !rights.replace("X", "x").includes(right)),
    );
  });
  if (lost.includes("r")) return "read";
  return lost.some((right) => /[wxX]/.test(right)) ? "enter" : undefined;
}

/** Names that begin so and go on with letters or digits. A dot in them might make one that means something. */
function prefix(value: Value, setting: RoleSetting): undefined {
  const isPlain = value.text !== null && /^[\w-]+$/.test(posix.basename(value.text)) && !value.pattern;
  return write(
    isPlain ? knownValue(`${value.text}aa`) : unknownValue(false, value.start),
    setting,
    "existing",
  );
}

/** `:(top)`, `:/`, `:!` before a path, `:0:` before one of the index. */
const MAGIC = /^:(?:\(([^)]*)\)|([/!^]+):?|[0-3]:)?/;

/** What git shows of a path is what the path holds, or held. */
function tracked(value: Value, setting: RoleSetting): undefined {
  const { shell, scope } = setting;
  if (value.text === null || value.pattern !== undefined) return read(value, setting, true);
  for (const path of trackedPaths(value.text)) {
    const named = target(knownValue(path), scope);
    if (/^[0-9a-f]{4,64}$/i.test(path))
      shell.findings.add({ kind: "object", target: target(knownValue("."), scope), hash: path });
    if (/[*?[]/.test(path)) shell.findings.add({ kind: "tracked", target: named, glob: path });
    else
      shell.findings.add({
        kind: "read",
        target: { ...named, isGuess: true },
        deep: true,
        filter: setting.filter,
      });
  }
}

/** The paths that a word may mean to git; none where it only leaves some out. */
function trackedPaths(text: string): readonly string[] {
  const [magic, words = "", signs = ""] = MAGIC.exec(text) ?? [""];
  if (/\bexclude\b/.test(words) || /[!^]/.test(signs)) return [];
  const rest = text.slice(magic.length);
  // A revision has no colon of its own, save in `HEAD^{/text}`; a range of lines has one more.
  const colons = [rest.indexOf(":"), rest.lastIndexOf(":")].filter((at) => at >= 0);
  return [...new Set([rest, ...colons.map((at) => rest.slice(at + 1))])].filter((path) => path !== "");
}

function restore(value: Value, setting: RoleSetting): undefined {
  const { shell, scope } = setting;
  if (
    value.text === null ||
    value.pattern !== undefined ||
    /[*?[]/.test(value.text) ||
    value.text.startsWith(":")
  )
    return write(unknownValue(true), setting, "always");
  const path = { ...target(value, scope), isGuess: true };
  shell.findings.add({ kind: "write", target: path, deep: true, destroys: "always" });
}

/** An address; without a scheme, programs guess one. Brackets and braces are patterns to some of them. */
function url(value: Value, setting: RoleSetting): undefined {
  const { text } = value;
  if (
    text === null ||
    value.pattern !== undefined ||
    /[{}[\]]/.test(text.replace(/^\w+:\/\/[^/]*@?\[[0-9a-f:.]+\]/i, ""))
  ) {
    return net(setting, "*");
  }
  if (/^file:/i.test(text))
    return read(knownValue(text.replace(/^file:\/\/(?:localhost)?(?=\/)/i, "")), setting, false);
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  return net(setting, hostOfUrl(address), setting.looks === true && isDevelopmentUrl(address));
}

/** `host:path`, `user@host:path`, `rsync://host/path`, or a file of this machine. */
function remote(role: "remote-read" | "remote-write", value: Value, setting: RoleSetting): undefined {
  const { text } = value;
  if (text === null) net(setting, "*");
  else if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return net(setting, hostOfUrl(text));
  else {
    const host = /^(?:[^/@:]*@)?(\[[^\]]+\]|[^/:]+):/.exec(text)?.[1];
    if (host !== undefined) return net(setting, hostName(host));
  }
  return role === "remote-read"
    ? read(value, setting, true)
    : write(value, { ...setting, deep: true }, "existing");
}

/** `@file`, `name=@file`, `name=<file`, `name@file`. */
function upload(value: Value, setting: RoleSetting): undefined {
  if (value.text === null) {
    if (value.start === "" || /[@<]$/.test(value.start) || !/[=:]/.test(value.start))
      read(value, setting, false);
    return;
  }
  const named = [...value.text.matchAll(/(?:^|=)[@<]([^;]*)/g)].map(([, file = ""]) => file);
  const [file = /^[^=\s:]+@(.+)$/.exec(value.text)?.[1]] = named;
  if (file === undefined) return;
  // A form may send several, put quotes around each, and take its headers from files.
  const several = [file, ...named].flatMap((one) => [one, ...(one.includes(",") ? one.split(",") : [])]);
  for (const one of new Set(several)) read(knownValue(one.replace(/^"(.*)"$/, "$1")), setting, false);
}
