import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Action, Effect } from "@reins/policy";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HomeKeys, keysIn, knownKeysIn } from "../../test/approvals/home.ts";
import { actionOf, requestOf, subjectOf } from "../../test/approvals/requests.ts";
import {
  bindingOf as bindingWith,
  factsHash,
  grantBindingOf,
  isGrantable,
  prefixFault,
  saysAll,
} from "./request.ts";

let folder: string;
let keys: HomeKeys;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "binding-"));
  keys = await knownKeysIn(folder);
});
afterAll(() => rm(folder, { recursive: true }));
const bindingOf = (request: Parameters<typeof bindingWith>[0]) => bindingWith(request, keys.commitment);

describe("a binding", () => {
  test("is 64 hexadecimal digits that stay the same from version to version", () => {
    expect(bindingOf(requestOf())).toBe("02411dbc0d80a82378b5635b0e28e8bd2926c9793f7394a4c108c653894616b9");
    expect(factsHash(actionOf(), keys.commitment)).toBe(
      "842d6a807e58243d99643e7456a0efa54f2759a2238c1754b8e20efc90f7cff6",
    );
  });

  test("cannot be tried out without the key of the home", async () => {
    const { commitment } = await keysIn(join(folder, "another"));
    expect(bindingWith(requestOf(), commitment)).not.toBe(bindingOf(requestOf()));
    expect(factsHash(actionOf(), commitment)).not.toBe(factsHash(actionOf(), keys.commitment));
  });

  test("is blind to what the agent claims, to the turn, the rule, the reason and the order of members", () => {
    const facts = actionOf({ claims: { title: "harmless", kind: "read", risk: "none" } });
    const { target_state: _, ...rest } = requestOf();
    const same = [
      requestOf({ facts }),
      requestOf({ turn: "t2", rule: "another", reason: "another", quorum: 1, expires_ms: 5 }),
      requestOf({ subject: subjectOf({ roles: [], mode: "plan", depth: 3, trust: "standing" }) }),
      { target_state: { "/w/a.txt": "absent" }, ...rest },
    ];
    for (const request of same) expect(bindingOf(request)).toBe(bindingOf(requestOf()));
  });

  test("differs with how many people have to agree: one's word is not enough where it takes two", () => {
    const bindings = [1, 2, 3].map((quorum) => bindingOf(requestOf({ quorum })));
    expect(new Set(bindings).size).toBe(3);
  });

  test("differs whenever the arguments do", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const [left, right] = [one, other].map((value) => JSON.parse(JSON.stringify(value)));
        const bind = (args: unknown) => bindingOf(requestOf({ facts: actionOf({ arguments: args }) }));
        const alike = JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
        expect(bind(left) === bind(right)).toBe(alike);
      }),
    );
  });

  test("is refused to what has no exact form", () => {
    expect(() => bindingOf(requestOf({ facts: actionOf({ arguments: "\udc00" }) }))).toThrow("surrogate");
  });
});

/** A form of its own for every value, whatever the order of members. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return ["array", value.map(sorted)];
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return ["object", members.map(([name, member]) => [name, sorted(member)])];
}

describe("the binding of a grant", () => {
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
});

test.each([["npm", "test"], ["cargo", "test", "--lib"], ["make"], ["pytest"], ["node", "scripts/check.js"]])(
  "%s %s can begin what is allowed always",
  (...prefix) => {
    expect(prefixFault(prefix)).toBeUndefined();
  },
);

test.each([
  [],
  [""],
  ["npm"],
  ["git"],
  ["bash"],
  ["bash", "x.sh"],
  ["/bin/sh", "x"],
  ["env", "npm"],
  ["sudo", "npm", "test"],
  ["xargs", "npm"],
  ["curl", "example.org"],
  ["node", "-e"],
  ["python3", "-c"],
  ["python3", "run"],
  ["npm", "--prefix"],
])("%j %j says too little", (...prefix) => {
  expect(prefixFault(prefix)).toBeDefined();
});
