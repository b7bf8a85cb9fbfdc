import { setTimeout as sleep } from "node:timers/promises";
import { nodeOperations, type ShownNode } from "@reins/api";
import { operationCommand } from "../client/operation-command.ts";
import { group } from "../command.ts";
import { EXIT } from "../errors.ts";
import { counted, printableLine, screenWidth, table } from "../output.ts";

const NAME = ["<name>", "the node's name"] as const;
const ADVICE = { not_found: "To see the nodes: reins node list" } as const;
const POLL_MS = 500;

const DESCRIPTION =
  "The nodes of a cluster: several Reins on one database in PostgreSQL, each of which serves some tenants. See docs/scale.md.";

export const nodeCommand = group(DESCRIPTION, {
  list: operationCommand({
    operation: nodeOperations.listNodes,
    summary: "list the nodes",
    output: ({ nodes }) => ({ text: () => nodeTable(nodes) }),
    examples: ["reins node list", "reins node list --json | jq -r '.nodes[] | .name + \" \" + .state'"],
  }),
  show: operationCommand({
    operation: nodeOperations.getNode,
    summary: "show a node with the tenants that it serves",
    inputs: { name: NAME },
    output: (node) => ({ text: () => describeNode(node) }),
    advice: ADVICE,
    examples: ["reins node show one"],
  }),
  drain: operationCommand({
    operation: nodeOperations.drainNode,
    summary: "have a node hand over its tenants",
    inputs: {
      name: NAME,
      undo: ["--undo", "have it take over tenants again", { local: true }],
      wait: ["--wait <seconds>", "wait so long until it serves none", { local: true }],
    },
    complete: ({ undo }) => ({ drain: undo !== true }),
    async send(client, { name, undo, wait }) {
      const node = await client.call(nodeOperations.drainNode, {
        params: { name },
        body: { drain: undo !== true },
        advice: ADVICE,
      });
      const deadline = Date.now() + Number(wait ?? 0) * 1_000;
      let now = node;
      while (undo !== true && now.tenants.length > 0 && Date.now() < deadline) {
        await sleep(POLL_MS);
        now = await client.call(nodeOperations.getNode, { params: { name } });
      }
      return now;
    },
    output: (node, { wait }) => ({
      text: () => describeNode(node),
      exitCode: wait !== undefined && node.tenants.length > 0 ? EXIT.failed : EXIT.done,
    }),
    advice: ADVICE,
    note: `Each tenant is handed over once no turn and no run of it is under way; nothing is cut off.
Stop the node when it serves none; what still runs then is interrupted.`,
    examples: ["reins node drain one --wait 600", "reins node drain one --undo"],
  }),
});

function nodeTable(nodes: readonly ShownNode[]): string {
  if (nodes.length === 0) return "This Reins has its database to itself.\n";
  const rows = nodes.map((node) => [
    printableLine(node.name) + (node.this ? " *" : ""),
    node.state,
    String(node.tenants.length),
    String(node.sessions),
    node.version ?? "-",
    printableLine(node.address ?? "-"),
    labelsOf(node),
  ]);
  return table(
    [["node", "state", "tenants", "sessions", "version", "address", "labels"], ...rows],
    screenWidth(),
  );
}

function describeNode(node: ShownNode): string {
  const { name, state, tenants, address, version, since } = node;
  const lines = [
    `${printableLine(name)} is ${state}${state === "gone" ? "" : ` since ${since}`}`,
    `address   ${printableLine(address ?? "-")}`,
    `version   ${version ?? "-"}`,
    `labels    ${labelsOf(node)}`,
    `serves    ${counted(tenants.length, "tenant")}${tenants.length > 0 ? `: ${tenants.map((tenant) => printableLine(tenant)).join(", ")}` : ""}`,
  ];
  return `${lines.join("\n")}\n`;
}

function labelsOf({ labels }: ShownNode): string {
  const all = Object.entries(labels).map(([name, value]) => printableLine(`${name}=${value}`));
  return all.length > 0 ? all.join(" ") : "-";
}
