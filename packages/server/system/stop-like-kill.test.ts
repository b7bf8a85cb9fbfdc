import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { reinsProgram } from "../../../scripts/test/program.ts";
import { ask } from "./fixtures/ask.ts";
import { type Reached, RpcClient } from "./fixtures/rpc-client.ts";

const STUB = fileURLToPath(new URL("./fixtures/stub-agent.mjs", import.meta.url));

type Signal = "SIGTERM" | "SIGKILL";

/** A home with the stub, on which `reins up` runs as people run it. */
async function furnished(): Promise<string> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "stop-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  await mkdir(join(base, "home"), { mode: 0o700 });
  await mkdir(join(base, "work"));
  const stub = {
    id: "stub",
    name: "The stub",
    support: { level: "supported" },
    start: { with: "node", file: STUB },
    tools: "claude-code",
    enforcement: { level: "asked" },
  };
  await writeFile(join(base, "home", "agents.yaml"), JSON.stringify({ agents: [stub] }));
  const live = ["stub", "native"].map((id) =>
    JSON.stringify({ session_id: id, kind: "agent", state: "live" }),
  );
  await writeFile(join(base, "home", "agent-roster.jsonl"), `${live.join("\n")}\n`);
  return base;
}

interface Running extends Reached {
  end(signal: Signal): Promise<void>;
}

async function up(base: string): Promise<Running> {
  const child: ChildProcess = spawn(
    process.execPath,
    [reinsProgram, "up", "--port", "0", "--workspace", join(base, "work"), "--home", join(base, "home")],
    {
      env: { PATH: process.env.PATH, HOME: base, NODE_COMPILE_CACHE: join(tmpdir(), "reins-test-compile") },
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const gone = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await gone;
  });
  let address = "";
  const ready = Promise.withResolvers<void>();
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  lines.on("line", (line) => {
    const entry = JSON.parse(line);
    if (entry.transport === "http") address = String(entry.address).replace(/\/ahp$/, "");
    if (String(entry.msg).includes("rules are in force")) ready.resolve();
  });
  await Promise.race([ready.promise, gone.then(() => Promise.reject(new Error("reins ended")))]);
  const token = (await readFile(join(base, "home", "start-token"), "utf8")).trim();
  return {
    address,
    access: { token },
    ask: (method, path, { as = token, headers, ...asked } = {}) =>
      ask(address, method, path, { ...asked, headers: { authorization: `Bearer ${as}`, ...headers } }),
    end: async (signal) => {
      child.kill(signal);
      await gone;
    },
  };
}

/** What is under way when Reins ends, and what its client has been sent by then. */
interface Scenario {
  readonly agent: string;
  readonly prompts: readonly (readonly string[])[];
  readonly said?: string;
  readonly asked?: number;
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "a question that waits": {
    agent: "stub",
    prompts: [["say before", "run make all"]],
    said: "before",
    asked: 1,
  },
  "a question of the native agent": { agent: "native", prompts: [["run the tests"]], asked: 1 },
  "a turn that goes on for ever": { agent: "stub", prompts: [["say before", "ignore"]], said: "before" },
  "a turn, and a prompt in line": {
    agent: "stub",
    prompts: [["say before", "run make all"], ["say after"]],
    said: "before",
    asked: 1,
  },
};

/** Runs a scenario to its end by a signal; gives what clients see after the next start, without names and times. */
async function seenAfter(scenario: Scenario, signal: Signal) {
  const base = await furnished();
  await writeFile(join(base, "work", "package.json"), '{"scripts":{"test":"echo tested"}}');
  const first = await up(base);
  const client = await RpcClient.open(first, { agent: scenario.agent });
  const id = await client.begin(join(base, "work"), scenario.agent);
  const stream = await client.stream();
  const answers = scenario.prompts.map((steps) =>
    client.prompt(id, ...steps).then(
      ({ body }) => Object(Object(body).error),
      () => undefined,
    ),
  );
  const { said, asked = 0 } = scenario;
  await expect.poll(() => stream.asked.length).toBe(asked);
  if (said !== undefined) await expect.poll(() => stream.said).toContain(said);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await first.end(signal);
  const answered = await Promise.all(answers);

  const again = await up(base);
  const back = new RpcClient(again);
  back.connection = client.connection;
  const after = await back.stream({ "last-event-id": String(stream.ids.at(-1)) });
  await expect.poll(() => after.said.join()).toContain("The turn was cut off");
  await expect.poll(() => after.asked.length).toBe(asked);
  const { approvals } = Object((await again.ask("GET", "/v1/approvals")).body);
  const { state } = Object((await again.ask("GET", `/v1/sessions/${id}`)).body);
  const { entries } = Object((await again.ask("GET", "/v1/ledger?limit=200")).body);
  const recorded = [...entries]
    .map((placed: unknown) => Object(Object(placed).entry ?? placed))
    .filter(({ entity_id }) => String(entity_id) !== "reins:system")
    .map(({ quality, tags }) => `${quality} ${[...tags].filter((tag) => !String(tag).includes(":"))}`);
  const everything = await back.result("session/load", {
    sessionId: id,
    cwd: join(base, "work"),
    mcpServers: [],
  });
  const statuses = new Map<unknown, unknown>();
  for (const { params } of after.messages) {
    const { toolCallId, status } = Object(Object(params).update);
    if (toolCallId !== undefined && status !== undefined) statuses.set(toolCallId, status);
  }
  await again.end("SIGKILL");
  return {
    answered,
    seen: {
      said: after.said,
      approvals: [...approvals].map(({ state: one }) => one),
      state,
      recorded: recorded.toSorted(),
      running: [...statuses.values()].filter((status) => status === "in_progress" || status === "pending"),
      loaded: Object.keys(everything).length > 0,
    },
  };
}

describe("an orderly stop", () => {
  test.each(Object.entries(SCENARIOS))(
    "leaves the same state as kill -9: %s",
    { timeout: 180_000 },
    async (_, scenario) => {
      const killed = await seenAfter(scenario, "SIGKILL");
      const stopped = await seenAfter(scenario, "SIGTERM");
      expect(stopped.seen).toEqual(killed.seen);
      expect(killed.seen.running).toEqual([]);
      expect(stopped.seen.approvals).toEqual(Array.from({ length: scenario.asked ?? 0 }, () => "pending"));
      for (const error of stopped.answered)
        expect(error).toMatchObject({
          message: expect.stringContaining("Reins is stopping"),
          data: { interrupted: true },
        });
    },
  );
});

test("a worker that ran when Reins was killed has failed, interrupted, once", {
  timeout: 180_000,
}, async () => {
  const base = await furnished();
  const first = await up(base);
  const client = await RpcClient.open(first, { agent: "native" });
  const id = await client.begin(join(base, "work"), "native");
  const stream = await client.stream();
  client.prompt(id, "spawn a stub subagent to ignore").catch(() => undefined);
  const events = ({ messages }: Pick<typeof stream, "messages">) =>
    messages
      .map(({ params }) => Object(Object(params).update))
      .filter(({ sessionUpdate }) => sessionUpdate === "worker_update");
  await expect
    .poll(() => events(stream).some(({ audit }) => Object(audit).session_id !== undefined))
    .toBe(true);
  await first.end("SIGKILL");

  const seen: unknown[] = [];
  // A second start finds nothing left to end.
  for (let start = 1; start <= 2; start += 1) {
    const again = await up(base);
    const back = new RpcClient(again);
    back.connection = client.connection;
    const after = await back.stream({ "last-event-id": String(stream.ids.at(-1)) });
    await expect.poll(() => after.said.join()).toContain("The turn was cut off");
    seen.push(
      events(after).map(({ status, terminal, metadata }) => [status, terminal, Object(metadata).reason]),
    );
    await again.end("SIGKILL");
  }
  expect(seen).toEqual([[["failed", true, "interrupted"]], [["failed", true, "interrupted"]]]);
});
