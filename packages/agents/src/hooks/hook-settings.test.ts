import { spawnSync } from "node:child_process";
import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ifExists } from "@reins/kit";
import { describe, expect, onTestFinished, test } from "vitest";
import { seededRandom } from "../../../../scripts/torture/random.ts";
import { switchedOffBy } from "./effective-hooks.ts";
import { hookAgent, hookAgents, settingsPath } from "./hook-agents.ts";
import { type HookInstall, hookCommand, hookState, installHooks, uninstallHooks } from "./hook-settings.ts";

async function newInstall(agent: string): Promise<HookInstall & { readonly path: string }> {
  const folder = await mkdtemp(join(tmpdir(), "reins-hooks-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [home, userHome] = [join(folder, "it's home"), join(folder, "user")];
  const row = hookAgent(agent);
  const path = settingsPath(row, userHome, {});
  await mkdir(dirname(path), { recursive: true });
  return {
    agent: row,
    home,
    userHome,
    environment: {},
    node: process.execPath,
    wait: 60,
    reads: "block",
    path,
  };
}

/** Settings as people have them: with hooks of their own, tabs, numbers that no double holds, no last line break. */
const OWN =
  '{\n\t"big": 12345678901234567890,\n\t"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}]},\n\t"z": [0.1, -1e3]}';

test("a call waits for a person no longer than its agent waits for the hook", async () => {
  const install = { ...(await newInstall("qwen")), wait: 600 };
  expect(hookCommand(install, true)).toContain("--wait 40 ");
  await installHooks(install);
  const { hooks } = JSON.parse(await readFile(install.path, "utf8"));
  expect(hooks.PreToolUse[0].hooks[0].timeout).toBe(55);
});

/** Ways to switch hooks on or off in TOML. */
const TOML: readonly ((said: boolean) => string)[] = [
  (said) => `model = "x"\nfeatures.hooks = ${said} # mine\n`,
  (said) => `[features]\nx = true\n  hooks=${said}\n`,
  (said) => `features = { x = true, hooks = ${said} }\n`,
  (said) => `"features"."hooks" = ${said}\n`,
];

describe.each(hookAgents().map(({ id }) => id))("a repository that switches the hooks of %s off", (agent) => {
  const row = hookAgent(agent);

  test.each(row.hostile.map(({ name, files }) => [name, files] as const))(
    "is known (%s)",
    async (name, files) => {
      const folder = dirname((await newInstall(agent)).home);
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await writeFile(join(folder, path), typeof content === "string" ? content : JSON.stringify(content));
      }
      await mkdir(join(folder, "src/deep"), { recursive: true });
      const found = [await switchedOffBy(row, folder), await switchedOffBy(row, join(folder, "src/deep"))];
      const by = name === "hooks switched off" ? join(folder, Object.keys(files)[0] ?? "") : undefined;
      expect(found).toEqual([by, by]);
    },
  );

  test.runIf(row.switches)(
    "is known where its settings have comments, and one that leaves them on is not",
    async () => {
      const folder = dirname((await newInstall(agent)).home);
      if (!row.switches) return;
      const { files, member, value, text } = row.switches;
      const path = join(folder, files[0] ?? "");
      await mkdir(dirname(path), { recursive: true });
      const json = (said: boolean) =>
        `// mine\n${JSON.stringify(member.reduceRight<unknown>((inner, name) => ({ x: 1, [name]: inner }), said))}`;
      const forms = text ? TOML : [json];
      for (const form of forms) {
        await writeFile(path, form(value));
        expect(await switchedOffBy(row, folder)).toBe(path);
        await writeFile(path, form(!value));
        expect(await switchedOffBy(row, folder)).toBeUndefined();
      }
    },
  );
});

/** Agents whose settings hold hooks, and those that load a file of their own. */
const PLUGINS = hookAgents().filter(({ plugin }) => plugin !== undefined);
const IN_SETTINGS = hookAgents().filter((agent) => !PLUGINS.includes(agent));

describe.each(hookAgents())("hooks of $id for several homes", (row) => {
  const orders = Array.from({ length: 6 }, (_, index) => index);
  test.each(orders)("give back every byte in any order (%i)", async (seed) => {
    const random = seededRandom(seed);
    const install = await newInstall(row.id);
    const homes = ["a", "b", "it's c"].map((name) => join(install.userHome, name));
    const texts = row.plugin === undefined ? [OWN, "{}", undefined] : ["export default {};", undefined];
    const text = random.pick(texts);
    if (text !== undefined) await writeFile(install.path, text, { mode: 0o640 });
    // Whose hooks the settings hold: those of the last install.
    let holder: string | undefined;
    const check = async () => {
      for (const home of homes)
        expect(await hookState({ ...install, home })).toMatchObject({
          installed: home === holder ? "yes" : "no",
        });
    };
    for (let step = 0; step < 8; step += 1) {
      const home = random.pick(homes);
      if (random.chance(0.6)) {
        await installHooks({ ...install, home, wait: 20 + random.int(20) });
        holder = home;
      } else {
        const before = await ifExists(readFile(install.path));
        const { others } = await uninstallHooks({ ...install, home });
        const stays = holder !== undefined && holder !== home;
        expect(others).toEqual(stays ? [holder] : []);
        if (stays) expect(await readFile(install.path)).toEqual(before);
        else holder = undefined;
      }
      await check();
    }
    const last = homes.splice(random.int(3), 1);
    for (const home of random.chance(0.5) ? [...homes, ...last] : [...last, ...homes.toReversed()])
      await uninstallHooks({ ...install, home });
    expect(await ifExists(readFile(install.path, "utf8"))).toBe(text);
    if (text !== undefined) expect((await stat(install.path)).mode & 0o777).toBe(0o640);
  });

  test("stay for the other home where the settings were changed since", async () => {
    const install = await newInstall(row.id);
    const other = { ...install, home: join(install.userHome, "other") };
    for (const each of [install, other]) await installHooks(each);
    await appendFile(install.path, "\n");
    expect(await uninstallHooks(install)).toMatchObject({ changed: false, others: [other.home] });
    expect(await hookState(other)).toMatchObject({ installed: "yes" });
    await rm(other.home, { recursive: true });
    expect(await uninstallHooks(other)).toMatchObject({ changed: true, others: [] });
    expect(await hookState(other)).toMatchObject({ installed: "no" });
  });
});

describe.each(PLUGINS.map(({ id }) => id))("the plugin of %s", (agent) => {
  test.each([undefined, "", "export default {};"])("comes and goes without a trace over %j", async (text) => {
    const install = await newInstall(agent);
    if (text !== undefined) await writeFile(install.path, text, { mode: 0o640 });
    expect(await hookState(install)).toMatchObject({ installed: "no" });
    for (const reads of ["block", "allow", "allow"] as const) await installHooks({ ...install, reads });
    expect(await hookState(install)).toMatchObject({ installed: "yes" });
    expect(await installHooks({ ...install, reads: "allow" })).toMatchObject({ changed: false });
    await appendFile(install.path, "// changed by the person\n");
    await uninstallHooks(install);
    expect(await hookState(install)).toMatchObject({ installed: "no" });
    expect(await ifExists(readFile(install.path, "utf8"))).toBe(text);
    expect(await uninstallHooks(install)).toMatchObject({ changed: false });
  });

  test("is not called whole when the hook is gone", async () => {
    const install = await newInstall(agent);
    await installHooks(install);
    await rm(join(install.home, "hooks", "reins-hook.mjs"));
    expect(await hookState(install)).toMatchObject({ installed: "partial" });
  });

  test("is where the user's configuration is", async () => {
    const { agent: row, userHome } = await newInstall(agent);
    const { variable = "", below = "", file } = row.settings;
    expect(settingsPath(row, userHome, { [variable]: "/elsewhere" })).toBe(join("/elsewhere", below, file));
  });
});

describe.each(IN_SETTINGS.map(({ id }) => id))("hooks of %s", (agent) => {
  test("come and go without a trace, where there were no settings", async () => {
    const install = await newInstall(agent);
    expect(await hookState(install)).toMatchObject({ installed: "no" });
    expect(await installHooks(install)).toMatchObject({
      installed: "yes",
      changed: true,
      path: install.path,
    });
    expect(await hookState(install)).toMatchObject({ installed: "yes" });
    expect(await uninstallHooks(install)).toMatchObject({ installed: "no", changed: true });
    expect(await readdir(dirname(install.path))).toEqual([]);
    expect(await uninstallHooks(install)).toMatchObject({ changed: false });
  });

  test.each([OWN, OWN.replaceAll("\n", "\r\n"), "{}", "", "{}\n", '{"hooks":{}}'])(
    "give back every byte and the mode of %j",
    async (text) => {
      const install = await newInstall(agent);
      await writeFile(install.path, text);
      await chmod(install.path, 0o640);
      for (const reads of ["block", "allow", "allow"] as const) await installHooks({ ...install, reads });
      expect(await hookState(install)).toMatchObject({ installed: "yes" });
      expect((await stat(install.path)).mode & 0o777).toBe(0o640);
      expect(await installHooks({ ...install, reads: "allow" })).toMatchObject({ changed: false });
      await uninstallHooks(install);
      expect(await readFile(install.path, "utf8")).toBe(text);
      expect((await stat(install.path)).mode & 0o777).toBe(0o640);
      expect(await readdir(dirname(install.path))).toHaveLength(1);
    },
  );

  test("keep what a person has changed since, and what was there", async () => {
    const install = await newInstall(agent);
    await writeFile(install.path, OWN);
    await installHooks(install);
    const written = await readFile(install.path, "utf8");
    expect(written).toContain("12345678901234567890");
    await writeFile(install.path, written.replace('"z"', '"y"'));
    await installHooks({ ...install, wait: 90 });
    await uninstallHooks(install);
    const left = await readFile(install.path, "utf8");
    expect(left).not.toContain("reins-hook");
    expect(left).toContain('"y"');
    expect(JSON.parse(left).hooks).toEqual({ PreToolUse: [{ matcher: "Bash", hooks: [] }] });
  });

  test("follow a link to the settings, and leave it a link", async () => {
    const install = await newInstall(agent);
    const real = join(install.userHome, "dotfile.json");
    await writeFile(real, OWN);
    await symlink(real, install.path);
    await installHooks(install);
    expect(await readFile(real, "utf8")).toContain("reins-hook");
    await uninstallHooks(install);
    expect(await readFile(install.path, "utf8")).toBe(OWN);
    expect(await readFile(real, "utf8")).toBe(OWN);
  });

  test("give back every byte when an install over an earlier one was cut off before it wrote the settings", async () => {
    const install = await newInstall(agent);
    await writeFile(install.path, OWN);
    await installHooks(install);
    const earlier = await readFile(install.path);
    await installHooks({ ...install, wait: 30 });
    // As a kill between the record and the settings leaves them.
    await writeFile(install.path, earlier);
    await installHooks({ ...install, wait: 20 });
    await uninstallHooks(install);
    expect(await readFile(install.path, "utf8")).toBe(OWN);
  });

  test("give back every byte after several installs at once, each with settings of its own", async () => {
    const install = await newInstall(agent);
    await writeFile(install.path, OWN);
    const waits = [20, 21, 22, 23];
    await Promise.all(waits.map((wait) => installHooks({ ...install, wait })));
    expect(await hookState(install)).toMatchObject({ installed: "yes" });
    await uninstallHooks(install);
    expect(await readFile(install.path, "utf8")).toBe(OWN);
  });

  test("give back every byte of settings in several places", async () => {
    const install = await newInstall(agent);
    const { variable, below = "", file } = install.agent.settings;
    if (variable === undefined) return;
    const other = { ...install, environment: { [variable]: join(install.userHome, "other") } };
    const path = join(install.userHome, "other", below, file);
    await mkdir(dirname(path), { recursive: true });
    for (const each of [install.path, path]) await writeFile(each, OWN);
    for (const each of [install, other]) await installHooks(each);
    for (const each of [install, other]) await uninstallHooks(each);
    for (const each of [install.path, path]) expect(await readFile(each, "utf8")).toBe(OWN);
  });

  test("keep the line ends of settings that were changed since", async () => {
    const install = await newInstall(agent);
    await writeFile(install.path, OWN.replaceAll("\n", "\r\n"));
    await installHooks(install);
    await writeFile(install.path, (await readFile(install.path, "utf8")).replace('"z"', '"y"'));
    await uninstallHooks(install);
    const left = await readFile(install.path, "utf8");
    expect(left).toContain('"y"');
    expect(left.replaceAll("\r\n", "")).not.toContain("\n");
  });

  test("leave a link alone that leads nowhere", async () => {
    const install = await newInstall(agent);
    await symlink(join(install.userHome, "missing.json"), install.path);
    await expect(installHooks(install)).rejects.toThrow("leads nowhere");
    await expect(uninstallHooks(install)).rejects.toThrow("leads nowhere");
    expect(await readlink(install.path)).toBe(join(install.userHome, "missing.json"));
  });

  const broken = [
    "{",
    "[]",
    "null",
    '{"a":1,"a":2}',
    '{"hooks":[]}',
    '{"hooks":{"Stop":{}}}',
    "// x\n{}",
    "\ufeff{}",
  ];
  test.each<readonly [string, string]>([
    ...broken.map((text) => [text, text] as const),
    ["lists in lists", "[".repeat(100_000)],
    ["objects in objects", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
  ])("leave settings alone that cannot be read: %s", async (_, text) => {
    const install = await newInstall(agent);
    await writeFile(install.path, text);
    await expect(installHooks(install)).rejects.toThrow("stays as it is");
    await expect(uninstallHooks(install)).rejects.toThrow("stays as it is");
    expect(await hookState(install)).toMatchObject({ installed: "no" });
    expect(await readFile(install.path, "utf8")).toBe(text);
  });

  test("are not called installed when an entry is gone", async () => {
    const install = await newInstall(agent);
    await installHooks(install);
    const { hooks } = JSON.parse(await readFile(install.path, "utf8"));
    const [event = ""] = install.agent.decides;
    const { [event]: _, ...others } = hooks;
    await writeFile(install.path, JSON.stringify({ hooks: others }));
    expect(await hookState(install)).toMatchObject({ installed: "partial" });
  });
});

test("settings that switch all hooks off are refused", async () => {
  const install = await newInstall("claude");
  await writeFile(install.path, '{"disableAllHooks": true}');
  await expect(installHooks(install)).rejects.toThrow("disableAllHooks");
});

test("the command quotes its paths, and fails closed only where something is decided", async () => {
  const install = await newInstall("claude");
  expect(hookCommand(install, true)).toContain(`it'\\''s home`);
  expect(hookCommand(install, true)).toMatch(/exit 2; }$/);
  expect(hookCommand(install, false)).toMatch(/exit 0$/);
});

test("no program that a repository puts first on PATH answers in the place of the hook", async () => {
  const install = await newInstall("claude");
  const folder = dirname(install.path);
  await writeFile(join(folder, "env"), "#!/bin/sh\necho yes\n", { mode: 0o755 });
  const run = { env: { PATH: `${folder}:/usr/bin:/bin` }, encoding: "utf8" } as const;
  // The hook itself is not installed, which blocks.
  const { status, stdout } = spawnSync("/bin/sh", ["-c", hookCommand(install, true)], run);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
});

test("an agent without hooks is refused by name, with the reason and those that have them", () => {
  expect(() => hookAgent("pi")).toThrow("It has them for: claude");
  for (const agent of ["pi", "cline", "cursor"])
    expect(() => hookAgent(agent)).toThrow(`no hooks for ${agent}. It `);
});
