import type { DecisionInput, Effect, ExecEffect, NetEffect } from "../action.ts";
import type { PathTest, PlainCondition } from "../constitution/condition.ts";
import { isHarmless } from "../facts/harmless.ts";
import { anyPathTest, everyPathTest, type PathEffect } from "./path-test.ts";
import { commandPattern, textTest } from "./pattern.ts";

/** One part of a condition, by the name it has in the file. */
export interface Clause {
  readonly name: string;
  /** Whether it looks at the subject alone, and so holds for all its actions or for none. */
  readonly subjectOnly?: boolean;
  readonly holds: (input: DecisionInput) => boolean;
}

/**
 * Compiles the clauses about effects. `every` tests all effects of a kind and is for rules that allow; `any` tests
 * whether there is one, and counts unknown effects, because it is for rules that block or ask.
 *
 * @param permits whether the condition allows: then `every` does not hold where there is no effect
 */
export function effectClauses(condition: PlainCondition, permits: boolean): Clause[] {
  const clauses: Clause[] = [];
  const all = permits ? allOfSome : allIfAny;
  const { opaque, harmless, effects, commands, hosts } = condition;
  if (opaque !== undefined) clauses.push({ name: "opaque", holds: ({ action }) => action.opaque === opaque });
  if (harmless !== undefined)
    clauses.push({ name: "harmless", holds: ({ action }) => isHarmless(action) === harmless });
  if (effects?.every)
    clauses.push(all("effects.every", anyEffect, ({ kind }) => effects.every?.includes(kind) ?? true));
  if (effects?.any)
    clauses.push(some("effects.any", anyEffect, ({ kind }) => effects.any?.includes(kind) ?? false));
  clauses.push(...pathClauses("paths", condition.paths, isPathEffect, all));
  clauses.push(
    ...pathClauses("reads", condition.reads, (effect): effect is PathEffect => effect.kind === "read", all),
  );
  clauses.push(
    ...pathClauses(
      "writes",
      condition.writes,
      (effect): effect is PathEffect => effect.kind === "write",
      all,
    ),
  );
  if (commands?.every !== undefined) {
    const patterns = asList(commands.every).map(commandPattern);
    clauses.push(
      all("commands.every", isExec, (effect) => patterns.some((pattern) => pattern.surely(effect))),
    );
  }
  if (commands?.any !== undefined) {
    const patterns = asList(commands.any).map(commandPattern);
    clauses.push(
      some("commands.any", isExec, (effect) => patterns.some((pattern) => pattern.possibly(effect))),
    );
  }
  if (hosts?.every !== undefined) {
    const test = textTest(hosts.every);
    clauses.push(all("hosts.every", isNet, ({ host }) => host !== "*" && test(host)));
  }
  if (hosts?.any !== undefined) {
    const test = textTest(hosts.any);
    clauses.push(some("hosts.any", isNet, ({ host }) => host === "*" || test(host)));
  }
  for (const [path, patterns] of Object.entries(condition.arguments ?? {})) {
    const test = textTest(patterns);
    clauses.push({
      name: `arguments.${path}`,
      holds: ({ action }) => test(argumentAt(action.arguments, path)),
    });
  }
  return clauses;
}

interface Quantified {
  readonly every?: PathTest | undefined;
  readonly any?: PathTest | undefined;
}

function pathClauses(
  name: string,
  quantified: Quantified | undefined,
  of: (effect: Effect) => effect is PathEffect,
  all: typeof allIfAny,
): Clause[] {
  const clauses: Clause[] = [];
  if (quantified?.every) clauses.push(all(`${name}.every`, of, everyPathTest(quantified.every)));
  if (quantified?.any) clauses.push(some(`${name}.any`, of, anyPathTest(quantified.any)));
  return clauses;
}

/** Holds of all such effects, and where there are none. */
function allIfAny<Kind extends Effect>(
  name: string,
  of: (effect: Effect) => effect is Kind,
  test: (effect: Kind) => boolean,
): Clause {
  return {
    name,
    holds: ({ action }) => {
      for (const effect of action.effects) if (of(effect) && !test(effect)) return false;
      return true;
    },
  };
}

/** Holds of all such effects, of which there is at least one. */
function allOfSome<Kind extends Effect>(
  name: string,
  of: (effect: Effect) => effect is Kind,
  test: (effect: Kind) => boolean,
): Clause {
  return {
    name,
    holds: ({ action }) => {
      let found = false;
      for (const effect of action.effects) {
        if (!of(effect)) continue;
        if (!test(effect)) return false;
        found = true;
      }
      return found;
    },
  };
}

function some<Kind extends Effect>(
  name: string,
  of: (effect: Effect) => effect is Kind,
  test: (effect: Kind) => boolean,
): Clause {
  return {
    name,
    holds: ({ action }) => {
      for (const effect of action.effects) if (of(effect) && test(effect)) return true;
      return false;
    },
  };
}

function anyEffect(_: Effect): _ is Effect {
  return true;
}

function isPathEffect(effect: Effect): effect is PathEffect {
  return effect.kind === "read" || effect.kind === "write";
}

function isExec(effect: Effect): effect is ExecEffect {
  return effect.kind === "exec";
}

function isNet(effect: Effect): effect is NetEffect {
  return effect.kind === "net";
}

/** The member of the arguments at a dotted path, as text; what is not there is the empty text. */
function argumentAt(value: unknown, path: string): string {
  let found = value;
  for (const name of path.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return "";
    found = Reflect.get(found, name);
  }
  return typeof found === "string" ? found : JSON.stringify(found);
}

function asList(patterns: string | readonly string[]): readonly string[] {
  return typeof patterns === "string" ? [patterns] : patterns;
}
