import fc from "fast-check";
import { expect, test } from "vitest";
import type { DecisionInput, Effect } from "../action.ts";
import { loadPolicy } from "../constitution/load.ts";

const names = (prefix: string) => fc.integer({ min: 0, max: 3 }).map((n) => `${prefix}${n}`);
const folder = fc.array(names("d"), { minLength: 1, maxLength: 3 });

const glob = fc
  .tuple(fc.constantFrom("/", ""), folder, fc.constantFrom("/**", "/*", "", "/*/d1", "/{d1,d2}/**", "/"))
  .map(([root, segments, end]) => `${root}${segments.join("/")}${end}`);

const condition = fc.record(
  {
    tool_name_matches: fc.array(fc.oneof(names("t"), fc.constant("t*")), { minLength: 1, maxLength: 2 }),
    user: names("u"),
    role: names("r"),
    paths: fc.oneof(
      fc.record({ any: fc.record({ match: glob }) }),
      fc.record({ every: fc.record({ match: glob }) }),
    ),
    reads: fc.record({ any: fc.record({ match: glob, place: fc.constantFrom("workspace", "home") }) }),
    writes: fc.record({ any: fc.record({ match: fc.array(glob, { minLength: 1, maxLength: 2 }) }) }),
  },
  { requiredKeys: [] },
);

const path: fc.Arbitrary<Effect> = fc
  .tuple(fc.constantFrom("read", "write"), fc.array(names("d"), { maxLength: 3 }), fc.boolean(), fc.boolean())
  .map(([kind, segments, inside, deep]) => {
    const place = {
      path: `/${segments.join("/")}`,
      place: "workspace" as const,
      ...(inside ? { inside: segments.join("/") } : {}),
      ...(deep ? { deep: true as const } : {}),
    };
    return kind === "read" ? { kind: "read", ...place } : { kind: "write", ...place, destroys: false };
  });

const input = fc
  .record({ tool: names("t"), user: names("u"), role: names("r"), effects: fc.array(path, { maxLength: 3 }) })
  .map(
    ({ tool, user, role, effects }): DecisionInput => ({
      event_type: "pre_action",
      action: { tool, effects, opaque: false, doubts: [], claims: {}, arguments: {} },
      subject: {
        user,
        tenant: "t",
        roles: [role],
        scopes: [],
        agent: "a",
        trust: "registered",
        session: "s",
        started: "api",
        chain: [],
        depth: 0,
        mode: "m",
        enforcement: "asked",
      },
      counters: {},
      at: 0,
    }),
  );

test("the index finds the very rule that going through all of them in order finds", () => {
  const rules = fc.array(condition, { minLength: 1, maxLength: 25 });
  fc.assert(
    fc.property(rules, fc.array(input, { minLength: 1, maxLength: 10 }), (conditions, inputs) => {
      const tool_rules = conditions.map((one, n) => ({ name: `rule ${n}`, condition: one, verdict: "ask" }));
      const policy = loadPolicy({
        file: "f",
        rules: JSON.stringify({ tool_rules }),
        prose: new Uint8Array(),
      });
      for (const one of inputs) {
        const slow = policy.rules.find(({ clauses }) => clauses.every(({ holds }) => holds(one)));
        expect(policy.decide(one).rule).toBe(slow?.rule.name);
      }
    }),
    { numRuns: 300 },
  );
});
