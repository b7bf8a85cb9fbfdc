import { existsSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folder, Reins } from "./support/reins.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const SOURCES = [join(ROOT, "packages/cli/src/main.ts")];
const BUNDLE = [join(ROOT, "scripts/bootstrap.mjs"), "reins"];

/** What is heard of a Reins from its start to its end, without what is different at every start. */
async function lifeOf(name: string, program: readonly string[]) {
  const home = join(folder, name);
  const known = (text: string) =>
    text
      .replaceAll(home, "<home>")
      .replace(/127\.0\.0\.1:\d+/g, "<address>")
      .replace(/[0-9a-f]{16,}/g, "<id>");
  const reins = new Reins([...program, "--port", "0", "--home", home], {}, process.execPath);
  await reins.printed("what is decided is recorded");
  const bundles = usedBundles();
  const address = reins.addressOf("http").replace(/\/ahp$/, "");
  const token = (await readFile(join(home, "start-token"), "utf8")).trim();
  const ask = async (path: string) => {
    const answer = await fetch(address + path, { headers: { authorization: `Bearer ${token}` } });
    return `${answer.status} ${known(await answer.text())}`;
  };
  const answers = {
    api: await ask("/openapi.json"),
    agents: await ask("/v1/agents"),
    policy: await ask("/v1/policy"),
    nobody: await ask("/v1/sessions/nobody"),
  };
  reins.signal("SIGTERM");
  const { code, stderr } = await reins.ended;
  return { bundles, heard: { said: reins.log.map(({ msg }) => known(String(msg))), answers, code, stderr } };
}

/** The bundles that somebody runs from. */
function usedBundles(): string[] {
  return globSync(".cache/bundle/*/users/*", { cwd: ROOT });
}

async function outcome(program: readonly string[], ...args: string[]) {
  const reins = new Reins([...program, ...args], {}, process.execPath);
  reins.stdin.end();
  return reins.ended;
}

describe("npm start", () => {
  it("behaves from a bundle as from the sources", async () => {
    const fromSources = await lifeOf("sources", [...SOURCES, "up"]);
    const prepared = await outcome([join(ROOT, "scripts/bootstrap.mjs")], "start", "--version");
    expect(prepared.code).toBe(0);
    const before = usedBundles();
    const fromBundle = await lifeOf("bundle", [join(ROOT, "scripts/bootstrap.mjs"), "start"]);
    expect(fromBundle.heard).toEqual(fromSources.heard);
    expect(fromSources.heard).toMatchObject({ code: 0, stderr: "" });
    const [used = ""] = fromBundle.bundles.filter((one) => !before.includes(one));
    expect(used).toMatch(/^\.cache\/bundle\/[0-9a-f]+\/users\/\d+$/);
    expect(existsSync(join(ROOT, used))).toBe(false);
  });

  it("runs an agent and its commands alike", async () => {
    const [home, cwd] = [join(folder, "agent"), join(folder, "work")];
    for (const one of [home, cwd]) mkdirSync(one, { mode: 0o700 });
    writeFileSync(
      join(home, "constitution.yaml"),
      "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n",
    );
    const task = ["run", "run `echo heather | tr a-z A-Z`", "--cwd", cwd, "--home", home];
    const [bundle, sources] = [await outcome(BUNDLE, ...task), await outcome(SOURCES, ...task)];
    expect(bundle).toEqual(sources);
    expect(bundle).toMatchObject({ code: 0, stdout: expect.stringContaining("HEATHER") });
  });

  it("shows where an error comes from by the place in the sources", async () => {
    const [bundle, sources] = await Promise.all(
      [BUNDLE, SOURCES].map((program) =>
        outcome(program, "ledger", "log", "--verbose", "--home", join(folder, "no")),
      ),
    );
    const places = ({ stderr }: { stderr: string } = { stderr: "" }) =>
      stderr.match(/packages\/cli\/src\/\S+\.ts:\d+/g);
    expect(places(bundle)).toEqual(places(sources));
    expect(places(bundle)).toContain("packages/cli/src/main.ts:10");
  });
});
