import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AhpClient } from "@reins/ahp";
import { expect, onTestFinished, test } from "vitest";
import { ask } from "./fixtures/ask.ts";
import { type Reached, RpcClient } from "./fixtures/rpc-client.ts";
import { ServerProcess } from "./fixtures/server-process/server-process.ts";

type End = "stop" | "kill";

interface Run extends Reached {
  readonly server: ServerProcess;
}

async function started(base: string): Promise<Run> {
  const server = await ServerProcess.start({ base });
  onTestFinished(() => server.kill());
  const { address, token } = server;
  return {
    server,
    address,
    access: { token },
    ask: (method, path, { as = token, headers, ...asked } = {}) =>
      ask(address, method, path, { ...asked, headers: { authorization: `Bearer ${as}`, ...headers } }),
  };
}

const lifecycleOf = (run: unknown) => Object(Object(run).run_lifecycle ?? Object(run).payload ?? run);

async function runsIn(run: Run, session: string): Promise<Record<string, unknown>[]> {
  const { body, text } = await run.ask("GET", `/v1/runs?session=${session}`);
  const { runs } = Object(body);
  if (!Array.isArray(runs)) throw new Error(text);
  return runs.map(lifecycleOf);
}

test.each<End>(["stop", "kill"])(
  "a run whose turn was interrupted by a %s of the server fails once, at the next start",
  { timeout: 180_000 },
  async (how) => {
    const base = await realpath(await mkdtemp(join(tmpdir(), "runs-")));
    onTestFinished(() => rm(base, { recursive: true, force: true }));
    const first = await started(base);
    const client = await RpcClient.open(first);
    const id = await client.begin(first.server.workspace);
    await client.prompt(id, "say done");
    await expect.poll(() => runsIn(first, id)).toMatchObject([{ status: "completed" }]);
    client.prompt(id, "say begun", "wait").catch(() => undefined);
    await expect
      .poll(async () => (await runsIn(first, id)).map(({ status }) => status).toSorted())
      .toEqual(["completed", "executing"]);
    const cut = (await runsIn(first, id)).find(({ status }) => status === "executing")?.run_id;
    // Of an agent elsewhere that is not hosted here: it goes on, whatever becomes of Reins.
    await tellElsewhere(first);
    await expect.poll(() => runsIn(first, "far")).toMatchObject([{ status: "executing" }]);
    await (how === "stop" ? first.server.stop() : first.server.kill());

    let again = await started(base);
    const failed = { status: "failed", metadata: { stop_reason: "interrupted" } };
    expect((await runsIn(again, id)).find(({ run_id }) => run_id === cut)).toMatchObject(failed);
    expect(await runsIn(again, "far")).toMatchObject([{ status: "executing" }]);
    await again.server.kill();
    again = await started(base);
    const { events } = Object((await again.ask("GET", `/v1/runs/${cut}/events`)).body);
    const statuses = [...events].map((event) => lifecycleOf(event).status);
    expect(statuses).toEqual(["created", "executing", "failed"]);
    expect([...events].map(({ fault }) => fault ?? null)).toEqual([null, null, null]);
    await again.server.kill();
  },
);

async function tellElsewhere({ address, access: { token } }: Run): Promise<void> {
  const auth = { method: { type: "bearer", token } } as const;
  const peer = { agentId: "far", sessionId: "far" };
  const client = await AhpClient.connect({ type: "http", url: `${address}/ahp`, auth }, peer);
  onTestFinished(() => client.close());
  await client.handshake(["run_lifecycle"]);
  const updated_at = new Date().toISOString();
  await client.sendNotification("run_lifecycle", {
    run_id: "far",
    session_id: "far",
    status: "executing",
    updated_at,
  });
}
