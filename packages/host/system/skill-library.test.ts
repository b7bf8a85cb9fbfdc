import { generateKeyPairSync } from "node:crypto";
import { chmod, cp, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { signBundle, trustSigner } from "@reins/bridge";
import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import { InjectedSkills, projectedSkills } from "../src/skills/injected-skills.ts";
import { grantSkill, revokeSkill, SkillLibrary } from "../src/skills/skill-library.ts";
import { openTestHome } from "./fixtures/home.ts";

const PROMPT = "roll out the canary";
const DESCRIPTION = "Rolls out canary releases";

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

const DISPLACED = "canary of the layer project takes the place of the operator's in the layer user";

const skillText = (body: string, description = DESCRIPTION) =>
  `---\nname: canary\ndescription: ${description}\n---\n${body}\n`;

/** A library in whose time all files are old, so that what it found is kept. */
async function open() {
  const { harness, home, workspace } = await openTestHome();
  const clock = new ManualClock(new Date(Date.now() + 60_000));
  const library = new SkillLibrary({ harness, environment: {}, clock });
  const principal = harness.identity.local();
  const place = { principal, roots: [workspace] };
  const session = new InjectedSkills(library, undefined);
  const prompt = () => session.forPrompt(place, PROMPT);
  const folder = join(workspace, ".claude/skills/canary");
  const find = async () => (await library.catalogue(place)).skills;
  /** Writes the skill and has a person trust it. */
  const trusted = async () => {
    await write(join(folder, "SKILL.md"), skillText("Fly."));
    await write(join(folder, "scripts/run.sh"), "true");
    const [skill] = await find();
    if (!skill) throw new Error("it was not found");
    await grantSkill(harness, principal, skill, new Date());
    return skill;
  };
  return { harness, home, workspace, library, principal, place, folder, prompt, find, trusted };
}

describe("what was found of skills", () => {
  test("is kept while no file changes", async () => {
    const { library, place, trusted } = await open();
    await trusted();
    const found = await library.find(place);
    expect(await library.find(place)).toBe(found);
    expect(found.skills).toMatchObject([{ id: "canary", trust: { status: "trusted" } }]);
  });

  type Opened = Awaited<ReturnType<typeof open>>;
  const ends: Readonly<Record<string, (opened: Opened, digest: string) => Promise<unknown>>> = {
    "its instructions change": ({ folder }) => write(join(folder, "SKILL.md"), skillText("Die.")),
    "a file below changes": ({ folder }) => write(join(folder, "scripts/run.sh"), "evil"),
    "a file below is added": ({ folder }) => write(join(folder, "scripts/more.sh"), ""),
    "a file below becomes executable": ({ folder }) => chmod(join(folder, "scripts/run.sh"), 0o755),
    "a file below is gone": ({ folder }) => rm(join(folder, "scripts/run.sh")),
    "a signature that does not hold is added": ({ folder }) => write(join(folder, "SKILL.sig.json"), "{}"),
    "the trust is taken back": ({ harness, principal }, digest) => revokeSkill(harness, principal, digest),
  };
  test.each(Object.entries(ends))("is not used when %s", async (_, end) => {
    const opened = await open();
    const { digest = "" } = await opened.trusted();
    const used = await opened.prompt();
    expect(used).toMatchObject({ texts: [expect.stringContaining("Fly.")], faults: [] });
    await end(opened, digest);
    expect(await opened.find()).toMatchObject([{ trust: { status: "untrusted" } }]);
    expect(await opened.prompt()).toEqual({
      texts: [],
      updates: [expect.objectContaining({ sessionUpdate: "skill_deactivated" })],
      faults: [],
    });
  });

  test("is not used under another name, and reports that it takes the place of the operator's", async () => {
    const { harness, home, folder, workspace, principal, place, library, find, prompt } = await open();
    await write(join(folder, "SKILL.md"), `---\ndescription: ${DESCRIPTION}\n---\nFly.\n`);
    const [skill] = await find();
    await grantSkill(harness, principal, skill ?? expect.unreachable(), new Date());
    await write(join(home, "skills/deploy/SKILL.md"), `---\ndescription: ${DESCRIPTION}\n---\nShip.\n`);
    const renamed = join(workspace, ".claude/skills/deploy");
    await cp(folder, renamed, { recursive: true });
    const { skills, shadowed } = await library.catalogue(place);
    expect(skills.find(({ id }) => id === "deploy")).toMatchObject({ layer: "user" });
    expect(shadowed).toMatchObject([{ id: "deploy", winner: "user", loser: "project" }]);
    expect(await prompt()).toMatchObject({ faults: [] });
    await write(join(home, "skills/canary/SKILL.md"), skillText("Stay."));
    const session = new InjectedSkills(library, undefined);
    const displaced = [`skills: ${folder}: ${DISPLACED}`];
    const used = await session.forPrompt(place, "the canary skill: roll it out");
    expect(used).toMatchObject({ texts: [expect.stringContaining("Fly.")] });
    expect(used.faults).toEqual(displaced.map((text) => expect.stringContaining(text)));
  });

  test("is in the folder that an agent's sessions share only where no session works", async () => {
    const { harness, home, workspace, principal } = await open();
    const shared = join(workspace, "shared");
    await write(join(shared, "canary/SKILL.md"), skillText("Fly."));
    await write(join(home, "skills/own/SKILL.md"), "---\nname: own\ndescription: Own\n---\nStay.\n");
    const settings = { cli: [shared], env: [shared], paths: [{ path: shared }], system: [shared] };
    const library = new SkillLibrary({ harness, environment: {}, settings });
    const projected = await projectedSkills(library, principal);
    expect(projected.map(({ name }) => name)).toEqual(["own"]);
    const elsewhere = { principal, roots: [home] };
    const { texts } = await new InjectedSkills(library, "Load it.").forPrompt(elsewhere, PROMPT);
    expect(texts).toEqual([expect.stringContaining("Fly.")]);
  });

  test("is not used when the key of its signer is gone", async () => {
    const { library, folder, find, trusted } = await open();
    const { bundle } = await library.review(await trusted());
    const { privateKey } = generateKeyPairSync("ed25519");
    await signBundle(bundle, "canary", privateKey);
    const signer = await trustSigner(library.signersFolder, privateKey);
    expect(await find()).toMatchObject([{ origin: folder, trust: { by: "signature", signer } }]);
    await rm(join(library.signersFolder, `${signer}.pub`));
    expect(await find()).not.toMatchObject([{ trust: { by: "signature" } }]);
  });

  test("is not used when the file is another one at use than when it was matched", async () => {
    const { home, place, library } = await open();
    const path = join(home, "skills/canary/SKILL.md");
    await write(path, skillText("Fly."));
    const match = library.match.bind(library);
    library.match = async (...query) => {
      const matched = await match(...query);
      await write(path, skillText("Die."));
      return matched;
    };
    const { texts, faults } = await new InjectedSkills(library, undefined).forPrompt(place, PROMPT);
    expect({ texts, faults }).toEqual({ texts: [], faults: ["skills: canary changed while it was read"] });
  });

  const places: readonly (readonly [string, (opened: Opened) => string])[] = [
    ["the home", ({ home }) => join(home, "skills")],
    ["the workspace", ({ workspace }) => join(workspace, ".agents/skills")],
    ["a package", ({ workspace }) => join(workspace, ".reins/packages/acme/skills")],
  ];
  test.each(places)("says that there is none until one comes to %s", async (_, folderOf) => {
    const opened = await open();
    const { noneWhile } = await opened.prompt();
    expect(await noneWhile?.areCurrent()).toBe(true);
    await write(join(folderOf(opened), "canary/SKILL.md"), skillText("Fly."));
    expect(await noneWhile?.areCurrent()).toBe(false);
    expect(await opened.prompt()).not.toHaveProperty("noneWhile");
    expect(await opened.find()).toMatchObject([{ name: "canary" }]);
  });
});
