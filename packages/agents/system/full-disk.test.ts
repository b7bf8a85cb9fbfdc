import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { Catalogue } from "../src/catalogue.ts";
import { Installer } from "../src/install/installer.ts";
import { RegistrySource } from "../src/registry/registry-source.ts";
import { AgentRegistryServer, acpProgram } from "../test/agent-registry.ts";
import { tarOf } from "../test/archives.ts";
import { PackageRegistry } from "../test/package-registry.ts";

const place = mkdtempSync(join(tmpdir(), "reins-full-"));
const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=3m", "none", place]).status === 0;
const NOISE = randomBytes(4_000_000).toString("latin1");
const PLATFORM = `linux-${process.arch === "arm64" ? "aarch64" : "x86_64"}`;

requirement(
  "a small file system",
  mounted,
  "this user cannot mount one",
)("a full disk", () => {
  let agents: AgentRegistryServer;
  let npm: PackageRegistry;
  let cache: string;

  beforeAll(async () => {
    agents = await AgentRegistryServer.listen();
    const archive = (name: string, big: string) => {
      const members = [
        { name: "tiny", text: acpProgram("1.0.0") },
        { name: "big", text: big },
      ];
      agents.files.set(`/${name}.tgz`, gzipSync(tarOf(members)));
      return { binary: { [PLATFORM]: { archive: `${agents.origin}/${name}.tgz`, cmd: "tiny" } } };
    };
    const distributions = {
      large: archive("large", NOISE),
      swelling: archive("swelling", "x".repeat(6_000_000)),
      packaged: { npx: { package: "packaged@1.0.0" } },
    };
    agents.agents = Object.entries(distributions).map(([id, distribution]) => ({
      ...{ id, name: id, version: "1.0.0", description: "", distribution },
    }));
    const manifest = { name: "packaged", version: "1.0.0", bin: { packaged: "cli.js" } };
    npm = await PackageRegistry.listen([{ manifest, files: { "cli.js": acpProgram("1.0.0"), big: NOISE } }]);
    cache = await mkdtemp(join(tmpdir(), "reins-npm-"));
  });
  afterAll(async () => {
    await agents[Symbol.asyncDispose]();
    await npm[Symbol.asyncDispose]();
    spawnSync("umount", [place]);
    for (const folder of [place, cache]) rmSync(folder, { recursive: true, force: true });
  });

  test.each(["large", "swelling", "packaged"])(
    "leaves nothing of the %s agent, and the reason is named",
    async (id) => {
      const environment = {
        PATH: process.env.PATH,
        HOME: cache,
        npm_config_cache: cache,
        npm_config_registry: npm.url,
        REINS_ACP_REGISTRY_URL: agents.url,
      };
      const registry = new RegistrySource({ folder: place, environment });
      const catalogue = Catalogue.load([], place);
      const installer = new Installer({ folder: place, catalogue, environment, registry });
      await expect(installer.install(id)).rejects.toThrow(/ENOSPC|no space left/);
      expect(await readdir(join(place, id))).toEqual([]);
      expect(catalogue.find(id)).toBeUndefined();
    },
  );
});
