import { z } from "zod";
import { operation } from "./operation.ts";
import { Hash, Moment, Name, named } from "./schema.ts";

/** What is to be ended: one of session, agent, process and all. */
export const KillRequest = named(
  "KillRequest",
  z
    .strictObject({
      session: Name.optional().describe(
        "the id of a session, or at least six characters of its beginning; it ends for good",
      ),
      agent: Name.optional().describe("every process of an agent; its sessions stay"),
      process: Name.optional().describe("one process, by its id; its sessions stay"),
      all: z.literal(true).optional().describe("every process of the tenant; for the operator, of this home"),
      reason: z.string().max(1_024).optional().describe("kept in the ledger"),
    })
    .refine(
      ({ session, agent, process, all }) =>
        [session, agent, process, all].filter((given) => given !== undefined).length === 1,
      "name one of session, agent, process and all",
    ),
);
export type KillRequest = z.infer<typeof KillRequest>;

/** A process that was to end. */
const KilledProcess = named(
  "KilledProcess",
  z.looseObject({
    pid: z.int(),
    command: z.string(),
    agent: z.string().nullable().describe("the agent that it descends from, where known"),
  }),
);

/** The result of a kill, as the operating system confirms it. */
export const KillReport = named(
  "KillReport",
  z.looseObject({
    id: z.string(),
    target: z.looseObject({
      kind: z.enum(["session", "agent", "process", "all"]),
      name: z.string().nullable(),
    }),
    by: z.string(),
    reason: z.string().nullable(),
    at: Moment,
    gone: z
      .array(KilledProcess)
      .describe("processes that were there and are not in the process table any more"),
    left: z.array(KilledProcess).describe("processes that are still in it: nothing helped"),
    visibility: z
      .enum(["marks", "group"])
      .describe("what could be observed: every descendant of an agent, or its process groups alone"),
    sessions: z.array(z.string()).describe("sessions whose agent was ended"),
    inside: z
      .array(z.string())
      .describe("sessions of agents that have no process of their own: Reins itself ends their turns"),
    nodes: z
      .array(
        z.looseObject({
          node: z.string(),
          gone: z.int().describe("processes that are gone there"),
          left: z.int().describe("processes that are still there"),
          error: z.string().nullable().describe("why nothing is known of what runs there"),
        }),
      )
      .optional()
      .describe("what the other nodes of a cluster did, which is in the rest of the report, too"),
    entry: Hash.nullable().describe(
      "the ledger entry; null while Reins is too busy to write it, which it does as soon as it can",
    ),
  }),
);
export type KillReport = z.infer<typeof KillReport>;

/** The kill switch. */
export const killOperations = {
  kill: operation({
    id: "kill",
    method: "POST",
    path: "/v1/kill",
    summary:
      "Ends what agents run, at once, and reports only what the operating system confirms. On the machine itself `reins kill` does the same while this API is too busy to answer.",
    audience: "admin",
    body: KillRequest,
    answer: KillReport,
    problems: ["not_found", "unavailable"],
  }),
} as const;
