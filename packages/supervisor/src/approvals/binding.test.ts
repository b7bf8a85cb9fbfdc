import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bindingOf as bindingWith, factsHash } from "./binding.ts";
import { type HomeKeys, keysIn, knownKeysIn } from "./testing/keys.ts";
import { actionOf, requestOf, subjectOf } from "./testing/requests.ts";

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
