import { UsageError } from "../main.ts";

/** What a test run covers. */
export type TestPlan = { kind: "everything" } | { kind: "checks" } | { kind: "tests"; args: string[] };

/** Nothing means everything, `--checks` means the checks alone, and anything else is for vitest. */
export function planOf(args: readonly string[]): TestPlan {
  if (args.length === 0) return { kind: "everything" };
  const rest = args.filter((arg) => arg !== "--checks");
  if (rest.length === args.length) return { kind: "tests", args: rest };
  if (rest.length === 0) return { kind: "checks" };
  throw new UsageError(`--checks stands alone, but ${rest.join(" ")} was given too.`);
}
