import type { Action } from "../action.ts";
import type { DecisionInput } from "../conditions/input.ts";
import type { Policy } from "../decision/policy.ts";
import type { PolicyVerdict } from "../decision/verdict.ts";
import type { Effect } from "../effect.ts";
import type { PolicyTest, RuleVerdict } from "./constitution.ts";
import { imaginedFacts } from "./imagined-machine.ts";

/** An example, and the verdict it got. */
export interface TestOutcome {
  readonly index: number;
  readonly test: PolicyTest;
  readonly got: Pick<PolicyVerdict, "verdict" | "rule">;
  /** Why that is not what it should be; absent when it is. */
  readonly fault: string | undefined;
}

/** Runs the examples of a constitution on itself; commands are read as those of agents are. */
export async function testOutcomes(policy: Policy): Promise<TestOutcome[]> {
  const outcomes: TestOutcome[] = [];
  for (const [index, test] of policy.file.tests.entries())
    outcomes.push(outcomeOf(policy, test, index, await commandAction(test)));
  return outcomes;
}

/** What is wrong with the examples that did not get the verdict they should; those with a command are left out. */
export function plainTestFaults(policy: Policy): { readonly message: string }[] {
  return policy.file.tests.flatMap((test, index) => {
    if (test.given.command !== undefined) return [];
    const { fault } = outcomeOf(policy, test, index, undefined);
    return fault === undefined ? [] : [{ message: fault }];
  });
}

function outcomeOf(policy: Policy, test: PolicyTest, index: number, action: Action | undefined): TestOutcome {
  const { verdict, rule } = policy.decide(inputOf(test, action));
  return { index, test, got: { verdict, rule }, fault: faultOf(test, verdict, rule) };
}

async function commandAction({ given }: PolicyTest): Promise<Action | undefined> {
  const { command, tool, agent, files } = given;
  return command === undefined ? undefined : imaginedFacts({ tool, command, agent, files });
}

function faultOf(test: PolicyTest, verdict: RuleVerdict, rule: string | undefined): string | undefined {
  const got = `got ${verdict} by ${rule === undefined ? "no rule" : `rule "${rule}"`}`;
  if (verdict !== test.expect) return `test "${test.name}": expected ${test.expect}, ${got}`;
  if (test.rule === undefined || test.rule === rule) return undefined;
  return `test "${test.name}": expected rule "${test.rule}", ${got}`;
}

function inputOf({ given }: PolicyTest, found: Action | undefined): DecisionInput {
  const { tool, event, effects, opaque, at, arguments: args, command: _, files: __, ...subject } = given;
  const { network, origin, ...who } = subject;
  return {
    event_type: event,
    action: found ?? {
      ...{ tool, effects: effects.map(effectOf), opaque, doubts: [], claims: {} },
      arguments: args ?? {},
    },
    subject: { ...who, network, origin, session: "test", chain: [] },
    counters: {},
    at: at === undefined ? 0 : Date.parse(at),
  };
}

/** An effect as an example writes it, with what it left out. */
function effectOf(given: PolicyTest["given"]["effects"][number]): Effect {
  switch (given.kind) {
    case "read":
    case "write": {
      const { path = "/workspace/file", place = "workspace" } = given;
      const reach = {
        ...(given.inside !== undefined && { inside: given.inside }),
        ...(given.deep && { deep: true as const }),
      };
      if (given.kind === "read")
        return { kind: "read", path, place, ...reach, ...(given.passing && { passing: true as const }) };
      const { destroys = false, recoverable } = given;
      return {
        ...{ kind: "write", path, place, ...reach, destroys },
        ...(recoverable !== undefined && { recoverable }),
      };
    }
    case "exec": {
      const { command = "true", arguments: words = [], opaque = false } = given;
      return {
        kind: "exec",
        command,
        arguments: words.map((word) => (word === null ? null : String(word))),
        opaque,
      };
    }
    case "net":
      return { kind: "net", host: given.host ?? "*", ...(given.looks && { looks: true as const }) };
  }
}
