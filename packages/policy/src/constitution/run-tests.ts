import type { DecisionInput } from "../conditions/input.ts";
import type { Policy } from "../decision/policy.ts";
import { type Effect, PLACES } from "../effect.ts";
import type { PolicyTest } from "./constitution.ts";

/** An example that did not get the verdict it should. */
export interface FailedTest {
  readonly index: number;
  readonly message: string;
}

/** Runs the examples of a constitution on itself. */
export function runTests(policy: Policy): FailedTest[] {
  return policy.file.tests.flatMap((test, index) => {
    const { verdict, rule } = policy.decide(inputOf(test));
    const by = rule === undefined ? "no rule" : `rule "${rule}"`;
    if (verdict !== test.expect) {
      return [{ index, message: `test "${test.name}": expected ${test.expect}, got ${verdict} by ${by}` }];
    }
    if (test.rule === undefined || test.rule === rule) return [];
    return [{ index, message: `test "${test.name}": expected rule "${test.rule}", got ${verdict} by ${by}` }];
  });
}

function inputOf({ given }: PolicyTest): DecisionInput {
  const { tool, event, effects, opaque, at, arguments: args, ...subject } = given;
  return {
    event_type: event,
    action: { tool, effects: effects.map(effectOf), opaque, doubts: [], claims: {}, arguments: args ?? {} },
    subject: { ...subject, session: "test", chain: [] },
    counters: {},
    at: at === undefined ? 0 : Date.parse(at),
  };
}

/** An effect as an example writes it, with what it left out. */
function effectOf(given: PolicyTest["given"]["effects"][number]): Effect {
  const text = (name: string, otherwise: string) =>
    typeof given[name] === "string" ? given[name] : otherwise;
  const place = PLACES.find((name) => name === given.place) ?? "workspace";
  const path = text("path", "/workspace/file");
  const inside = typeof given.inside === "string" ? { inside: given.inside } : {};
  switch (given.kind) {
    case "read":
      return { kind: "read", path, place, ...inside };
    case "write":
      return { kind: "write", path, place, ...inside, destroys: given.destroys === true };
    case "exec": {
      const words = Array.isArray(given.arguments)
        ? given.arguments.map((word) => (word === null ? null : String(word)))
        : [];
      return {
        kind: "exec",
        command: text("command", "true"),
        arguments: words,
        opaque: given.opaque === true,
      };
    }
    case "net":
      return { kind: "net", host: text("host", "*") };
  }
}
