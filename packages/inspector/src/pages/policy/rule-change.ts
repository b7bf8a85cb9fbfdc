import type { LoadedPolicy } from "@reins/api";
import type { z } from "zod";

/** A rule of a constitution. */
export type Rule = z.infer<typeof LoadedPolicy>["rules"][number];

/** What became of a rule between two constitutions. */
export interface RuleChange {
  readonly rule: Rule;
  readonly kind: "new" | "gone" | "changed" | "moved";
}

/** Which rules came, went, changed or moved, by their names; rules are told apart by nothing else. */
export function ruleChanges(before: readonly Rule[], after: readonly Rule[]): RuleChange[] {
  const old = new Map(before.map((rule) => [rule.name, rule]));
  const names = new Set(after.map(({ name }) => name));
  const stayed = after.map(({ name }) => name).filter((name) => old.has(name));
  const order = before.map(({ name }) => name).filter((name) => names.has(name));
  const kindOf = (rule: Rule): RuleChange["kind"] | undefined => {
    const was = old.get(rule.name);
    if (!was) return "new";
    if (wordsOf(was) !== wordsOf(rule)) return "changed";
    return order.indexOf(rule.name) === stayed.indexOf(rule.name) ? undefined : "moved";
  };
  return [
    ...after.map((rule) => ({ rule, kind: kindOf(rule) })),
    ...before.filter(({ name }) => !names.has(name)).map((rule) => ({ rule, kind: "gone" as const })),
  ].flatMap(({ rule, kind }) => (kind === undefined ? [] : [{ rule, kind }]));
}

function wordsOf({ condition, verdict, reason }: Rule): string {
  return JSON.stringify([condition, verdict, reason]);
}
