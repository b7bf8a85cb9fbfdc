import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { methods } from "@agentclientprotocol/sdk";
import { attempt, reply, runCommand, say, scene, scenes, writeFile } from "@reins/host/scripted-model";
import { expect, test } from "vitest";
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
    model.play(
      scenes(
        scene("GREET", reply(say("Good morning."))),
        scene("SECRET", reply(attempt(writeFile(secret, "x\n")))),
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
    expect(await textIn(secret)).toBeUndefined();
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
