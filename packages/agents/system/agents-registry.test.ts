import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { registryAnswers } from "../../../scripts/test/registry.ts";
import { Catalogue } from "../src/catalogue.ts";
import { Installer, type InstallerOptions } from "../src/install/installer.ts";
import { findUv } from "../src/install/python.ts";
import { ProbeCache } from "../src/probe.ts";
import { RegistrySource } from "../src/registry/registry-source.ts";
import { Stamps } from "../src/verify/stamp.ts";
import { AgentRegistryServer, acpProgram } from "../test/agent-registry.ts";
import { tarOf, zipOf } from "../test/archives.ts";
import { integrityOf, PackageRegistry, type TestPackage } from "../test/package-registry.ts";

/** This machine's, and that of the oldest Node that Reins runs on, which cannot be kept from other places than the index. */
const NPMS: readonly (readonly [string, string | undefined])[] = [
  ["the npm of this machine", undefined],
  ...(registryAnswers ? ([["an old npm", "10.9.3"]] as const) : []),
];

/** Installs a version of npm; returns its program. */
async function npmAt(version: string): Promise<string> {
  const place = join(folder, "npm");
  await promisify(execFile)("npm", [
    "install",
    "--no-audit",
    "--no-fund",
    "--prefix",
    place,
    `npm@${version}`,
  ]);
  return join(place, "node_modules/npm/bin/npm-cli.js");
}

let folder: string;
let server: AgentRegistryServer;
let npm: PackageRegistry;
let now: Date;

const PLATFORM = `${process.platform === "darwin" ? "darwin" : "linux"}-${process.arch === "arm64" ? "aarch64" : "x86_64"}`;

function pack(version: string, name = "tiny-agent", code = acpProgram(version)): TestPackage {
  return { manifest: { name, version, bin: { [name]: "cli.js" } }, files: { "cli.js": code } };
}

const packages = [
  pack("1.0.0"),
  pack("1.1.0"),
  pack("3.0.0", "mute-agent", "process.exit(3)"),
  {
    manifest: { name: "known-agent", version: "1.0.0" },
    files: { "index.js": 'console.log("known 1.0.0")' },
  },
  {
    manifest: { name: "known-agent", version: "1.2.0" },
    files: { "index.js": 'console.log("known 1.2.0")' },
  },
];

/** An agent of the catalogue that the registry knows too. */
const known = {
  id: "known",
  name: "Known",
  registry: "known-acp",
  support: { level: "supported" },
  install: {
    packages: { "known-agent": "1.0.0" },
    agentProcess: "known-agent",
    platforms: [`${process.platform}-${process.arch}`],
  },
  start: { with: "node", file: "node_modules/known-agent/index.js" },
  enforcement: { level: "asked" },
};

function published(id: string, version: string, distribution: object): object {
  return { id, name: id, version, description: `the agent ${id}`, distribution };
}

function npx(id: string, version: string, name = "tiny-agent"): object {
  return published(id, version, {
    npx: { package: `${name}@${version}`, args: ["--acp"], env: { TINY: "1" } },
  });
}

function environment(): Record<string, string | undefined> {
  return {
    PATH: process.env.PATH,
    HOME: folder,
    npm_config_registry: npm.url,
    npm_config_cache: join(folder, "cache"),
    REINS_ACP_REGISTRY_URL: server.url,
  };
}

function installer(more: Partial<InstallerOptions> & { offline?: boolean } = {}): Installer {
  const agents = join(folder, "agents");
  const { offline = false } = more;
  return new Installer({
    folder: agents,
    locks: join(folder, "locks"),
    catalogue: Catalogue.load([known], agents),
    environment: environment(),
    registry: new RegistrySource({ folder: agents, environment: environment(), offline, now: () => now }),
    ...more,
  });
}

beforeEach(async () => {
  now = new Date("2026-01-01T00:00:00Z");
  folder = await mkdtemp(join(tmpdir(), "reins-registry-"));
  server = await AgentRegistryServer.listen();
  npm = await PackageRegistry.listen(packages);
  const dependencies = { "known-agent": "1.0.0" };
  const integrity = integrityOf(packages[3]!);
  const locked = {
    lockfileVersion: 3,
    packages: { "": { dependencies }, "node_modules/known-agent": { version: "1.0.0", integrity } },
  };
  await mkdir(join(folder, "locks", "known"), { recursive: true });
  await writeFile(
    join(folder, "locks", "known", "package.json"),
    JSON.stringify({ private: true, dependencies }),
  );
  await writeFile(join(folder, "locks", "known", "package-lock.json"), JSON.stringify(locked));
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await npm[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe("an agent that only the registry knows", () => {
  test("is installed from npm, started by its own command, and starts at the lowest level", async () => {
    server.agents = [npx("tiny", "1.0.0")];
    const installed = await installer().install("tiny");
    expect(installed.provenance).toMatchObject({
      source: "registry",
      version: "1.0.0",
      registry: { url: server.url, id: "tiny", version: "1.0.0" },
      packages: [{ name: "tiny-agent", version: "1.0.0", integrity: integrityOf(packages[0]!) }],
      verified: "tiny 1.0.0",
    });
    const agents = join(folder, "agents");
    const entry = Catalogue.load([], agents).entry("tiny");
    expect(entry).toMatchObject({
      fromRegistry: true,
      start: { with: "node", file: "node_modules/tiny-agent/cli.js", args: ["--acp"] },
      profile: { env: { TINY: "1" } },
      enforcement: { level: "observed" },
      prompts: { mentions: "expands" },
    });
    expect(await new Stamps(agents).level({ entry, installed })).toBe("observed");
    expect(await new ProbeCache(agents).find(entry, "1.0.0")).toMatchObject({
      initialized: { agentCapabilities: { loadSession: true } },
      session: { modes: { currentModeId: "ask" } },
    });
    expect(await installer().installed("tiny")).toEqual(installed);
  });

  test("is installed once, however many want it", async () => {
    server.agents = [npx("tiny", "1.0.0")];
    const all = await Promise.all(Array.from({ length: 20 }, () => installer().install("tiny")));
    expect(new Set(all.map(({ folder: where }) => where)).size).toBe(1);
    expect(npm.requests.filter((path) => path.endsWith(".tgz"))).toHaveLength(1);
  });

  test.each([
    ["tgz", (members: Parameters<typeof tarOf>[0]) => gzipSync(tarOf(members))],
    ["zip", zipOf],
  ])("is installed from a .%s archive, by its checksum", async (kind, made) => {
    const archive = made([{ name: "bin/tiny", text: acpProgram("2.0.0"), mode: "644" }]);
    const sha256 = createHash("sha256").update(archive).digest("hex");
    server.files.set(`/tiny.${kind}`, archive);
    const target = { archive: `${server.origin}/tiny.${kind}`, cmd: "./bin/tiny", args: ["acp"], sha256 };
    server.agents = [published("tiny", "2.0.0", { binary: { [PLATFORM]: target } })];
    const installed = await installer().install("tiny");
    expect(installed.provenance).toMatchObject({
      version: "2.0.0",
      artifact: { url: target.archive, sha256, bytes: archive.length },
      lock: sha256,
    });
    expect(await readdir(installed.folder)).toEqual(["files", "install.json"]);
  });

  test("is refused when its archive is not what the registry says, or was at the first install", async () => {
    const archive = gzipSync(tarOf([{ name: "tiny", text: acpProgram("2.0.0") }]));
    const target = { archive: `${server.origin}/tiny.tgz`, cmd: "tiny" };
    server.files.set("/tiny.tgz", archive);
    server.agents = [
      published("tiny", "2.0.0", { binary: { [PLATFORM]: { ...target, sha256: "0".repeat(64) } } }),
    ];
    await expect(installer().install("tiny")).rejects.toThrow("not what it was said to be");
    server.agents = [published("tiny", "2.0.0", { binary: { [PLATFORM]: target } })];
    now = new Date("2026-01-01T02:00:00Z");
    await installer().install("tiny");
    server.files.set(
      "/tiny.tgz",
      gzipSync(tarOf([{ name: "tiny", text: `${acpProgram("2.0.0")}// tampered` }])),
    );
    await expect(installer().install("tiny", { reinstall: true })).rejects.toThrow(
      "not what it was said to be",
    );
    await installer().remove("tiny");
    await expect(installer().install("tiny")).rejects.toThrow("not what it was said to be");
    expect(await leftovers("tiny")).toEqual([]);
  });

  test("is installed by the checksum that is given, and without any only where none is required", async () => {
    const archive = gzipSync(tarOf([{ name: "tiny", text: acpProgram("2.0.0") }]));
    const sha256 = createHash("sha256").update(archive).digest("hex");
    const target = { archive: `${server.origin}/tiny.tgz`, cmd: "tiny" };
    server.files.set("/tiny.tgz", archive);
    server.agents = [published("tiny", "2.0.0", { binary: { [PLATFORM]: target } })];
    const strict = installer({ requireChecksums: true });
    await expect(strict.install("tiny")).rejects.toMatchObject({ code: "unchecked" });
    const other = "0".repeat(64);
    await expect(strict.install("tiny", { sha256: other })).rejects.toThrow("not what it was said to be");
    expect(server.requests.filter((path) => path === "/tiny.tgz")).toHaveLength(1);
    expect(await strict.check("tiny", { sha256 })).toMatchObject({ url: target.archive, sha256 });
    const installed = await strict.install("tiny", { sha256: sha256.toUpperCase() });
    expect(installed.provenance?.artifact).toMatchObject({ sha256, checked: true });
    // From now on it is known.
    await strict.remove("tiny");
    expect((await strict.install("tiny")).provenance?.artifact).toMatchObject({ checked: true });

    server.agents = [
      published("tiny", "2.0.0", { binary: { [PLATFORM]: { ...target, sha256 } } }),
      published("other", "2.0.0", { binary: { [PLATFORM]: target } }),
      npx("packaged", "1.0.0"),
    ];
    now = new Date("2026-01-01T02:00:00Z");
    await expect(installer().check("tiny", { sha256: other })).rejects.toThrow("with the SHA-256");
    await expect(installer().install("tiny", { sha256: other })).rejects.toThrow("with the SHA-256");
    const again = { reinstall: true, sha256: other };
    await expect(strict.install("tiny", again)).rejects.toThrow("The registry has");
    await expect(strict.install("packaged", { sha256 })).rejects.toMatchObject({ code: "invalid_version" });
    expect((await installer().install("other")).provenance?.artifact).toMatchObject({
      sha256,
      checked: false,
    });
  });

  test("is refused when its package is not what it was at the first install", async () => {
    server.agents = [npx("tiny", "1.0.0")];
    await installer().install("tiny");
    await installer().remove("tiny");
    await npm[Symbol.asyncDispose]();
    await rm(join(folder, "cache"), { recursive: true });
    npm = await PackageRegistry.listen([pack("1.0.0", "tiny-agent", `${acpProgram("1.0.0")}// tampered`)]);
    await expect(installer().install("tiny")).rejects.toThrow("EINTEGRITY");
    expect(Catalogue.load([], join(folder, "agents")).find("tiny")).toBeUndefined();
  });

  describe.each(NPMS)("with a package of elsewhere, by %s", (_, version) => {
    test("is refused, and no code of that is run", { timeout: 300_000 }, async () => {
      const execpath = version === undefined ? undefined : await npmAt(version);
      const elsewhere = join(folder, "elsewhere");
      await mkdir(elsewhere);
      const scripts = { prepare: "touch prepared", postinstall: "touch prepared" };
      const manifest = JSON.stringify({ name: "elsewhere", version: "1.0.0", scripts });
      await writeFile(join(elsewhere, "package.json"), manifest);
      // A repository may configure the npm that makes it ready.
      await writeFile(join(elsewhere, ".npmrc"), "ignore-scripts=false\n");
      const author = ["-c", "user.email=a@example.com", "-c", "user.name=a"];
      for (const words of [
        ["init", "-q"],
        ["add", "-A"],
        [...author, "commit", "-qm", "first"],
      ])
        execFileSync("git", words, { cwd: elsewhere });
      server.files.set("/elsewhere.tgz", gzipSync(tarOf([{ name: "package/package.json", text: manifest }])));
      for (const place of [
        `git+file://${elsewhere}`,
        `file:${elsewhere}`,
        `${server.origin}/elsewhere.tgz`,
      ]) {
        await npm[Symbol.asyncDispose]();
        const tiny = pack("1.0.0");
        const dependencies = { elsewhere: place };
        npm = await PackageRegistry.listen([{ ...tiny, manifest: { ...tiny.manifest, dependencies } }]);
        server.agents = [npx("tiny", "1.0.0")];
        const given = { ...environment(), npm_execpath: execpath };
        const refused = installer({ environment: given }).install("tiny");
        await expect(refused, place).rejects.toMatchObject({ code: "install_failed" });
        expect(await leftovers("tiny")).toEqual([]);
      }
      expect((await readdir(elsewhere)).toSorted()).toEqual([".git", ".npmrc", "package.json"]);
      if (execpath === undefined) expect(server.requests).not.toContain("/elsewhere.tgz");
    });
  });

  test("is not used when it does not speak ACP", async () => {
    server.agents = [npx("mute", "3.0.0", "mute-agent")];
    await expect(installer().install("mute")).rejects.toThrow("was installed but does not run");
    expect(Catalogue.load([], join(folder, "agents")).find("mute")).toBeUndefined();
    expect(await leftovers("mute")).toEqual([]);
  });

  test("keeps its version until an update is asked for, and refuses an older one", async () => {
    server.agents = [npx("tiny", "1.0.0")];
    await installer().install("tiny");
    server.agents = [npx("tiny", "1.1.0")];
    now = new Date("2026-01-01T02:00:00Z");
    expect((await installer().install("tiny")).version).toBe("1.0.0");
    const home = installer();
    const entry = Catalogue.load([], join(folder, "agents")).entry("tiny");
    expect(home.updateOf(entry, await home.installed("tiny"), await home.registry())).toBe("1.1.0");
    expect((await home.install("tiny", { update: true })).version).toBe("1.1.0");
    server.agents = [npx("tiny", "1.0.0")];
    now = new Date("2026-01-01T04:00:00Z");
    await expect(installer().install("tiny", { update: true })).rejects.toThrow("which is older");
    expect((await installer().installed("tiny"))?.version).toBe("1.1.0");
  });

  test("is installed as it was decided about, and as nothing else that the registry has come to name", async () => {
    server.agents = [npx("tiny", "1.0.0")];
    const planned = await installer().check("tiny", {});
    expect(planned).toMatchObject({ agent: "tiny", version: "1.0.0", source: "registry" });
    server.agents = [npx("tiny", "1.1.0")];
    now = new Date("2026-01-01T02:00:00Z");
    for (const decided of [planned, null])
      await expect(installer().install("tiny", { planned: decided })).rejects.toThrow("decided about");
    expect(npm.requests.filter((path) => path.endsWith(".tgz"))).toEqual([]);
    const again = await installer().check("tiny", {});
    expect((await installer().install("tiny", { planned: again })).version).toBe("1.1.0");
    expect((await installer().install("tiny", { planned: again })).version).toBe("1.1.0");
  });

  test("is refused at another version than the one that a client saw", async () => {
    server.agents = [npx("tiny", "1.1.0")];
    await expect(installer().install("tiny", { agentProcessVersion: "1.0.0" })).rejects.toThrow(
      "at 1.1.0 only",
    );
  });

  test("is unknown without the registry, and once installed runs without it", async () => {
    await expect(installer().install("tiny")).rejects.toMatchObject({ code: "unknown_agent" });
    server.agents = [npx("tiny", "1.0.0")];
    now = new Date("2026-01-01T02:00:00Z");
    await installer().install("tiny");
    expect((await installer({ registry: undefined }).installed("tiny"))?.version).toBe("1.0.0");
  });

  test("cannot take the name of an agent of the catalogue", async () => {
    server.agents = [
      npx("native", "1.0.0"),
      npx("claude", "1.0.0"),
      npx("known", "1.1.0"),
      npx("constructor", "1.0.0"),
    ];
    const home = installer();
    const state = await home.registry();
    expect(home.offered(state!).map(({ id }) => id)).toEqual(["constructor"]);
    expect((await home.install("known")).provenance).toMatchObject({ source: "lockfile", version: "1.0.0" });
    await expect(home.install("native")).rejects.toThrow("cannot be installed");
  });

  test.skipIf(findUv(process.env) === undefined)(
    "is installed by uv, by the hashes of its packages",
    async () => {
      const wheel = wheelOf("tiny-uv", "1.0.0");
      const name = "tiny_uv-1.0.0-py3-none-any.whl";
      server.files.set(`/simple/tiny-uv/`, (_, response) =>
        response.writeHead(200, { "content-type": "text/html" }).end(`<a href="/files/${name}">${name}</a>`),
      );
      server.files.set(`/files/${name}`, wheel);
      server.agents = [published("tiny", "1.0.0", { uvx: { package: "tiny-uv==1.0.0" } })];
      const env = {
        ...environment(),
        UV_DEFAULT_INDEX: `${server.origin}/simple/`,
        UV_CACHE_DIR: join(folder, "uv"),
      };
      const installed = await installer({ environment: env }).install("tiny");
      const integrity = `sha256:${createHash("sha256").update(wheel).digest("hex")}`;
      expect(installed.provenance).toMatchObject({
        verified: "tiny 1.0.0",
        packages: [{ name: "tiny-uv", version: "1.0.0", integrity }],
      });
    },
  );
});

describe("an agent of the catalogue", () => {
  test("is installed at the registry's version, and counts as observed until it is verified", async () => {
    server.agents = [npx("known-acp", "1.2.0", "known-agent")];
    const installed = await installer().install("known");
    expect(installed).toMatchObject({
      version: "1.2.0",
      provenance: { source: "registry", verified: "known 1.2.0" },
    });
    const entry = Catalogue.load([known]).entry("known");
    expect(await new Stamps(join(folder, "agents")).level({ entry, installed })).toBe("observed");
    // How it is started is the catalogue's alone.
    expect(installed.provenance?.entry).toBeUndefined();
  });

  test("is installed by its lockfile where the registry has the same version", async () => {
    server.agents = [npx("known-acp", "1.0.0", "known-agent")];
    const installed = await installer().install("known");
    expect(installed.provenance).toMatchObject({ source: "lockfile", registry: { id: "known-acp" } });
    const entry = Catalogue.load([known]).entry("known");
    expect(await new Stamps(join(folder, "agents")).level({ entry, installed })).toBe("asked");
  });

  test.each([
    ["is not in the registry", []],
    ["is another package there", [npx("known-acp", "1.1.0")]],
    ["is older there", [npx("known-acp", "0.9.0", "known-agent")]],
  ])("falls back to the pinned version when it %s", async (_, agents) => {
    server.agents = agents;
    const { provenance } = await installer().install("known");
    expect(provenance).toMatchObject({ source: "lockfile", version: "1.0.0" });
    expect(provenance?.registry).toBeUndefined();
  });

  test("falls back to the pinned version when the registry cannot be reached", async () => {
    server.files.set("/registry.json", (_, response) => void response.writeHead(503).end());
    expect((await installer().install("known")).provenance).toMatchObject({ source: "lockfile" });
  });

  test("is put to use again at a version that is still there, which needs no decision", async () => {
    for (const agentProcessVersion of ["1.0.0", "1.2.0"])
      await installer().install("known", { agentProcessVersion });
    const fetched = npm.requests.length;
    const again = { agentProcessVersion: "1.0.0" };
    expect(await installer().check("known", again)).toBeUndefined();
    expect(await installer().install("known", { ...again, planned: null })).toMatchObject({
      version: "1.0.0",
    });
    expect(npm.requests).toHaveLength(fetched);
  });

  test("is updated to the registry's version only if that is asked for", async () => {
    await installer().install("known");
    server.agents = [npx("known-acp", "1.2.0", "known-agent")];
    now = new Date("2026-01-01T02:00:00Z");
    expect((await installer().install("known")).version).toBe("1.0.0");
    expect((await installer().install("known", { update: true })).version).toBe("1.2.0");
  });
});

test("an install that is killed at any step leaves nothing usable, and the next one is whole", {
  timeout: 300_000,
}, async () => {
  const archive = gzipSync(tarOf([{ name: "tiny", text: acpProgram("2.0.0") }]));
  const target = { archive: `${server.origin}/tiny.tgz`, cmd: "tiny" };
  const catalogue = () => Catalogue.load([], join(folder, "agents"));
  const { promise: never } = Promise.withResolvers<void>();
  // Each holds the install at one step, and says when it is there.
  const steps: readonly [string, (held: () => void) => void][] = [
    ["the registry", (held) => server.files.set("/registry.json", held)],
    ["the archive", (held) => server.files.set("/tiny.tgz", held)],
    [
      "half of the archive",
      (held) =>
        server.files.set("/tiny.tgz", (_, response) => {
          response.writeHead(200, { "content-length": archive.length });
          response.write(archive.subarray(0, archive.length / 2));
          held();
        }),
    ],
  ];
  for (const [step, hold] of steps) {
    server.agents = [published("tiny", "2.0.0", { binary: { [PLATFORM]: target } })];
    server.files.clear();
    server.files.set("/tiny.tgz", archive);
    const { promise: held, resolve } = Promise.withResolvers<void>();
    hold(resolve);
    await kill(await start("tiny"), held);
    expect([step, catalogue().find("tiny")]).toEqual([step, undefined]);
  }
  server.files.clear();
  await rm(join(folder, "agents", "registry.json"));
  npm.gate = never;
  server.agents = [npx("tiny", "1.0.0")];
  const installing = await start("tiny");
  await expect.poll(() => npm.requests.some((path) => path.endsWith(".tgz"))).toBe(true);
  await kill(installing);
  expect(catalogue().find("tiny")).toBeUndefined();
  npm.gate = Promise.resolve();
  expect((await installer().install("tiny")).version).toBe("1.0.0");
  expect(await leftovers("tiny")).toEqual([]);
});

test("two processes that install one agent make one install", async () => {
  server.agents = [npx("tiny", "1.0.0")];
  const both = await Promise.all([start("tiny"), start("tiny")]);
  const exits = await Promise.all(both.map((child) => once(child, "exit")));
  expect(exits.map(([code]) => code)).toEqual([0, 0]);
  expect(npm.requests.filter((path) => path.endsWith(".tgz"))).toHaveLength(1);
  expect((await installer().installed("tiny"))?.version).toBe("1.0.0");
});

/** Installs in a process of its own. */
async function start(agent: string): Promise<ChildProcess> {
  const program = join(import.meta.dirname, "..", "test", "install-process.ts");
  const args = [program, join(folder, "agents"), agent];
  const child = spawn(process.execPath, args, {
    env: environment(),
    stdio: ["ignore", "inherit", "inherit"],
  });
  await once(child, "spawn");
  return child;
}

async function kill(child: ChildProcess, when: Promise<void> = Promise.resolve()): Promise<void> {
  const exited = once(child, "exit");
  await when;
  child.kill("SIGKILL");
  await exited;
}

async function leftovers(agent: string): Promise<string[]> {
  const names = await readdir(join(folder, "agents", agent)).catch(() => []);
  return names.filter((name) => name.startsWith("."));
}

/** A Python package whose program is the Node program of a test. */
function wheelOf(name: string, version: string): Buffer {
  const module = name.replaceAll("-", "_");
  const about = `${module}-${version}.dist-info`;
  const code = `import subprocess, sys\ndef main():\n    sys.exit(subprocess.call(["node", "-e", ${JSON.stringify(acpProgram(version).split("\n").slice(1).join("\n"))}]))\n`;
  return zipOf([
    { name: `${module}.py`, text: code, mode: "644" },
    {
      name: `${about}/METADATA`,
      text: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`,
      mode: "644",
    },
    {
      name: `${about}/WHEEL`,
      text: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
      mode: "644",
    },
    { name: `${about}/entry_points.txt`, text: `[console_scripts]\n${name} = ${module}:main\n`, mode: "644" },
    { name: `${about}/RECORD`, text: "", mode: "644" },
  ]);
}
