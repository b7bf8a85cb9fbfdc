import { z } from "zod";
import { operation } from "./operation.ts";
import { Moment, named, PathName } from "./schema.ts";

/** One of several Reins on a database. */
export const ShownNode = named(
  "Node",
  z.looseObject({
    name: z.string(),
    state: z
      .enum(["serving", "draining", "starting", "gone"])
      .describe(
        "draining: it takes over no tenant, and hands its own over; gone: others serve what it served",
      ),
    version: z.string().nullable(),
    address: z.string().nullable().describe("where other nodes reach it"),
    labels: z.record(z.string(), z.string()),
    capacity: z.int().nullable().describe("how many sessions it is for, compared with the others"),
    sessions: z.int().describe("those that it has in memory"),
    tenants: z.array(z.string()).describe("those that it serves"),
    since: Moment,
    this: z.boolean().describe("whether it answers this request"),
  }),
);
export type ShownNode = z.infer<typeof ShownNode>;

const NodeList = named("NodeList", z.looseObject({ nodes: z.array(ShownNode) }));
const NodeDrain = named(
  "NodeDrain",
  z.strictObject({ drain: z.boolean().describe("false: it takes over tenants again") }),
);

/** The nodes of a cluster. */
export const nodeOperations = {
  listNodes: operation({
    id: "list_nodes",
    method: "GET",
    path: "/v1/nodes",
    summary: "The nodes on the database; none where this Reins has it to itself.",
    audience: "server",
    node: "any",
    answer: NodeList,
  }),
  getNode: operation({
    id: "get_node",
    method: "GET",
    path: "/v1/nodes/{name}",
    summary: "One node, with the tenants that it serves.",
    audience: "server",
    node: "any",
    params: z.strictObject({ name: PathName }),
    answer: ShownNode,
    problems: ["not_found"],
  }),
  drainNode: operation({
    id: "drain_node",
    method: "POST",
    path: "/v1/nodes/{name}/drain",
    summary:
      "Has a node hand over its tenants, each once no turn of it is under way, and take over none; or has it serve again.",
    audience: "server",
    node: "any",
    params: z.strictObject({ name: PathName }),
    body: NodeDrain,
    answer: ShownNode,
    problems: ["not_found"],
  }),
} as const;
