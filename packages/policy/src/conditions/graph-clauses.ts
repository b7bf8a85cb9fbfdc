import type { PlainCondition } from "../constitution/condition.ts";
import type { Clause } from "./conditions.ts";
import { textTest } from "./pattern.ts";

/**
 * The clauses about the graph that an action belongs to. Its name and its operation are the model's words: they count where
 * a match makes the verdict stricter, and otherwise as what is not known.
 */
export function graphClauses(
  asked: PlainCondition["graph"],
  { isRulePermitting, unknownFits }: { readonly isRulePermitting: boolean; readonly unknownFits: boolean },
): Clause[] {
  if (asked === undefined) return [];
  if (typeof asked === "boolean")
    return [{ name: "graph", holds: ({ subject }) => (subject.graph !== undefined) === asked }];
  const { executor, action, operation } = asked;
  const clauses: Clause[] = [{ name: "graph", holds: ({ subject }) => subject.graph !== undefined }];
  if (executor !== undefined) {
    const test = textTest(executor);
    clauses.push({ name: "graph.executor", holds: ({ subject }) => test(subject.graph?.executor ?? "") });
  }
  for (const [name, patterns] of [
    ["action", action],
    ["operation", operation],
  ] as const) {
    if (patterns === undefined) continue;
    const test = textTest(patterns);
    const isHeard = !isRulePermitting && unknownFits;
    clauses.push({
      name: `graph.${name}`,
      holds: ({ subject }) => (isHeard ? test(subject.graph?.[name] ?? "") : unknownFits),
    });
  }
  return clauses;
}
