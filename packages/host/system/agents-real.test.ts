import { join } from "node:path";
import { Catalogue, launchOf, ProbeCache, probe, processChannel } from "@reins/agents";
import { AgentProcess, Owner } from "@reins/runner";
import { beforeAll, describe, expect, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { AgentRoom } from "../../agents/test/agent-room.ts";
import { testAgents } from "../../agents/test/test-agents.ts";

const AS_WRITTEN = { text: (text: string) => text };
const AGENTS = ["claude", "codex", "opencode"];

// The first run fetches them from npm, more than a gigabyte.
beforeAll(async () => {
  if (!registryAnswers) return;
  for (const agent of AGENTS) await testAgents().install(agent);
}, 600_000);

describe.skipIf(!registryAnswers).each(AGENTS)(`a probe of %s${NEEDS_REGISTRY}`, (id) => {
  test("learns what it can do, once for each version and settings", async () => {
    await using room = await AgentRoom.open(id);
    const { entry, version, launch } = room;
    const cache = new ProbeCache(join(room.folder, "agents"));
    expect(await cache.find(entry, version)).toBeUndefined();
    const process = await AgentProcess.start(
      { ...launch, cwd: room.workspace, label: id },
      { owner: new Owner(room.folder), onFault: () => undefined },
    );
    const probed = await probe({
      entry,
      version,
      launch,
      channel: processChannel(process, AS_WRITTEN),
      cwd: room.workspace,
      now: () => new Date(0),
      signal: AbortSignal.timeout(60_000),
    });
    await process.stop();
    expect(probed).toMatchObject({
      agent: id,
      version,
      initialized: { protocolVersion: 1, agentCapabilities: { loadSession: entry.quirks?.load } },
      session: { configOptions: expect.arrayContaining([expect.objectContaining({ id: "model" })]) },
    });
    await cache.keep(entry, probed);
    expect(await cache.find(entry, version)).toEqual(probed);
    expect(await cache.find({ ...entry, strip: ["more"] }, version)).toBeUndefined();
    expect(await cache.find(entry, "0.0.0")).toBeUndefined();
  });
});

test("a probe tells what an agent wants before it opens a session", async () => {
  await using room = await AgentRoom.open("claude");
  const entry = Catalogue.load().entry("claude");
  const { folder: install } = await testAgents().install("claude");
  const launch = launchOf(entry, {
    folders: { home: join(room.folder, "home"), temporary: join(room.folder, "tmp") },
    install,
    environment: { PATH: process.env.PATH },
    node: process.execPath,
    platform: `${process.platform}-${process.arch}`,
  });
  const started = await AgentProcess.start(
    { ...launch, cwd: room.workspace, label: "claude" },
    { owner: new Owner(room.folder), onFault: () => undefined },
  );
  const options = {
    entry,
    version: "1",
    launch,
    channel: processChannel(started, AS_WRITTEN),
    now: () => new Date(0),
  };
  const probed = await probe({
    ...options,
    cwd: join(room.folder, "missing"),
    signal: AbortSignal.timeout(60_000),
  });
  await started.stop();
  expect(probed.refused).toMatchObject({ code: -32602 });
});
