import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bindingOf, factsHash } from "./binding.ts";
import { actionOf, requestOf, subjectOf } from "./testing/requests.ts";

describe("a binding", () => {
  test("is 64 hexadecimal digits that stay the same from version to version", () => {
    expect(bindingOf(requestOf())).toBe("7edc0b88a8c479bdd3402952c2863c6e1e167ad2b5cbd168e00cbd688d51cd83");
    expect(factsHash(actionOf())).toBe("046fc5c936d10a5b478ce20a02ea018a8720ae91eea31ff1a776f833775286d4");
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
