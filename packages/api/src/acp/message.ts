import { z } from "zod";
import { named } from "../named.ts";

/** The id of a request, which goes back as it came. */
export const RpcId = z.union([z.string().max(1_024), z.int(), z.null()]);

/** One message of JSON-RPC: a request, a notification or an answer. What it says is ACP's. */
export const RpcMessage = named(
  "RpcMessage",
  z.looseObject({
    jsonrpc: z.literal("2.0"),
    id: RpcId.optional(),
    method: z.string().min(1).max(256).optional(),
    params: z.unknown().optional(),
    result: z.unknown().optional(),
    error: z.unknown().optional(),
  }),
);
export type RpcMessage = z.infer<typeof RpcMessage>;
