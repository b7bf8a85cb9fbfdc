import type { IncomingMessage } from "node:http";
import { z } from "zod";
import type { Caller } from "../access/authenticator.ts";

/** Names the caller whom the node that received a request has authenticated. Counts on links between nodes alone. */
export const NODE_CALLER = "reins-node-caller";
/** How many nodes a request has passed. */
export const NODE_HOPS = "reins-node-hops";

/** Says that a request is for the node that gets it, whichever serves the tenant of its caller. */
export const NODE_DIRECT = "reins-node-direct";

const CallerHeader = z.object({
  id: z.string(),
  tenant: z.string().optional(),
  until: z.number().optional(),
});

type Headed = Pick<IncomingMessage, "headers">;

/** The caller whom another node has authenticated; undefined where that is left to this one. */
export function linkedCaller({ headers }: Headed): Caller | undefined {
  const given = headers[NODE_CALLER];
  if (typeof given !== "string") return undefined;
  const { id, tenant, until } = CallerHeader.parse(JSON.parse(Buffer.from(given, "base64url").toString()));
  return { id, tenant, ...(until !== undefined && { until }) };
}

/** How many nodes a request has passed. */
export function hopsOf({ headers }: Headed): number {
  return Number(headers[NODE_HOPS] ?? 0);
}
