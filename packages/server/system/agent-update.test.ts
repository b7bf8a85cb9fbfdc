import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentEntry, Catalogue, Installer, ProbeCache, RegistrySource, Stamps } from "@reins/agents";
import { Agent, AgentInstallProgress, AgentList } from "@reins/api";
import { readSse, SseParser } from "@reins/kit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { AgentRegistryServer } from "../../agents/test/agent-registry.ts";
import { PackageRegistry, type TestPackage } from "../../agents/test/package-registry.ts";
import { AdminApi } from "../src/index.ts";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import type { Served } from "./fixtures/home.ts";

const home = agentsForAll({ rules: null });
const TOY = new URL("../../host/system/fixtures/toy-agent", import.meta.url);
let folder: string;
let published: AgentRegistryServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-update-"));
  published = await AgentRegistryServer.listen();
});
afterEach(async () => {
  await published[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function publish(id: string, name: string, version: string): void {
  const distribution = { npx: { package: `${name}@${version}`, args: [] } };
  published.agents = [{ id, name: id, version, description: "an agent", distribution }];
}

/** A server whose catalogue has an entry, with a folder of its own for installs, and no lockfiles. */
function operated(entry: AgentEntry, more: Record<string, string> = {}): Promise<Served> {
  const { hosting, base, harness } = home();
  // npm is configured as on this machine.
  const environment = { ...process.env, REINS_ACP_REGISTRY_URL: published.url, ...more };
  const catalogue = Catalogue.load([entry], folder);
  const source = new RegistrySource({ folder, environment });
  const locks = join(folder, "none");
  const registry = {
    catalogue,
    installer: new Installer({ folder, locks, catalogue, environment, registry: source }),
    stamps: new Stamps(folder),
    probes: new ProbeCache(folder),
    added: [],
    isConfined: () => false,
  };
  const admin = new AdminApi({
    hosting: async () => hosting,
    agents: async () => registry,
    ...{ environment, userHome: base, version: "1.2.3" },
  });
  admin.attend(harness, hosting);
  return serveAgents(home(), { more: admin.routes, onAnswered: admin.answered });
}

/** Installs to the end; calls back with each step of the progress. */
async function install(
  served: Served,
  agent: string,
  body: object,
  onStep: (step: AgentInstallProgress) => unknown = () => undefined,
): Promise<void> {
  const headers = {
    authorization: `Bearer ${served.access.token}`,
    accept: "text/event-stream",
    "content-type": "application/json",
  };
  const address = `${served.address}/v1/agents/${agent}/install`;
  const { body: progress } = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
  for await (const { data = "" } of readSse(progress!, new SseParser(1_000_000))) {
    const step = AgentInstallProgress.parse(JSON.parse(data));
    if (step.phase === "failed") throw new Error(step.message);
    await onStep(step);
    if (step.phase === "installed") return;
  }
  throw new Error("The progress ended before its result.");
}

async function shown(served: Served, agent: string): Promise<Agent> {
  return Agent.parse((await served.ask("GET", `/v1/agents/${agent}`)).body);
}

/** Has the registry read again by what lists agents. */
async function reread(served: Served): Promise<void> {
  await rm(join(folder, "registry.json"), { force: true });
  const state = async () => {
    const list = AgentList.parse((await served.ask("GET", "/v1/agents")).body);
    return list.registry.state;
  };
  await expect.poll(state).toBe("current");
}

const pinned = (packages: Readonly<Record<string, string>>, agentProcess: string) => ({
  packages,
  agentProcess,
  platforms: [`${process.platform}-${process.arch}`],
});

test("an update that stopped asking is not called live, and one that asks again is", async () => {
  const code = await readFile(`${TOY.pathname}.mjs`, "utf8");
  const toy = (version: string, character: string): TestPackage => ({
    manifest: { name: "toy-agent", version },
    files: {
      "toy.mjs": code,
      "index.mjs": `process.env.CHARACTER = "${character}";\nawait import("./toy.mjs");\n`,
    },
  });
  await using npm = await PackageRegistry.listen([
    toy("1.0.0", "honest"),
    toy("2.0.0", "careless"),
    toy("3.0.0", "honest"),
  ]);
  const described = JSON.parse(await readFile(`${TOY.pathname}.json`, "utf8"));
  const entry = AgentEntry.parse({
    ...described,
    registry: "toy-acp",
    install: pinned({ "toy-agent": "1.0.0" }, "toy-agent"),
    start: { with: "node", file: "node_modules/toy-agent/index.mjs" },
  });
  publish("toy-acp", "toy-agent", "1.0.0");
  const served = await operated(entry, {
    npm_config_registry: npm.url,
    npm_config_cache: join(folder, "npm"),
  });
  await install(served, "toy", {});
  expect(await shown(served, "toy")).toMatchObject({
    install: { version: "1.0.0", provenance: "registry" },
    verification: { state: "unverified" },
    enforcement: { level: "observed" },
    // It was asked once when it was installed, and never ran a session.
    capabilities: { agentCapabilities: expect.any(Object) },
    running: 0,
  });
  for (const [version, live, level] of [
    ["2.0.0", false, "observed"],
    ["3.0.0", true, "asked"],
  ] as const) {
    publish("toy-acp", "toy-agent", version);
    await reread(served);
    expect((await shown(served, "toy")).install).toMatchObject({ update: version });
    await install(served, "toy", { update: true });
    expect(await shown(served, "toy")).toMatchObject({
      install: { version, update: null },
      verification: { state: "verified", live },
      enforcement: { level },
      // What the verification heard of it is known without a process.
      capabilities: { agentCapabilities: expect.any(Object) },
      running: 0,
    });
  }
});

test.skipIf(!registryAnswers)(
  `Gemini CLI is updated, and its gate is called live when the new version was verified with a scripted model${NEEDS_REGISTRY}`,
  // Installs it twice, and runs all probes.
  { timeout: 600_000 },
  async () => {
    const name = "@google/gemini-cli";
    const gemini = Catalogue.load().entry("gemini");
    const entry = { ...gemini, install: { ...gemini.install, ...pinned({ [name]: "0.60.0" }, name) } };
    publish("gemini", name, "0.60.0");
    const served = await operated(AgentEntry.parse(entry));
    await install(served, "gemini", {});
    expect(await shown(served, "gemini")).toMatchObject({
      install: { version: "0.60.0", update: null },
      verification: { state: "unverified" },
      enforcement: { level: "observed" },
    });
    publish("gemini", name, "0.61.0");
    await reread(served);
    const during: unknown[] = [];
    let probes = 0;
    await install(served, "gemini", { update: true }, async (step) => {
      if (step.phase !== "verifying" || step.total === undefined) return;
      probes = step.total;
      if (during.length > 0) return;
      const {
        install: { version } = { version: "" },
        verification,
        enforcement,
      } = Object(await shown(served, "gemini"));
      during.push([version, verification.state, enforcement.level]);
    });
    expect(probes).toBeGreaterThan(20);
    expect(during).toEqual([["0.61.0", "unverified", "observed"]]);
    expect(await shown(served, "gemini")).toMatchObject({
      install: { version: "0.61.0", provenance: "registry", said: "0.61.0" },
      verification: { state: "verified", live: true, level: "asked", faults: [] },
      enforcement: { level: "asked" },
    });
  },
);
