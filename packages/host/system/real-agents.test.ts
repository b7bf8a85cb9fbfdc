import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { membersOf } from "../src/acp/message.ts";
import { callMcpTool, runCommand, writeFile } from "../src/model/intent.ts";
import { scene, scenes } from "../src/model/script.ts";
import { attempt, hold, reply, say } from "../src/model/step.ts";
import { textIn } from "./fixtures/home.ts";
import { openRealAgent, REAL_AGENTS, verdictsIn } from "./fixtures/real-agents.ts";

const LAB = fileURLToPath(new URL("./fixtures/mcp/lab-stdio.ts", import.meta.url));

describe.each(REAL_AGENTS)("%s", (agent) => {
  test("answers", async () => {
    const real = await openRealAgent(agent, { script: scenes(scene("GREET", reply(say("Good morning.")))) });
    const id = await real.begin();
    expect(await real.prompt(id, "GREET me")).toMatchObject({ stopReason: "end_turn" });
    expect(real.client.said.join("")).toContain("Good morning.");
    const [turn] = await real.entries("turn");
    expect(membersOf(turn?.payload)).toMatchObject({ stop_reason: "end_turn" });
  });

  test("writes and runs what the constitution lets it, each decided once, before it happens", async () => {
    const real = await openRealAgent(agent, { script: () => reply(say("-")) });
    const path = join(real.workspace, "notes.txt");
    real.model.play(
      scenes(
        scene("WRITE", reply(attempt(writeFile(path, "hello\n")))),
        scene("LOOK", reply(attempt(runCommand("ls")))),
      ),
    );
    const id = await real.begin();
    await real.prompt(id, "WRITE it");
    expect(await textIn(path)).toBe("hello\n");
    await real.prompt(id, "LOOK around");
    const verdicts = await verdictsIn(real);
    expect(verdicts).toHaveLength(2);
    expect(verdicts.every((verdict) => verdict.endsWith("allowed"))).toBe(true);
  });

  test("does not write what is blocked, nor run what a person refuses", async () => {
    const real = await openRealAgent(agent, { script: () => reply(say("-")) });
    const secret = join(real.workspace, ".env");
    const canary = join(real.workspace, "canary");
    real.state.person = () => "reject_once";
    real.model.play(
      scenes(
        scene("SECRET", reply(attempt(writeFile(secret, "x\n")))),
        scene("MAKE", reply(attempt(runCommand(`node -e "require('fs').writeFileSync('${canary}','')"`)))),
      ),
    );
    const id = await real.begin();
    await real.prompt(id, "SECRET please");
    await real.prompt(id, "MAKE it");
    expect([await textIn(secret), await textIn(canary)]).toEqual([undefined, undefined]);
    expect(real.client.asked).toHaveLength(1);
    const verdicts = await verdictsIn(real);
    expect(verdicts).toHaveLength(2);
    expect(verdicts.every((verdict) => verdict.endsWith("blocked"))).toBe(true);
  });

  test("runs what a person allows", async () => {
    const real = await openRealAgent(agent, { script: () => reply(say("-")) });
    const canary = join(real.workspace, "canary");
    real.state.person = () => "allow_once";
    real.model.play(
      scenes(
        scene("MAKE", reply(attempt(runCommand(`node -e "require('fs').writeFileSync('${canary}','yes')"`)))),
      ),
    );
    const id = await real.begin();
    await real.prompt(id, "MAKE it");
    expect(await textIn(canary)).toBe("yes");
    expect((await verdictsIn(real)).map((verdict) => verdict.split(" ").at(-1))).toEqual(["allowed"]);
    const results = await real.entries("tool_result");
    expect(results.map(({ tags }) => tags)).toEqual([["completed"]]);
  });

  test("stops when it is told to", async () => {
    const never = new Promise(() => undefined);
    const script = scenes(scene("LONG", reply(say("Well, "), hold(never))));
    const real = await openRealAgent(agent, { script });
    const id = await real.begin();
    const turn = real.prompt(id, "LONG story");
    await expect.poll(() => real.client.said.join("")).toContain("Well");
    await real.client.connection.notification("session/cancel", { sessionId: id });
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
  });

  test("calls a tool of an MCP server, which the harness performs after one verdict", async () => {
    const real = await openRealAgent(agent, {
      script: scenes(scene("ECHO", reply(attempt(callMcpTool("lab", "echo", { text: "heather" }))))),
    });
    const asked: string[] = [];
    real.state.person = (params) => {
      asked.push(String(membersOf(params.toolCall).name));
      return "allow_once";
    };
    const server = { name: "lab", command: process.execPath, args: [LAB], env: [] };
    const id = await real.begin({ mcpServers: [server] });
    await real.prompt(id, "ECHO it");
    expect(asked).toEqual(["mcp/start", "mcp:lab/echo"]);
    expect(await verdictsIn(real)).toEqual(["mcp/start allowed", "mcp:lab/echo allowed"]);
    const results = await real.entries("tool_result");
    expect(results.map(({ target, tags }) => [target, tags])).toEqual([["mcp:lab/echo", ["completed"]]]);
    // Agents ask on the side too, for titles and the like.
    const told = real.model.requests.map(({ conversation }) => JSON.stringify(conversation.items));
    expect(told.some((items) => items.includes("heather"))).toBe(true);
  });

  test("goes on after it was killed, and knows what was said", async () => {
    const real = await openRealAgent(agent, {
      script: scenes(
        scene("REMEMBER", reply(say("The word is heather."))),
        scene("RECALL", reply(say("As I said."))),
      ),
    });
    const id = await real.begin();
    await real.prompt(id, "REMEMBER this");
    const [running] = await real.hub.running();
    if (!running?.process) throw new Error("no agent runs");
    process.kill(running.process.pid, "SIGKILL");
    await running.process.exited;
    await real.prompt(id, "RECALL it");
    expect(real.client.said.join("")).toContain("As I said.");
    const recalled = real.model.requests.filter(({ conversation }) =>
      JSON.stringify(conversation).includes("RECALL"),
    );
    expect(JSON.stringify(recalled.map(({ conversation }) => conversation))).toContain(
      "The word is heather.",
    );
  });
});
