import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runPlace } from "../src/graph/at-rest.ts";
import { declaredRunTables } from "../src/graph/tables.ts";
import { openGraphHome } from "./fixtures/graph-home.ts";

test("stores the declaration as it was written, with its sections and their hashes", async () => {
  const { hosting, principal, ended, harness } = await openGraphHome();
  const message = `Some words first.

\`\`\`json agent-protocol
{ "type": "agent.protocol", "version": "1",   "intent": "execute", "payload": { "actions": [
  { "id": "merge", "executor": { "type": "runtime", "target": "merge" }, "context_refs": ["md:notes"] }
] } }
\`\`\`

## notes

What is to be known.

## not.used

Nothing refers to it.
`;
  const { run_id } = await hosting.graphs.start(principal, { message });
  const run = await ended(run_id);
  expect(run).toMatchObject({ status: "completed", declaration: message });
  const stored = await harness.store.query(declaredRunTables, "get", { tenant: "default", run: run_id });
  const place = { tenant: "default", run: run_id };
  const { graph, declaration } = JSON.parse(
    harness.vault.open(runPlace(place, "declared"), stored?.declared ?? ""),
  );
  expect(declaration).toBe(message);
  const text = graph.sections[0].text;
  expect(text.trim()).toBe("What is to be known.");
  const hash = createHash("sha256").update(text).digest("hex");
  expect(graph.sections).toEqual([{ id: "notes", text, hash }]);
  expect(graph.actions[0]).toMatchObject({ id: "merge", context: [{ kind: "section", id: "notes" }] });
});

const SECRET = `ghp_${"a1B2c3D4e5F6".repeat(3)}`;

test("redacts secrets in what people are shown and in the ledger", async () => {
  const { hosting, principal, ended, workspace, ledger, harness } = await openGraphHome();
  await writeFile(join(workspace, "key.txt"), `token ${SECRET}`);
  const { run_id } = await hosting.graphs.start(principal, {
    declaration: {
      kind: "act",
      calls: [
        { id: "read", type: "tool", name: "read_file", args: { path: "key.txt" } },
        {
          id: "copy",
          type: "tool",
          name: "write_file",
          args: { path: "copy.txt", content: { $ref: "action:read.output" } },
        },
      ],
    },
  });
  const run = await ended(run_id);
  expect(run.status).toBe("completed");
  expect(JSON.stringify(run)).not.toContain(SECRET);
  const expanded = await hosting.graphs.expand(principal, run_id, "action:read.output", {});
  expect(expanded.text).not.toContain(SECRET);
  await harness.supervisor.close();
  const entries = await ledger.read({ limit: 1_000 });
  expect(JSON.stringify(entries)).not.toContain(SECRET);
  const log = await hosting.hub.log.page("default", [run.session_id], 0);
  expect(JSON.stringify(log)).not.toContain(SECRET);
  // What is done is exact.
  expect(await readFile(join(workspace, "copy.txt"), "utf8")).toBe(`token ${SECRET}`);
});
