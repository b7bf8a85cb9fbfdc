import { z } from "zod";

/** What is to be ended, on whose word. */
export const KillOrder = z.object({
  /** Unlike any other. */
  id: z.string().min(1).max(64),
  target: z.discriminatedUnion("kind", [
    /** Every agent of the tenant; without a tenant, every process of this home. */
    z.object({ kind: z.literal("all") }),
    z.object({ kind: z.literal("agent"), name: z.string().min(1) }),
    /** The id of a session, or the beginning of one. */
    z.object({ kind: z.literal("session"), name: z.string().min(1) }),
    z.object({ kind: z.literal("process"), name: z.string().min(1) }),
  ]),
  /** Only what belongs to this tenant; null is the operator, who reaches everything. */
  tenant: z.string().nullable(),
  /** Who says so, as the ledger names them. */
  by: z.string().min(1),
  reason: z.string().max(1_024).nullable(),
});
export type KillOrder = z.infer<typeof KillOrder>;

const Seen = z.object({ pid: z.number(), command: z.string(), agent: z.string().nullable() });

/** What became of an order, as the operating system says. */
export const KillReport = z.object({
  id: z.string(),
  target: z.object({ kind: z.enum(["all", "agent", "session", "process"]), name: z.string().nullable() }),
  /** Whose agents they were; null when it is not known or they were of several. */
  tenant: z.string().nullable(),
  by: z.string(),
  reason: z.string().nullable(),
  /** RFC 3339. */
  at: z.string(),
  /** Were there, and are not in the process table any more. */
  gone: z.array(Seen),
  /** Are still in it. */
  left: z.array(Seen),
  sight: z.enum(["marks", "group"]),
  /** The sessions of agents that were ended. */
  sessions: z.array(z.string()),
  /** The sessions among them whose agent has no process of its own: only Reins itself can end their turns. */
  inside: z.array(z.string()),
});
export type KillReport = z.infer<typeof KillReport>;
