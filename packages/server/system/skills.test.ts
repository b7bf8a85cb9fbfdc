import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import type { Served } from "./fixtures/home.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll();
const SKILL = "---\nname: canary\ndescription: Rolls out canary releases\n---\nFly.\u202E\n";

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

describe("the API of skills", () => {
  let served: Served;
  let workspace: string;
  beforeEach(async () => {
    served = await serveAgents(home());
    ({ workspace } = home());
    await rm(join(workspace, ".claude"), { recursive: true, force: true });
    await write(
      join(home().harness.home, "skills/review/SKILL.md"),
      "---\nname: review\ndescription: Reviews diffs\nmodel: opus\ncontext: fork\n---\nRead.\n",
    );
    await write(join(workspace, ".claude/skills/canary/SKILL.md"), SKILL);
    await write(join(workspace, ".agents/skills/canary/SKILL.md"), `${SKILL}Or not.`);
  });
  const list = async (as?: string) =>
    Object((await served.ask("GET", `/v1/skills?workspace=${encodeURIComponent(workspace)}`, { as })).body);
  const show = async () =>
    Object(
      (await served.ask("GET", `/v1/skills/show?skill=canary&workspace=${encodeURIComponent(workspace)}`))
        .body,
    );
  const match = async (prompt: string) =>
    Object((await served.ask("POST", "/v1/skills/match", { body: { prompt, workspace } })).body).matches;
  const trust = (body: object, as?: string) => served.ask("POST", "/v1/skills/trust", { body, as });

  test("lists layers, trust and what is shadowed", async () => {
    const { skills, shadowed, warnings } = await list();
    expect(skills).toMatchObject([
      { id: "canary", layer: "project", trust: { status: "untrusted" } },
      { id: "review", layer: "user", trust: { status: "trusted", by: "operator" } },
    ]);
    expect(skills.map((skill: object) => Reflect.get(skill, "not_applied"))).toEqual([
      [],
      ["context: fork", "model: opus"],
    ]);
    expect(shadowed).toMatchObject([{ id: "canary", winner: "project", loser: "project" }]);
    expect(warnings).toContainEqual(expect.objectContaining({ message: "the body has hidden characters" }));
    const { skills: own } = Object((await served.ask("GET", "/v1/skills")).body);
    expect(own).toMatchObject([{ id: "review" }]);
  });

  test("shows what a person reads before trusting; what is not trusted is not matched", async () => {
    const { skill, body, files, faults } = await show();
    expect({ id: skill.id, body, faults }).toEqual({ id: "canary", body: "Fly.\u202E", faults: [] });
    expect(files).toEqual([
      { path: "SKILL.md", sha256: expect.stringMatching(/^[0-9a-f]{64}$/), executable: false },
    ]);
    expect(await match("roll out the canary")).toEqual([]);
    expect(await match("a review please")).toMatchObject([
      { name: "review", active: true, reason: expect.any(String) },
    ]);
    expect((await served.ask("GET", "/v1/skills/show?skill=none")).status).toBe(404);
  });

  test("trusts the content that was read, and nothing else; a person takes it back", async () => {
    const { skill } = await show();
    const asked = { skill: "canary", workspace, digest: skill.digest };
    expect((await trust({ ...asked, digest: "0".repeat(64) })).status).toBe(409);
    const agent = await served.person({ kind: "agent" });
    expect((await trust(asked, agent.secret)).status).toBe(403);
    expect((await trust(asked)).body).toMatchObject({ trust: { status: "trusted", by: "grant" } });
    expect(await match("roll out the canary")).toMatchObject([{ name: "canary" }]);
    await write(join(workspace, ".claude/skills/canary/run.sh"), "rm");
    expect(await match("roll out the canary")).toEqual([]);
    expect((await trust(asked)).status).toBe(409);
    expect((await served.ask("DELETE", `/v1/skills/trust/${skill.digest}`)).status).toBe(204);
    expect((await served.ask("DELETE", `/v1/skills/trust/${skill.digest}`)).status).toBe(404);
  });

  test("reads no folder that the caller's tenant was not given, and no relative one", async () => {
    const { secret } = await served.person({});
    const outside = await served.ask("GET", "/v1/skills?workspace=/etc", { as: secret });
    expect(outside.status).toBe(403);
    expect((await served.ask("GET", "/v1/skills?workspace=etc")).status).toBe(400);
  });
});

test("a session that had no skill uses one that comes, and stops when it is gone", async () => {
  const { workspace, harness } = home();
  for (const folder of [".claude", ".agents"])
    await rm(join(workspace, folder), { recursive: true, force: true });
  const skills = join(harness.home, "skills");
  await rm(skills, { recursive: true, force: true });
  const client = await RpcClient.open(await serveAgents(home()));
  const stream = await client.stream();
  const changes = () =>
    stream.messages.flatMap(({ params }) => {
      const { sessionUpdate } = Object(Object(params).update);
      return String(sessionUpdate).startsWith("skill_") ? [sessionUpdate] : [];
    });
  const id = await client.begin(workspace);
  for (let prompts = 0; prompts < 2; prompts += 1) await client.prompt(id, "say roll out the canary");
  expect(changes()).toEqual([]);
  await write(join(skills, "canary/SKILL.md"), SKILL);
  await client.prompt(id, "say roll out the canary");
  await expect.poll(changes).toEqual(["skill_activated"]);
  await rm(skills, { recursive: true });
  await client.prompt(id, "say roll out the canary");
  await expect.poll(changes).toEqual(["skill_activated", "skill_deactivated"]);
});
