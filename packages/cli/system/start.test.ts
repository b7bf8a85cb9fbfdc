import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folder, Reins } from "./support/reins.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const START = [join(ROOT, "scripts/bootstrap.mjs"), "start"];
const SOURCES = [join(ROOT, "packages/cli/src/main.ts")];

/** The program of the bundle, which a start makes if it is not there. */
async function bundled(): Promise<string[]> {
  const { code, stderr } = await outcome(START, "--version");
  if (code !== 0) throw new Error(stderr);
  const { folder } = JSON.parse(await readFile(join(ROOT, ".cache/bundle/bundle.json"), "utf8"));
  return [join(ROOT, ".cache/bundle", folder, "main.mjs")];
}

/** What is heard of a Reins from its start to its end, without what is different at every start. */
async function lifeOf(name: string, program: readonly string[]) {
  const home = join(folder, name);
  const known = (text: string) =>
    text
      .replaceAll(home, "<home>")
      .replace(/127\.0\.0\.1:\d+/g, "<address>")
      .replace(/[0-9a-f]{16,}/g, "<id>");
  const reins = new Reins([...program, "up", "--port", "0", "--home", home], {}, process.execPath);
  await reins.printed("decisions are recorded");
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
    missing: await ask("/v1/sessions/missing"),
  };
  reins.signal("SIGTERM");
  const { code, stderr } = await reins.ended;
  // Concurrent work is logged in any order.
  return { said: reins.log.map(({ msg }) => known(String(msg))).sort(), answers, code, stderr };
}

async function outcome(program: readonly string[], ...args: string[]) {
  const reins = new Reins([...program, ...args], {}, process.execPath);
  reins.stdin.end();
  return reins.ended;
}

describe("npm start", () => {
  it("behaves from a bundle as from the sources", async () => {
    const fromSources = await lifeOf("sources", SOURCES);
    expect(fromSources).toMatchObject({ code: 0, stderr: "" });
    expect(await lifeOf("bundle", await bundled())).toEqual(fromSources);
  });

  it("runs an agent and its commands alike", async () => {
    const [home, cwd] = [join(folder, "agent"), join(folder, "work")];
    for (const one of [home, cwd]) mkdirSync(one, { mode: 0o700 });
    writeFileSync(
      join(home, "constitution.yaml"),
      "tool_rules: [{ name: all, condition: {}, verdict: allowed }]\n",
    );
    const task = ["run", "run `echo heather | tr a-z A-Z`", "--cwd", cwd, "--home", home];
    const [bundle, sources] = [await outcome(await bundled(), ...task), await outcome(SOURCES, ...task)];
    expect(bundle).toEqual(sources);
    expect(bundle).toMatchObject({ code: 0, stdout: expect.stringContaining("HEATHER") });
  });

  it("shows where an error comes from by the place in the sources", async () => {
    const [bundle, sources] = await Promise.all(
      [await bundled(), SOURCES].map((program) =>
        outcome(program, "ledger", "log", "--verbose", "--home", join(folder, "no")),
      ),
    );
    const places = ({ stderr }: { stderr: string } = { stderr: "" }) =>
      stderr.match(/packages\/cli\/src\/\S+\.ts:\d+/g);
    expect(places(bundle)).toEqual(places(sources));
    expect(places(bundle)).toContainEqual(
      expect.stringMatching(/^packages\/cli\/src\/commands\/ledger\/log\.ts:\d+$/),
    );
  });
});
