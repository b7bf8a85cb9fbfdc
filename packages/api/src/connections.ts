import { z } from "zod";
import { operation } from "./operation.ts";
import { Moment, named, PageAfter, PageLimit, PathName } from "./schema.ts";

/** A client that speaks ACP over HTTP. It outlives its streams, and restarts. */
export const Connection = named(
  "Connection",
  z.looseObject({
    id: z.string(),
    dialect: z.enum(["rpc", "acp", "server"]).describe("/v1/rpc, /acp, or /v1/acp/{server}"),
    principal: z.string(),
    agent: z.string().optional(),
    sessions: z.array(z.string()).describe("the sessions it follows"),
    streams: z.int().describe("how many streams of it are open now"),
    created_at: Moment,
    last_seen: Moment,
    expires_at: Moment,
  }),
);
export type Connection = z.infer<typeof Connection>;

/** Some connections, and where the next ones begin. */
export const ConnectionPage = named(
  "ConnectionPage",
  z.looseObject({ connections: z.array(Connection), next: z.string().optional() }),
);

/** Operations on connections. */
export const connectionOperations = {
  listConnections: operation({
    id: "list_connections",
    method: "GET",
    path: "/v1/connections",
    summary:
      "Lists the connections that the caller may see, the newest first: its own, for an admin all of the tenant.",
    audience: "principal",
    query: z.strictObject({ limit: PageLimit, after: PageAfter }),
    answer: ConnectionPage,
  }),
  closeConnection: operation({
    id: "close_connection",
    method: "DELETE",
    path: "/v1/connections/{id}",
    summary: "Ends a connection. Its sessions continue.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    problems: ["not_found"],
  }),
} as const;
