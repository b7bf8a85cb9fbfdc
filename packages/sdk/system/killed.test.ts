import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { client } from "@agentclientprotocol/sdk";
import { expect, onTestFinished, test } from "vitest";
import { AUDIENCE, Issuer } from "../../server/system/fixtures/issuer.ts";
import { type ConversationEvent, connect, InterruptedError, rpcStream } from "../src/index.ts";
import { makeRoom, startIn } from "./fixtures/server.ts";

const numbersIn = (events: readonly ConversationEvent[]) =>
  events.flatMap((event) => (event.type === "text" ? (/^(\d+) $/.exec(event.text)?.[1] ?? []) : []));

test("a server that is killed in a streamed turn and started again: no update is lost or repeated", async () => {
  const room = await makeRoom();
  onTestFinished(() => room.remove());
  const first = await startIn(room);
  onTestFinished(() => first.close());
  const { url, token } = first;
  const asked: string[] = [];
  await using reins = await connect(url, {
    token,
    onPermission: ({ approval = "" }) => {
      asked.push(approval);
      return asked.length === 1 ? undefined : "allow";
    },
  });
  const counting = await reins.sessions.create({ agent: "scripted" });
  const asking = await reins.sessions.create({ agent: "scripted" });
  const waiting = asking.prompt("ask").result();
  waiting.catch(() => undefined);
  await expect.poll(() => asked).toHaveLength(1);

  const seen: ConversationEvent[] = [];
  let killed = false;
  const counted = (async () => {
    for await (const event of counting.prompt("count 100000")) {
      if (event.type !== "end") seen.push(event);
      if (numbersIn(seen).length < 300 || killed) continue;
      killed = true;
      process.kill(first.pid, "SIGKILL");
    }
  })();
  counted.catch(() => undefined);
  await expect.poll(() => killed).toBe(true);
  await pause(300);
  const again = await startIn(room, { port: Number(new URL(url).port), token });
  onTestFinished(() => again.close());

  await expect(counted).rejects.toBeInstanceOf(InterruptedError);
  await expect(waiting).rejects.toBeInstanceOf(InterruptedError);
  const stored: ConversationEvent[] = [];
  for await (const event of counting.history()) stored.push(event);
  const numbers = numbersIn(seen);
  expect(numbers.length).toBeGreaterThanOrEqual(300);
  expect(numbers).toEqual(numbers.map((_, index) => `${index + 1}`));
  expect(seen.map(({ type }) => type)).toEqual(stored.map(({ type }) => type));
  expect(numbersIn(stored)).toEqual(numbers);

  // The open question is asked again; the same client and session go on.
  await expect.poll(() => asked).toHaveLength(2);
  expect(asked[1]).toBe(asked[0]);
  expect((await counting.prompt("count 3").result()).text).toBe("1 2 3 ");

  // The stream serves the official client as it is.
  const said: string[] = [];
  await client()
    .onNotification("session/update", ({ params: { update } }) => {
      if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
        said.push(update.content.text);
    })
    .connectWith(rpcStream(url, { token, agent: "scripted" }), async (agent) => {
      await agent.request("initialize", { protocolVersion: 1 });
      const { sessionId } = await agent.request("session/new", { cwd: room.workspace, mcpServers: [] });
      await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "count 4" }] });
    });
  expect(said.join("")).toBe("1 2 3 4 ");
});

/** Starts a server, prints its process id, and does nothing more. */
const STARTER = `
  import { startIn } from ${JSON.stringify(new URL("./fixtures/server.ts", import.meta.url).href)};
  const [, home, workspace] = process.argv;
  const { pid } = await startIn({ home, workspace });
  console.log(pid);
`;

/** Whether a process runs; one that has ended and was not waited for does not. */
function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test.each(["SIGKILL", "SIGTERM"] as const)(
  "a server stops, in order, with the program that started it and was ended by %s",
  async (signal) => {
    const room = await makeRoom();
    onTestFinished(() => room.remove());
    const { home, workspace } = room;
    const starter = spawn(process.execPath, ["--input-type=module", "-e", STARTER, home, workspace], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [printed] = await once(starter.stdout, "data");
    const pid = Number(String(printed));
    onTestFinished(() => {
      if (isAlive(pid)) process.kill(pid, "SIGKILL");
    });
    expect(isAlive(pid)).toBe(true);
    expect(existsSync(join(home, "reins.sock"))).toBe(true);
    starter.kill(signal);
    await expect.poll(() => isAlive(pid), { timeout: 30_000, interval: 100 }).toBe(false);
    // What is killed leaves these behind.
    expect(existsSync(join(home, "reins.sock"))).toBe(false);
    expect(existsSync(join(home, "reins.db-wal"))).toBe(false);
  },
);

test("a turn goes on with new tokens of an issuer when those before expire", async () => {
  const room = await makeRoom();
  onTestFinished(() => room.remove());
  const issuer = await Issuer.open(onTestFinished);
  const settings = {
    ...{ name: "corp", issuer: issuer.address, audience: [AUDIENCE], clock_skew: 0, tenant: "default" },
    grants: [{ roles: ["admin"], scopes: ["*"], agents: ["*"] }],
  };
  await writeFile(join(room.home, "reins.yaml"), JSON.stringify({ oidc: [settings] }), { mode: 0o600 });
  const server = await startIn(room);
  onTestFinished(() => server.close());
  let issued = 0;
  const states: boolean[] = [];
  await using reins = await connect(server.url, {
    token: () => {
      issued += 1;
      return issuer.token({ exp: Math.floor(Date.now() / 1_000) + 3 });
    },
    onPermission: async () => {
      await pause(7_000);
      return "allow" as const;
    },
    onState: (isOpen) => states.push(isOpen),
  });
  const session = await reins.sessions.create({ agent: "scripted" });
  const types: string[] = [];
  for await (const event of session.prompt("ask")) types.push(event.type);
  expect([types[0], types.at(-1)]).toEqual(["prompt", "end"]);
  // The stream ended with the token it was opened with, and was resumed.
  expect(states.slice(0, 3)).toEqual([true, false, true]);
  expect(issued).toBeGreaterThan(1);
  await pause(3_500);
  await reins.files.write("late.txt", new Blob(["late"]).stream());
  expect(await (await reins.files.read("late.txt")).text()).toBe("late");
});
