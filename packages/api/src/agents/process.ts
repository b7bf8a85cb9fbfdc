import { z } from "zod";
import { named } from "../named.ts";
import { Moment } from "../text.ts";

/** What a process has said on its standard error: its beginning and its end. */
export const KeptStderr = named(
  "KeptStderr",
  z.looseObject({
    head: z.string(),
    tail: z.string(),
    omitted: z.int().describe("how many bytes between the two were not kept"),
  }),
);

/** An agent that runs. */
export const AgentProcess = named(
  "AgentProcess",
  z.looseObject({
    id: z.string().describe("names it until it ends"),
    agent: z.string(),
    version: z.string(),
    pid: z.int().nullable().describe("null for one that runs inside Reins itself"),
    principal: z.string().describe("whom it runs for; it is never shared by two"),
    started_at: Moment,
    memory_bytes: z
      .int()
      .nullable()
      .describe("of its process group and their children; null where the system does not tell"),
    processes: z.int().nullable().describe("how many these are, itself included"),
    confined: z.boolean().describe("whether the operating system keeps it to its folders"),
    sessions: z.array(z.string()).describe("the sessions it holds"),
    stderr: KeptStderr.nullable().describe("what it complained of, without secrets; for admins"),
  }),
);
export type AgentProcess = z.infer<typeof AgentProcess>;
