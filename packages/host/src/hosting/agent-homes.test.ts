import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Catalogue } from "@reins/agents";
import type { Principal } from "@reins/supervisor";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { AgentHomes } from "./agent-homes.ts";
import type { AgentHostOptions } from "./agent-host.ts";

const codex = Catalogue.load().entry("codex");
const INSTALLED = { version: "1.0.0", folder: "/opt/agents/codex" };

let base: string;
let faults: string[];

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "agent-homes-"));
});
afterAll(() => rm(base, { recursive: true, force: true }));
beforeEach(async () => {
  faults = [];
  await rm(base, { recursive: true, force: true });
  await mkdir(join(base, "user", ".codex"), { recursive: true });
});

const owner = (own: Partial<Principal> = {}): Principal => ({
  ...{ id: "tok_1", kind: "user", user: "ann", tenant: "acme", roles: [], scopes: [], agents: [] },
  started: "api",
  ...own,
});

function homes(more: Partial<AgentHostOptions> = {}): AgentHomes {
  const options = {
    harness: { home: join(base, "reins") },
    gateway: { shimPath: "/opt/reins/shim.mjs", socketPath: "/run/reins/mcp.sock" },
    environment: { PATH: "/usr/bin" },
    userHome: join(base, "user"),
    onFault: (agent: string, reason: string) => faults.push(`${agent}: ${reason}`),
    ...more,
  };
  return new AgentHomes(options as unknown as AgentHostOptions);
}

const ROOTS = { roots: ["/w"], identities: {}, network: "off" } as const;

describe("the home of an agent", () => {
  test("is its own for each tenant, user, principal and, where it is confined, each set of folders", async () => {
    const one = homes();
    const paths = [];
    for (const owned of [
      { principal: owner() },
      { principal: owner({ tenant: "other" }) },
      { principal: owner({ user: "bob" }) },
      { principal: owner({ id: "tok_2" }) },
      { principal: owner(), confine: ROOTS },
      { principal: owner(), confine: { ...ROOTS, roots: ["/w", "/x"] } },
    ])
      paths.push((await one.prepareEmpty(codex, owned)).home);
    expect(new Set(paths).size).toBe(paths.length);
    for (const path of paths) expect(path.startsWith(join(base, "reins", "homes"))).toBe(true);
    const again = await homes().prepareEmpty(codex, { principal: owner() });
    expect(again.home).toBe(paths[0]);
  });

  test("is for this user only, and has no credentials where none are needed", async () => {
    await writeFile(join(base, "user", ".codex", "auth.json"), "{}");
    const { home, temporary } = await homes().prepareEmpty(codex, { principal: owner() });
    expect(await readdir(home)).toEqual([]);
    for (const folder of [home, temporary]) expect((await stat(folder)).mode & 0o077).toBe(0);
    expect(dirname(home)).toBe(dirname(temporary));
  });

  test("is launched with the settings of its profile and with copies of its credentials", async () => {
    await writeFile(join(base, "user", ".codex", "auth.json"), '{"key":"secret"}');
    const { launch, home } = await homes().prepare(codex, INSTALLED, { principal: owner() });
    expect(launch.env.HOME).toBe(home.home);
    for (const path of Object.keys(launch.files))
      expect(await readFile(join(home.home, path), "utf8"), path).toBe(launch.files[path]);
    const [credential] = launch.credentials;
    expect(credential && (await readFile(join(home.home, credential.to), "utf8"))).toContain("secret");
    expect(faults).toEqual([]);
  });

  test("gets variables that the operator passes, and a fault names those that are set and dropped", async () => {
    const environment = { PATH: "/usr/bin", OPENAI_BASE_URL: "https://models.example" };
    const dropped = await homes({ environment }).prepare(codex, INSTALLED, { principal: owner() });
    expect(dropped.launch.env).not.toHaveProperty("OPENAI_BASE_URL");
    expect(faults).toEqual([expect.stringMatching(/^codex: OPENAI_BASE_URL is set and not passed on/)]);
    faults = [];
    const passFor = () => ["OPENAI_BASE_URL"];
    const passed = await homes({ environment, passFor }).prepare(codex, INSTALLED, { principal: owner() });
    expect(passed.launch.env).toMatchObject({ OPENAI_BASE_URL: "https://models.example" });
    expect(faults).toEqual([]);
  });
});

describe("the confinement of an agent", () => {
  test("hides what Reins keeps, shows the program and its gateway, and writes to the socket alone", async () => {
    const one = homes();
    const home = await one.prepareEmpty(codex, { principal: owner(), confine: ROOTS });
    const { binds = [], ...confined } = one.confinement(ROOTS, home, INSTALLED.folder);
    expect(confined).toMatchObject({ ...ROOTS, home: home.home, temporary: home.temporary });
    expect(confined.masked).toEqual([join(base, "reins")]);
    const written = binds.filter(({ access }) => access === "write");
    expect(written).toEqual([{ path: "/run/reins/mcp.sock", access: "write" }]);
    const read = binds.filter(({ access }) => access === "read").map(({ path }) => path);
    expect(read).toEqual(expect.arrayContaining([INSTALLED.folder, "/opt/reins", dirname(process.execPath)]));
  });
});
