import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { membersOf } from "../src/acp/message.ts";
import { runCommand, writeFile } from "../src/model/intent.ts";
import { scene, scenes } from "../src/model/script.ts";
import { attempt, reply, say } from "../src/model/step.ts";
import { textIn } from "./fixtures/home.ts";
import { openRealAgent, REAL_AGENTS, verdictsIn } from "./fixtures/real-agents.ts";

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
});
