import { z } from "zod";
import { named } from "../named.ts";
import { operation } from "../operation.ts";
import { Moment, PathName } from "../text.ts";

const contract = z.looseObject({ run_id: z.string(), session_id: z.string(), updated_at: z.string() });

/** A run as it stands: the newest of each kind of news that came of it, as AHP describes them. */
export const Run = named(
  "Run",
  z.looseObject({
    run_id: z.string(),
    session_id: z.string(),
    updated_at: Moment,
    run_lifecycle: contract.optional(),
    task_list: contract.optional(),
    verification: contract.optional(),
  }),
);
export type Run = z.infer<typeof Run>;

/** Runs, the newest first. */
export const RunList = named("RunList", z.looseObject({ runs: z.array(Run) }));

/** What can be asked for about runs. */
export const runOperations = {
  listRuns: operation({
    id: "list_runs",
    method: "GET",
    path: "/v1/runs",
    summary:
      "The newest runs that one may see, or those of one session: one's own, and for an admin the tenant's.",
    audience: "principal",
    query: z.strictObject({ session: z.string().min(1).max(256).optional() }),
    answer: RunList,
  }),
  getRun: operation({
    id: "get_run",
    method: "GET",
    path: "/v1/runs/{id}",
    summary: "One run as it stands.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    answer: Run,
    problems: ["not_found"],
  }),
} as const;
