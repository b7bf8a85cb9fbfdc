import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Catalogue } from "../src/catalogue.ts";
import { InstallLock } from "../src/install/install-lock.ts";
import { Installer, type InstallProgress } from "../src/install/installer.ts";
import { integrityOf, PackageRegistry, type TestPackage } from "../test/package-registry.ts";

let folder: string;
let registry: PackageRegistry;

/** An agent whose install script, were it run, would leave a trace. */
function tiny(version: string, code = `console.log("tiny ${version}")`): TestPackage {
  return {
    manifest: {
      name: "tiny-agent",
      version,
      scripts: { postinstall: "node -e \"require('fs').writeFileSync('script-ran', '')\"" },
    },
    files: { "index.js": code },
  };
}

const packages = [tiny("1.0.0"), tiny("1.1.0"), tiny("2.0.0", "process.exit(3)")];

function entry(version = "1.0.0", more: object = {}): object {
  return {
    id: "tiny",
    name: "Tiny",
    support: { level: "supported" },
    install: {
      packages: { "tiny-agent": version },
      agentProcess: "tiny-agent",
      platforms: [`${process.platform}-${process.arch}`],
      ...more,
    },
    start: { with: "node", file: "node_modules/tiny-agent/index.js", args: ["--acp"] },
    enforcement: { level: "asked" },
  };
}

async function lock(
  version: string,
  integrity: string | null = integrityOf(packages.find((each) => each.manifest.version === version)!),
) {
  const dependencies = { "tiny-agent": version };
  const lockfile = {
    name: "reins-agent-tiny",
    lockfileVersion: 3,
    requires: true,
    packages: {
      "": { name: "reins-agent-tiny", dependencies },
      "node_modules/tiny-agent": {
        version,
        ...(integrity !== null && { integrity }),
        hasInstallScript: true,
      },
    },
  };
  await mkdir(join(folder, "locks", "tiny"), { recursive: true });
  const manifest = { name: "reins-agent-tiny", private: true, dependencies };
  await writeFile(join(folder, "locks", "tiny", "package.json"), JSON.stringify(manifest));
  await writeFile(join(folder, "locks", "tiny", "package-lock.json"), JSON.stringify(lockfile));
}

function installer(agent = entry()): Installer {
  return new Installer({
    folder: join(folder, "agents"),
    locks: join(folder, "locks"),
    catalogue: Catalogue.load([agent]),
    environment: {
      PATH: process.env.PATH,
      HOME: folder,
      npm_config_registry: registry.url,
      npm_config_cache: join(folder, "cache"),
    },
  });
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-install-"));
  registry = await PackageRegistry.listen(packages);
  await lock("1.0.0");
});
afterEach(async () => {
  await registry[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe("an install", () => {
  test("follows the lockfile, runs no script, and notes where everything came from", async () => {
    const progress: InstallProgress[] = [];
    const installed = await installer().install("tiny", { onProgress: (each) => progress.push(each) });
    expect(installed).toMatchObject({ agent: "tiny", version: "1.0.0", outdated: false });
    expect(installed.provenance).toMatchObject({
      source: "lockfile",
      agentProcess: { name: "tiny-agent", version: "1.0.0" },
      packages: [{ name: "tiny-agent", version: "1.0.0", integrity: integrityOf(packages[0]!) }],
      verified: "tiny 1.0.0",
    });
    expect(existsSync(join(installed.folder, "node_modules", "tiny-agent", "script-ran"))).toBe(false);
    expect(progress.map(({ phase }) => phase)).toEqual([
      "installing",
      "installing",
      "verifying",
      "installed",
    ]);
    expect(progress[1]).toEqual({ phase: "installing", done: 1, total: 1 });
    expect(await installer().installed("tiny")).toEqual(installed);
  });

  test("is not repeated", async () => {
    const first = await installer().install("tiny");
    registry.requests.length = 0;
    expect(await installer().install("tiny")).toEqual(first);
    expect(registry.requests).toEqual([]);
  });

  test("is repeated when that is wanted", async () => {
    const { folder: where } = await installer().install("tiny");
    await writeFile(join(where, "node_modules", "tiny-agent", "index.js"), "tampered");
    await installer().install("tiny", { reinstall: true });
    expect(await readFile(join(where, "node_modules", "tiny-agent", "index.js"), "utf8")).toContain(
      "tiny 1.0.0",
    );
    expect(await leftovers()).toEqual([]);
  });

  test("happens once, however many want it", async () => {
    const waits: InstallProgress[] = [];
    const onProgress = (each: InstallProgress) => {
      if (each.phase === "waiting") waits.push(each);
    };
    const [left, right] = await Promise.all([
      installer().install("tiny", { onProgress }),
      installer().install("tiny", { onProgress }),
    ]);
    expect(left).toEqual(right);
    expect(waits).toEqual([{ phase: "waiting", holder: process.pid }]);
    expect(registry.requests.filter((path) => path.endsWith(".tgz"))).toHaveLength(1);
  });

  test("leaves nothing usable when cancelled", async () => {
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    registry.gate = new Promise(() => {});
    const stop = new AbortController();
    const installing = installer().install("tiny", {
      signal: stop.signal,
      onProgress: ({ phase }) => phase === "installing" && resolve(),
    });
    await asked;
    await expect.poll(() => registry.requests.some((path) => path.endsWith(".tgz"))).toBe(true);
    stop.abort();
    await expect(installing).rejects.toMatchObject({ code: "cancelled" });
    expect(await installer().installed("tiny")).toBeUndefined();
    expect(await leftovers()).toEqual([]);
  });

  test("clears away what a crash left unfinished", async () => {
    const partial = join(folder, "agents", "tiny", ".partial-1");
    await mkdir(partial, { recursive: true });
    await writeFile(join(partial, "install.json"), "{}");
    expect(await installer().installed("tiny")).toBeUndefined();
    await installer().install("tiny");
    expect(await leftovers()).toEqual([]);
  });

  test("refuses packages that are not what the lockfile says", async () => {
    await lock("1.0.0", integrityOf(packages[1]!));
    await expect(installer().install("tiny")).rejects.toMatchObject({
      code: "install_failed",
      message: expect.stringContaining("EINTEGRITY"),
    });
    expect(await installer().installed("tiny")).toBeUndefined();
  });

  test("remembers what a package was that the lockfile has no hash of", async () => {
    await lock("1.0.0", null);
    const first = await installer().install("tiny");
    expect(first).toMatchObject({ outdated: false, provenance: { source: "lockfile" } });
    expect(first.provenance?.packages).toEqual([
      { name: "tiny-agent", version: "1.0.0", integrity: integrityOf(packages[0]!) },
    ]);
    await installer().remove("tiny");
    const again = await installer().install("tiny");
    expect([(await installer().installed("tiny"))?.outdated, again.provenance?.lock]).toEqual([
      false,
      first.provenance?.lock,
    ]);
    await installer().remove("tiny");
    await registry[Symbol.asyncDispose]();
    await rm(join(folder, "cache"), { recursive: true });
    registry = await PackageRegistry.listen([tiny("1.0.0", 'console.log("other")')]);
    await expect(installer().install("tiny")).rejects.toThrow("EINTEGRITY");
  });

  test("is not used when the agent does not run", async () => {
    await lock("2.0.0");
    await expect(installer(entry("2.0.0")).install("tiny")).rejects.toThrow(
      "Tiny was installed but does not run",
    );
    expect(await installer(entry("2.0.0")).installed("tiny")).toBeUndefined();
  });

  test("of another version is found by npm, noted as such, and used from then on", async () => {
    await installer().install("tiny");
    const other = await installer().install("tiny", { agentProcessVersion: "1.1.0" });
    expect(other).toMatchObject({
      version: "1.1.0",
      provenance: { source: "override", verified: "tiny 1.1.0" },
    });
    expect(await installer().installed("tiny")).toMatchObject({ version: "1.1.0", outdated: false });
    expect(await installer().install("tiny")).toMatchObject({ version: "1.0.0" });
    expect(await installer().installed("tiny")).toMatchObject({ version: "1.0.0" });
  });

  test("runs the script that its entry names", async () => {
    const { folder: where } = await installer(entry("1.0.0", { scripts: ["tiny-agent"] })).install("tiny");
    expect(existsSync(join(where, "node_modules", "tiny-agent", "script-ran"))).toBe(true);
  });

  test("is outdated when the catalogue has moved on, and the new one takes its place", async () => {
    await installer().install("tiny");
    await lock("1.1.0");
    expect(await installer(entry("1.1.0")).installed("tiny")).toMatchObject({
      version: "1.0.0",
      outdated: true,
    });
    await installer(entry("1.1.0")).install("tiny");
    expect(await installer(entry("1.1.0")).installed("tiny")).toMatchObject({
      version: "1.1.0",
      outdated: false,
    });
  });

  test("passes on npm's words when it fails", async () => {
    const failing = installer().install("tiny", { agentProcessVersion: "9.9.9" });
    await expect(failing).rejects.toThrow(/npm could not install it[\s\S]*9\.9\.9/);
  });

  test("can be removed", async () => {
    const { folder: where } = await installer().install("tiny");
    expect(await installer().remove("tiny")).toBe(true);
    expect([existsSync(where), await installer().installed("tiny")]).toEqual([false, undefined]);
    expect(await installer().remove("tiny")).toBe(false);
  });

  test("shows in the list beside the agents that are not installed", async () => {
    await installer().install("tiny");
    const list = await installer().list();
    const installed = list.filter((each) => each.installed).map(({ entry: { id } }) => id);
    expect(installed).toEqual(["tiny"]);
    expect(list.map(({ entry: { id } }) => id)).toContain("amp");
  });
});

describe("the lock of an install", () => {
  test("is taken from a process that has died", async () => {
    const path = join(folder, "a.lock");
    await writeFile(path, "999999999 dead");
    await using _lock = await InstallLock.acquire(path);
    expect(await readFile(path, "utf8")).toMatch(new RegExp(`^${process.pid} `));
  });

  test("is taken from a holder that has stopped showing signs of life", async () => {
    const path = join(folder, "b.lock");
    await writeFile(path, `${process.pid} asleep`);
    const past = new Date(Date.now() - 60_000);
    await utimes(path, past, past);
    await using _lock = await InstallLock.acquire(path);
    expect(await readFile(path, "utf8")).not.toContain("asleep");
  });

  test("is not waited for longer than anybody wants it", async () => {
    const path = join(folder, "c.lock");
    await using _held = await InstallLock.acquire(path);
    const stop = new AbortController();
    const waiting = InstallLock.acquire(path, { signal: stop.signal, onWait: () => stop.abort() });
    await expect(waiting).rejects.toThrow();
  });

  test("is gone when it is let go", async () => {
    const path = join(folder, "d.lock");
    await (await InstallLock.acquire(path)).release();
    expect(existsSync(path)).toBe(false);
  });
});

async function leftovers(): Promise<string[]> {
  const names = await readdir(join(folder, "agents", "tiny")).catch(() => []);
  return names.filter((name) => name.startsWith("."));
}
