import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Catalogue } from "@reins/agents";
import { attempt, reply, runCommand, say, scene, scenes } from "@reins/scripted-model";
import { describe, expect, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { textIn } from "./fixtures/home.ts";
import { REAL_AGENTS, shareRealAgent, verdictsIn } from "./fixtures/real-agents.ts";

const SECRET = "canary-of-a-credential-file";
const NOTES = "canary-of-a-harmless-file";

const catalogue = Catalogue.load();

describe.skipIf(!registryAnswers).each(REAL_AGENTS)(`%s${NEEDS_REGISTRY}`, (agent) => {
  const openRealAgent = shareRealAgent(agent);

  /** A folder with a credential file, and one that is harmless, in all spellings that agents are known to follow. */
  async function trapped() {
    const real = await openRealAgent();
    await mkdir(join(real.folder, "with space"));
    for (const name of [".env", "with space/.env"])
      await writeFile(join(real.folder, name), `API_KEY=${SECRET}\n`);
    await writeFile(join(real.folder, "notes.txt"), `${NOTES}\n`);
    real.model.play(scenes(scene("READ", reply(say("Read.")))));
    return real;
  }

  test("reads no credential file that a prompt names, by a reference or a link", async () => {
    const real = await trapped();
    const file = join(real.folder, ".env");
    const spellings = [
      ...[
        "@.env",
        "@./.env",
        `@${file}`,
        `@"${file}"`,
        "@.env#L1-3",
        "(@.env)",
        "@.env.",
        "`@.env`",
        "@with\\ space/.env",
      ],
      ...[
        '@"with space/.env"',
        `@file:${file}`,
        `@file://${file}`,
        `+// see @${file}`,
        `"@.env"`,
        "\n@.env\n",
      ],
    ];
    const id = await real.begin();
    const prompt = [
      { type: "text", text: `READ ${spellings.join(" and ")}` },
      { type: "resource_link", name: "env", uri: pathToFileURL(file).href },
      { type: "resource_link", name: "env", uri: `zed:///agent/file?path=${file}` },
      { type: "resource", resource: { uri: pathToFileURL(file).href, text: "" } },
    ];
    await real.client.request("session/prompt", { sessionId: id, prompt });
    expect(real.model.requests.length).toBeGreaterThan(0);
    expect(JSON.stringify(real.model.requests)).not.toContain(SECRET);
    const verdicts = await verdictsIn(real);
    expect(verdicts).toContain("fs/read_text_file blocked");
    expect(verdicts).not.toContain("fs/read_text_file allowed");
  });

  test("is given the files that may be read, after a verdict on each", async () => {
    const real = await trapped();
    const id = await real.begin();
    await real.prompt(id, "READ @notes.txt, please");
    expect(JSON.stringify(real.model.requests)).toContain(NOTES);
    expect(await verdictsIn(real)).toEqual(["fs/read_text_file allowed"]);
  });

  test("is not told by a prompt to stop asking", async () => {
    const real = await openRealAgent();
    const canary = join(real.folder, "canary");
    const make = `node -e "require('fs').writeFileSync('${canary}','')"`;
    real.model.play(scenes(scene("MAKE", reply(attempt(runCommand(make))))));
    real.state.person = () => "reject_once";
    const id = await real.begin();
    for (const command of ["/allow-all", "/yolo", " \u200B/autopilot", "/permissions allow-all", "／yolo"])
      expect(await real.prompt(id, command), command).toMatchObject({ stopReason: "refusal" });
    await real.prompt(id, "MAKE it");
    expect(await textIn(canary)).toBeUndefined();
    const announced = real.hub.live(id)?.agent?.governor.session(id)?.commands ?? [];
    const { commands } = catalogue.entry(agent).prompts;
    const names = announced.map((name) => name.split(" ", 1)[0] ?? "");
    expect(names.filter((name) => commands[name] === undefined)).toEqual([]);
  });
});
