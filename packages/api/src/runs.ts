import { z } from "zod";
import { operation } from "./operation.ts";
import { Moment, named, PageLimit, PathName, Position } from "./schema.ts";

const contract = z.looseObject({ run_id: z.string(), session_id: z.string(), updated_at: z.string() });

/** The state of a run: the newest report of each kind, as AHP describes them. */
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
const RunList = named("RunList", z.looseObject({ runs: z.array(Run) }));

/** One event of a run: a report that was accepted or refused. */
export const RunEvent = named(
  "RunEvent",
  z.looseObject({
    seq: z.int().describe("its number; later ones are higher"),
    run_id: z.string(),
    session_id: z.string(),
    contract: z.enum(["run_lifecycle", "task_list", "verification"]),
    at: Moment.describe("when it arrived"),
    payload: contract,
    fault: z.string().nullable().describe("why it was refused; null where it was taken"),
  }),
);

/** Some events, and where the next ones begin. */
export const RunEventPage = named(
  "RunEventPage",
  z.looseObject({
    events: z.array(RunEvent),
    next: z.int().optional().describe("to be given as `after`; absent when these are the last"),
  }),
);

/** Operations on runs. */
export const runOperations = {
  listRuns: operation({
    id: "list_runs",
    method: "GET",
    path: "/v1/runs",
    summary:
      "Lists the newest runs that the caller may see, or those of one session: its own, for an admin the tenant's.",
    audience: "principal",
    query: z.strictObject({ session: z.string().min(1).max(256).optional() }),
    answer: RunList,
  }),
  streamRuns: operation({
    id: "stream_runs",
    method: "GET",
    path: "/v1/runs/stream",
    summary:
      "Streams the events of the runs that the caller may see, from now on or after `Last-Event-ID`, which is a `seq`; 0 is from the first that is kept.",
    audience: "principal",
    query: z.strictObject({
      run: PathName.optional(),
      session: z.string().min(1).max(256).optional(),
    }),
    answer: RunEvent,
    events: "run",
    problems: ["not_acceptable"],
  }),
  listRunEvents: operation({
    id: "list_run_events",
    method: "GET",
    path: "/v1/runs/{id}/events",
    summary: "Lists the stored events of a run, also refused ones, the oldest first.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    query: z.strictObject({
      limit: PageLimit,
      after: Position.optional().describe("`next` of the page before"),
    }),
    answer: RunEventPage,
    problems: ["not_found"],
  }),
  getRun: operation({
    id: "get_run",
    method: "GET",
    path: "/v1/runs/{id}",
    summary: "Returns one run.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    answer: Run,
    problems: ["not_found"],
  }),
} as const;
