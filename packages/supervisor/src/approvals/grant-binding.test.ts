import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Action, Effect } from "@reins/policy";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { grantBindingOf, isGrantable, saysAll } from "./grant-binding.ts";
import { type HomeKeys, keysIn } from "./testing/keys.ts";
import { actionOf, requestOf, subjectOf } from "./testing/requests.ts";

const exec = (own: object = {}): Effect => ({
  kind: "exec",
  command: "ls",
  arguments: ["-l"],
  opaque: false,
  ...own,
});
let folder: string;
let keys: HomeKeys;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "grant-binding-"));
  keys = await keysIn(folder);
});
afterAll(() => rm(folder, { recursive: true }));
const bindingFor = (facts: Action) =>
  grantBindingOf({ ...subjectOf(), ...requestOf(), facts }, keys.commitment);

describe("what a grant counts for", () => {
  const known: [string, Partial<Action>][] = [
    ["a file", {}],
    ["a plain command", { effects: [exec()] }],
    ["a host", { effects: [{ kind: "net", host: "example.org" }] }],
  ];
  test.each(known)("is what it does, where that is known: %s", (_, own) => {
    expect(saysAll(actionOf(own))).toBe(true);
    expect(bindingFor(actionOf({ ...own, arguments: 1 }))).toBe(
      bindingFor(actionOf({ ...own, arguments: 2 })),
    );
  });

  const unknown: [string, Partial<Action>][] = [
    ["no effects", { effects: [] }],
    ["opaque", { opaque: true }],
    ["doubtful", { doubts: ["who knows"] }],
    ["an opaque command", { effects: [exec({ opaque: true })] }],
    ["any host", { effects: [{ kind: "net", host: "*" }] }],
  ];
  test.each(unknown)("is also the exact arguments, where that is not: %s", (_, own) => {
    expect(saysAll(actionOf(own))).toBe(false);
    expect(bindingFor(actionOf({ ...own, arguments: 1 }))).not.toBe(
      bindingFor(actionOf({ ...own, arguments: 2 })),
    );
  });
});

test("what is only known when it runs cannot be granted", () => {
  expect(isGrantable(actionOf())).toBe(true);
  expect(isGrantable(actionOf({ effects: [exec()] }))).toBe(true);
  expect(isGrantable(actionOf({ effects: [exec({ arguments: ["a", null] })] }))).toBe(false);
  expect(isGrantable(actionOf({ effects: [exec(), { kind: "read", path: "x", place: "unknown" }] }))).toBe(
    false,
  );
});

test("a command that is left running is another than one that is not", () => {
  const of = (command: string) => bindingFor(actionOf({ effects: [exec()], arguments: { command } }));
  expect(of("ls  -l")).toBe(of("ls -l"));
  expect(of("ls -l &")).not.toBe(of("ls -l"));
});
