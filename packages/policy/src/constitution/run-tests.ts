import type { DecisionInput } from "../conditions/input.ts";
import type { Policy } from "../decision/policy.ts";
import type { PolicyVerdict } from "../decision/verdict.ts";
import { type Effect, PLACES } from "../effect.ts";
import type { PolicyTest, RuleVerdict } from "./constitution.ts";

/** An example, and the verdict it got. */
export interface TestOutcome {
  readonly index: number;
  readonly test: PolicyTest;
  readonly got: Pick<PolicyVerdict, "verdict" | "rule">;
  /** Why that is not what it should be; absent when it is. */
  readonly fault: string | undefined;
}

/** Runs the examples of a constitution on itself. */
export function testOutcomes(policy: Policy): TestOutcome[] {
  return policy.file.tests.map((test, index) => {
    const { verdict, rule } = policy.decide(inputOf(test));
    return { index, test, got: { verdict, rule }, fault: faultOf(test, verdict, rule) };
  });
}

/** What is wrong with the examples that did not get the verdict they should. */
export function runTests(policy: Policy): { readonly message: string }[] {
  return testOutcomes(policy).flatMap(({ fault }) => (fault === undefined ? [] : [{ message: fault }]));
}

function faultOf(test: PolicyTest, verdict: RuleVerdict, rule: string | undefined): string | undefined {
  const got = `got ${verdict} by ${rule === undefined ? "no rule" : `rule "${rule}"`}`;
  if (verdict !== test.expect) return `test "${test.name}": expected ${test.expect}, ${got}`;
  if (test.rule === undefined || test.rule === rule) return undefined;
  return `test "${test.name}": expected rule "${test.rule}", ${got}`;
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
  const more = {
    ...(typeof given.inside === "string" && { inside: given.inside }),
    ...(given.deep === true && { deep: true as const }),
  };
  switch (given.kind) {
    case "read":
      return {
        kind: "read",
        path,
        place,
        ...more,
        ...(given.passing === true && { passing: true as const }),
      };
    case "write":
      return {
        kind: "write",
        path,
        place,
        ...more,
        destroys: given.destroys === true,
        ...(typeof given.recoverable === "boolean" && { recoverable: given.recoverable }),
      };
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
