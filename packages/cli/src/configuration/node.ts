import { hostname } from "node:os";
import { isPostgresAddress, type StoreNode } from "@reins/store";
import { z } from "zod";
import { CliError } from "../errors.ts";

const HostAndPort = z.string().regex(/^(?:\[[0-9a-fA-F:]+\]|[^:\s/]+):\d{1,5}$/, "an address is host:port");
const Name = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, "a name has letters, digits, dots and dashes");
const Labels = z.record(z.string().min(1), z.string());

/** The schema of `node` in `reins.yaml`: this Reins is one of several on a database. */
export const NodeSettings = z
  .strictObject({
    /** Its name, which no other node has; the name of the machine by default. */
    name: Name.optional(),
    /** Where it listens for other nodes. */
    listen: HostAndPort.default("127.0.0.1:18790"),
    /** How they reach it, where that is another address. */
    advertise: HostAndPort.optional(),
    /** What all nodes know, and only they. `@path` reads it from a file, relative to the home. */
    secret: z.string().min(1),
    labels: Labels.default({}),
    /** How many sessions it is for, compared with the others. */
    capacity: z.int().positive().optional(),
  })
  .optional();
export type NodeSettings = z.infer<typeof NodeSettings>;

/** A node of a cluster, and how others reach it. */
export interface ClusterNode {
  readonly node: StoreNode;
  readonly listen: { readonly host: string; readonly port: number };
  readonly advertise: string | undefined;
  readonly secret: string;
}

/** A key that can be guessed protects nothing. */
const LEAST_SECRET = 32;

/** What `reins.yaml` says of the node, overridden by the environment; undefined where Reins is alone. */
export function clusterNode(
  settings: NodeSettings,
  environment: NodeJS.ProcessEnv,
  store: string | undefined,
): ClusterNode | undefined {
  if (!settings) return undefined;
  const { labels, capacity, secret } = settings;
  if (!store || (!store.startsWith("@") && !isPostgresAddress(store)))
    throw new CliError(
      "node in reins.yaml makes this Reins one of several, which share a database in PostgreSQL.",
      {
        next: "Set store, or REINS_STORE, to its address; without node Reins is alone.",
      },
    );
  if (secret.length < LEAST_SECRET)
    throw new CliError(
      `The secret of the nodes has ${secret.length} characters, and needs ${LEAST_SECRET}.`,
      {
        next: "Make one, the same for all nodes: openssl rand -hex 32",
      },
    );
  const name = Name.parse(environment.REINS_NODE || settings.name || hostname());
  const listen = HostAndPort.parse(environment.REINS_NODE_LISTEN || settings.listen);
  const { hostname: host, port } = new URL(`tcp://${listen}`);
  return {
    node: { id: name, labels, ...(capacity !== undefined && { capacity }) },
    listen: { host: host.replace(/^\[|\]$/g, ""), port: Number(port) },
    advertise: environment.REINS_NODE_ADVERTISE || settings.advertise,
    secret,
  };
}
