import type { Destroys, Reach, Target } from "../../findings.ts";
import { hostName, hostOfUrl } from "../../net/host.ts";
import { target } from "../path-target.ts";
import type { Scope } from "../scope.ts";
import type { Shell } from "../shell.ts";
import { knownValue, type Value } from "../value.ts";
import type { Role } from "./program.ts";

/** What a role is applied in. */
export interface RoleSetting extends Reach {
  readonly shell: Shell;
  readonly scope: Scope;
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
    case "read":
      return read(value, setting, deep);
    case "outside":
      return value.text === null || /^[/~]|(?:^|\/)\.\.(?:\/|$)/.test(value.text)
        ? read(value, setting, deep)
        : undefined;
    case "tree":
      return read(value, setting, true);
    case "follow":
      shell.findings.doubt("links in a folder may lead out of it");
      return read(value, setting, true);
    case "write":
      return write(value, setting, "never");
    case "overwrite":
      return write(value, setting, "existing");
    case "fill":
      return write(value, { ...setting, deep: true }, "existing");
    case "edit":
      return write(value, setting, "always");
    case "destroy":
      return write(value, setting, "always", true);
    case "move":
      read(value, { ...setting, sight: undefined }, deep);
      return write(value, setting, "always", true);
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
      shell.runText(value, scope.copy(), "a command that is only known at run time");
      return undefined;
  }
}

function read(value: Value, setting: RoleSetting, deep: boolean): undefined {
  if (value.isPipe || value.text === "-") return;
  const { shell, scope } = setting;
  for (const path of targets(value, scope)) {
    shell.findings.add({ kind: "read", target: path, ...reachOf(value, { ...setting, deep }) });
  }
}

function write(value: Value, setting: RoleSetting, destroys: Destroys, onLink = false): undefined {
  if (value.isPipe || value.text === "-") return;
  const { shell, scope } = setting;
  const from = setting.from?.map((source) => target(source, scope));
  for (const path of targets(value, scope)) {
    shell.findings.add({ kind: "write", target: path, ...reachOf(value, setting), destroys, from, onLink });
  }
}

function reachOf(value: Value, { deep, only, sight }: Reach): Reach {
  if (deep || !value.deep) return { deep, only, sight };
  return value.some ? { deep: true, only: "some" } : { deep: true, sight };
}

function targets(value: Value, scope: Scope): readonly Target[] {
  const guesses = (value.also ?? []).map((path) => ({ ...target(knownValue(path), scope), ifExists: true }));
  return [target(value, scope), ...guesses];
}

function net({ shell }: RoleSetting, host: string): undefined {
  shell.findings.add({ kind: "net", host });
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
  return net(setting, hostOfUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`));
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
  const file = /^(?:[^@<]*=)?[@<]([^;]*)/.exec(value.text)?.[1] ?? /^[^=\s:]+@(.+)$/.exec(value.text)?.[1];
  if (file !== undefined) read(knownValue(file), setting, false);
}
