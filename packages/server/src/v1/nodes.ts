import { nodeOperations, type ShownNode } from "@reins/api";
import { type KnownNode, nodeTables, type Store } from "@reins/store";
import { actorOf } from "@reins/supervisor";
import { required } from "../access/authenticator.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { HttpProblem } from "../problems.ts";
import type { Routes, Wire } from "../routes/router.ts";

/** The nodes on a database, which each of them knows. */
export function nodeRoutes(cluster: Cluster | undefined): Routes {
  const own = async () => (cluster ? await required(cluster.membership) : undefined);
  return {
    name: "nodes",
    mount(router) {
      router.handle(nodeOperations.listNodes, async ({ harness: { store } }) => {
        const id = (await own())?.id;
        const nodes = await store.query(nodeTables, "list", null);
        return { nodes: await Promise.all(nodes.map((node) => shown(store, node, id))) };
      });
      router.handle(nodeOperations.getNode, async ({ harness: { store }, params: { name } }) =>
        shown(store, await nodeOf(store, name), (await own())?.id),
      );
      router.handle(nodeOperations.drainNode, async ({ harness, principal, params: { name }, body }) => {
        const { store } = harness;
        const membership = await own();
        if (!membership || stateOf(await nodeOf(store, name)) === "gone") throw noNode(name);
        const by = { principal: principal.id, kind: principal.kind };
        const payload = { change: body.drain ? "node_drained" : "node_serves", node: name, by };
        await harness.record([
          { quality: "policy_change", actor: actorOf(principal), target: `node:${name}`, payload },
        ]);
        if (!(await membership.drain(name, body.drain))) throw noNode(name);
        return shown(store, await nodeOf(store, name), membership.id);
      });
    },
  };
}

async function nodeOf(store: Store, name: string): Promise<KnownNode> {
  const node = (await store.query(nodeTables, "list", null)).find(({ id }) => id === name);
  if (node) return node;
  throw noNode(name);
}

function noNode(name: string): HttpProblem {
  return new HttpProblem("not_found", `there is no node ${name} that serves; GET /v1/nodes lists them`);
}

async function shown(store: Store, node: KnownNode, own: string | undefined): Promise<Wire<ShownNode>> {
  const { id, claim, labels, capacity, since, state } = node;
  return {
    name: id,
    state: stateOf(node),
    version: state?.version ?? null,
    address: state?.address ?? null,
    labels,
    capacity: capacity ?? null,
    sessions: state?.sessions ?? 0,
    tenants: claim === "" ? [] : await store.query(nodeTables, "owned", { node: id, claim }),
    since: new Date(since).toISOString(),
    this: id === own,
  };
}

function stateOf({ claim, isAlive, state }: KnownNode): ShownNode["state"] {
  if (claim === "" || !isAlive) return "gone";
  if (!state) return "starting";
  return state.isDraining ? "draining" : "serving";
}
