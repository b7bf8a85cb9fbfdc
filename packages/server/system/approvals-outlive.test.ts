import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ask } from "./fixtures/ask.ts";
import { type Messages, type Reached, RpcClient } from "./fixtures/rpc-client.ts";
import { ServerProcess } from "./fixtures/server-process/server-process.ts";

type End = "stop" | "kill";
/** What the session does when Reins ends once more. */
type Doing = "nothing" | "nothing, with its agent running" | "a turn";

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

/** A client of a home that outlives its server, and everything that it was sent. */
class Returning {
  readonly #base: string;
  readonly #streams: Messages[] = [];
  #connection: string | undefined;
  #run: Run | undefined;
  client: RpcClient | undefined;

  constructor(base: string) {
    this.#base = base;
  }

  async start(): Promise<{ readonly client: RpcClient; readonly stream: Messages; readonly run: Run }> {
    const run = await started(this.#base);
    this.#run = run;
    const client = this.#connection === undefined ? await RpcClient.open(run) : new RpcClient(run);
    client.connection ??= this.#connection;
    this.#connection = client.connection;
    const last = this.#streams.flatMap(({ ids }) => ids).at(-1);
    const stream = await client.stream(last === undefined ? {} : { "last-event-id": String(last) });
    this.#streams.push(stream);
    return { client, stream, run };
  }

  async end(how: End): Promise<void> {
    if (how === "stop") await this.#run?.server.stop();
    else await this.#run?.server.kill();
    await this.#streams.at(-1)?.ended;
  }

  /** The questions that a person still has before them. */
  get open(): Record<string, unknown>[] {
    const open = new Map<unknown, Record<string, unknown>>();
    for (const message of this.#streams.flatMap(({ messages }) => messages)) {
      const { id, method, params } = message;
      if (method === "session/request_permission") open.set(id, message);
      if (method === "$/cancel_request") open.delete(Object(params).requestId);
    }
    return [...open.values()];
  }

  /** The states of all approvals. */
  async approvals(): Promise<unknown[]> {
    const { approvals } = Object((await this.#run?.ask("GET", "/v1/approvals"))?.body);
    return [...approvals].map(({ state }) => state);
  }
}

async function newHome(): Promise<string> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "outlive-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  return base;
}

describe("an approval", () => {
  test.each<readonly [End, Doing, End]>([
    ["kill", "nothing", "kill"],
    ["kill", "nothing, with its agent running", "stop"],
    ["stop", "a turn", "kill"],
  ])("survives a %s, then %s, then a %s", { timeout: 180_000 }, async (first, doing, second) => {
    const returning = new Returning(await newHome());
    const begun = await returning.start();
    const id = await begun.client.begin(begun.run.server.workspace);
    begun.client.prompt(id, "run make all").catch(() => undefined);
    await expect.poll(() => returning.open.length).toBe(1);
    await returning.end(first);

    const between = await returning.start();
    await expect.poll(() => between.stream.asked.length).toBe(1);
    expect(returning.open).toHaveLength(1);
    if (doing === "nothing, with its agent running") await between.client.prompt(id, "say again");
    if (doing === "a turn") between.client.prompt(id, "say again", "wait").catch(() => undefined);
    if (doing !== "nothing") await expect.poll(() => between.stream.said).toContain("again");
    expect(await returning.approvals()).toEqual(["pending"]);
    await returning.end(second);

    const after = await returning.start();
    expect(await returning.approvals()).toEqual(["pending"]);
    await expect.poll(() => after.stream.asked.length).toBe(1);
    expect(returning.open).toHaveLength(1);
    await after.client.answer(returning.open[0] ?? {}, "allow_once");
    await expect.poll(() => returning.approvals()).toEqual(["approved"]);
    // Neither another prompt nor the end of the agent with Reins uses the answer up.
    await after.client.prompt(id, "say later");
    await returning.end(second);

    const last = await returning.start();
    expect(await returning.approvals()).toEqual(["approved"]);
    await last.client.prompt(id, "run make all");
    await expect.poll(() => last.stream.said).toContain("yes");
    expect(last.stream.asked).toEqual([]);
    expect(await returning.approvals()).toEqual(["used"]);
    await returning.end("kill");
  });

  test("ends with its session, also while no agent runs for it", { timeout: 120_000 }, async () => {
    const returning = new Returning(await newHome());
    const begun = await returning.start();
    const { workspace } = begun.run.server;
    const ids = [await begun.client.begin(workspace), await begun.client.begin(workspace)];
    for (const id of ids) begun.client.prompt(id, "run make all").catch(() => undefined);
    await expect.poll(() => returning.open.length).toBe(2);
    await returning.end("kill");
    const after = await returning.start();
    await expect.poll(() => after.stream.asked.length).toBe(2);
    const [closed = "", deleted = ""] = ids;
    await after.client.result("session/close", { sessionId: closed });
    expect((await returning.approvals()).toSorted()).toEqual(["pending", "withdrawn"]);
    await after.client.result("session/delete", { sessionId: deleted });
    expect(await returning.approvals()).toEqual(["withdrawn", "withdrawn"]);
  });

  test("of a turn whose agent dies is withdrawn", { timeout: 120_000 }, async () => {
    const returning = new Returning(await newHome());
    const { client, run } = await returning.start();
    const id = await client.begin(run.server.workspace);
    const turn = client.prompt(id, "run make all");
    await expect.poll(() => returning.open.length).toBe(1);
    const other = await client.begin(run.server.workspace);
    await client.prompt(other, "crash");
    await turn;
    await expect.poll(() => returning.approvals()).toEqual(["withdrawn"]);
    await expect.poll(() => returning.open).toEqual([]);
  });
});
