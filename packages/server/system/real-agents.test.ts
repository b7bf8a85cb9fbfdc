import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { methods } from "@agentclientprotocol/sdk";
import { attempt, hold, reply, runCommand, say, scene, scenes } from "@reins/scripted-model";
import { expect, onTestFinished, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { AcpClient } from "./fixtures/acp-client.ts";
import { serveAgents } from "./fixtures/agents.ts";
import { openRealAgentHome } from "./fixtures/real-agents.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const textIn = (path: string) => readFile(path, "utf8").catch(() => undefined);

test.skipIf(!registryAnswers).each([
  ["claude", "websocket"],
  ["codex", "http"],
  ["opencode", "websocket"],
] as const)(
  `%s is reached over /v1/rpc, and over /acp by %s, both at once${NEEDS_REGISTRY}`,
  async (agent, way) => {
    const home = await openRealAgentHome(() => reply(say("-")));
    const { workspace, model } = home;
    const [secret, canary] = [join(workspace, ".env"), join(workspace, "canary")];
    await writeFile(secret, "TOKEN=heather\n");
    model.play(
      scenes(
        scene("GREET", reply(say("Good morning."))),
        scene("SECRET", reply(attempt(runCommand(`cat ${secret}`)))),
        scene("MAKE", reply(attempt(runCommand(`node -e "require('fs').writeFileSync('${canary}','yes')"`)))),
      ),
    );
    const served = await serveAgents(home);
    const client = await RpcClient.open(served, { agent });
    const id = await client.begin(workspace, agent);
    const stream = await client.stream();

    expect(await client.prompt(id, "GREET me")).toMatchObject({
      status: 200,
      body: { result: { stopReason: "end_turn" } },
    });
    await expect.poll(() => stream.said.join("")).toContain("Good morning.");

    await client.prompt(id, "SECRET please");
    const verdicts = await home.ledger.read({ quality: "policy_verdict", limit: 100 });
    expect(verdicts.map(({ entry }) => entry.payload)).toContainEqual(
      expect.objectContaining({ verdict: "blocked", rule: "credentials_are_out_of_reach" }),
    );
    const heard = model.requests.map(({ conversation }) => JSON.stringify(conversation));
    expect(heard.filter((conversation) => conversation.includes("heather"))).toEqual([]);
    expect(stream.asked).toEqual([]);

    const other = await AcpClient.open(served, way, { agent });
    await other.agent.request(methods.agent.session.resume, { sessionId: id, cwd: workspace });
    other.choose = async ({ options }) => {
      expect(await textIn(canary)).toBeUndefined();
      return options.find(({ kind }) => kind === "allow_once")?.optionId ?? "none";
    };
    await client.prompt(id, "MAKE it");
    expect(await textIn(canary)).toBe("yes");
    await expect.poll(() => [stream.asked.length, other.asked.length]).toEqual([1, 1]);
    const settled = { method: "$/cancel_request", params: { requestId: stream.asked[0]?.id } };
    await expect.poll(() => stream.messages).toContainEqual(expect.objectContaining(settled));

    const before = other.said.length;
    expect(await other.prompt(id, "GREET me again")).toMatchObject({ stopReason: "end_turn" });
    await expect.poll(() => other.said.slice(before).join("")).toContain("Good morning.");
  },
);

/** Serves one real agent that greets, and one turn of which goes on until it is ended. */
async function greeting(agent: string) {
  const home = await openRealAgentHome(() => reply(say("-")));
  const held = Promise.withResolvers<void>();
  onTestFinished(() => held.resolve());
  home.model.play(
    scenes(
      scene("LONG", reply(say("It begins. "), hold(held.promise))),
      scene("GREET", reply(say("Good morning."))),
    ),
  );
  const client = await RpcClient.open(await serveAgents(home), { agent });
  const id = await client.begin(home.workspace, agent);
  const stream = await client.stream();
  const greet = async () => {
    expect(await client.prompt(id, "GREET me")).toMatchObject({
      status: 200,
      body: { result: { stopReason: "end_turn" } },
    });
  };
  return { home, client, id, stream, greet };
}

test.skipIf(!registryAnswers)(
  `claude is cancelled in the middle of a turn, and the next turn works${NEEDS_REGISTRY}`,
  async () => {
    const { client, id, stream, greet } = await greeting("claude");
    const running = client.prompt(id, "LONG story");
    await expect.poll(() => stream.said.join("")).toContain("It begins.");
    await client.notify("session/cancel", { sessionId: id });
    expect(await running).toMatchObject({ status: 200, body: { result: { stopReason: "cancelled" } } });
    await greet();
    await expect.poll(() => stream.said.join("")).toContain("Good morning.");
  },
);

test.skipIf(!registryAnswers)(
  `what codex says is replayed after a reconnect without a gap or a repeat${NEEDS_REGISTRY}`,
  async () => {
    const { client, stream, greet } = await greeting("codex");
    await greet();
    await expect.poll(() => stream.said.join("")).toContain("Good morning.");
    const before = stream.ids;
    stream.close();
    await stream.ended;
    await greet();
    const later = await client.stream({ "last-event-id": String(before.at(-1)) });
    await expect.poll(() => later.said.join("")).toBe("Good morning.");
    later.close();
    await later.ended;
    const all = await client.stream();
    await expect.poll(() => all.ids).toEqual([...before, ...later.ids]);
  },
);

test.skipIf(!registryAnswers)(
  `the next prompt goes on when the process of opencode was killed${NEEDS_REGISTRY}`,
  async () => {
    const { home, stream, greet } = await greeting("opencode");
    await greet();
    const [running] = home.hosting.register.all.filter(({ agent }) => agent === "opencode");
    if (typeof running?.pid !== "number") throw new Error("opencode has no process");
    process.kill(running.pid, "SIGKILL");
    // A prompt on its way to a process that dies fails, because it may have been taken.
    await expect.poll(() => home.hosting.register.all.map(({ pid }) => pid)).not.toContain(running.pid);
    await greet();
    await expect.poll(() => stream.said.join("").split("Good morning.").length).toBe(3);
  },
);
