import { z } from "zod";

/** Which agents to kill, and who ordered it. */
export const KillOrder = z.object({
  /** Unique. */
  id: z.string().min(1).max(64),
  target: z.discriminatedUnion("kind", [
    /** Every agent of the tenant; without a tenant, every process of this home. */
    z.object({ kind: z.literal("all") }),
    z.object({ kind: z.literal("agent"), name: z.string().min(1) }),
    /** The id of a session, or a prefix of it. */
    z.object({ kind: z.literal("session"), name: z.string().min(1) }),
    z.object({ kind: z.literal("process"), name: z.string().min(1) }),
  ]),
  /** Restricts the order to a tenant; null for the operator, who reaches all. */
  tenant: z.string().nullable(),
  /** The actor, as in the ledger. */
  by: z.string().min(1),
  reason: z.string().max(1_024).nullable(),
});
export type KillOrder = z.infer<typeof KillOrder>;

const Seen = z.object({ pid: z.number(), command: z.string(), agent: z.string().nullable() });

/** The outcome of an order, as the operating system shows it. */
export const KillReport = z.object({
  id: z.string(),
  target: z.object({ kind: z.enum(["all", "agent", "session", "process"]), name: z.string().nullable() }),
  /** The tenant of the agents; null if unknown or several. */
  tenant: z.string().nullable(),
  by: z.string(),
  reason: z.string().nullable(),
  /** RFC 3339. */
  at: z.string(),
  /** Processes that are gone from the process table. */
  gone: z.array(Seen),
  /** Processes that are still in it. */
  left: z.array(Seen),
  visibility: z.enum(["marks", "group"]),
  /** The sessions of killed agents. */
  sessions: z.array(z.string()),
  /** Those among them whose agent has no process of its own: only the host can end their turns. */
  inside: z.array(z.string()),
});
export type KillReport = z.infer<typeof KillReport>;
