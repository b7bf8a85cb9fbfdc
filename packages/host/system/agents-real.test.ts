import { existsSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Catalogue, launchOf, ProbeCache, probe, processChannel } from "@reins/agents";
import { AgentProcess, Owner } from "@reins/runner";
import {
  attempt,
  callMcpTool,
  hold,
  type Intent,
  readFile as look,
  refuse,
  reply,
  runCommand,
  say,
  scene,
  scenes,
  writeFile,
} from "@reins/scripted-model";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import type { AcpAgent } from "../../agents/test/acp-agent.ts";
import { AgentRoom } from "../../agents/test/agent-room.ts";
import { testAgents } from "../../agents/test/test-agents.ts";
import { stdioServer } from "../../mcp/system/fixtures/home.ts";

const AS_WRITTEN = { text: (text: string) => text };
const AGENTS = ["claude", "codex", "opencode"];

// The first run fetches them from npm, more than a gigabyte.
beforeAll(async () => {
  if (!registryAnswers) return;
  for (const agent of AGENTS) await testAgents().install(agent);
}, 600_000);

describe.skipIf(!registryAnswers).each(AGENTS)(
  `%s, with the profile of the catalogue${NEEDS_REGISTRY}`,
  (id) => {
    let room: AgentRoom;
    let agent: AcpAgent;
    let session: string;

    beforeAll(async () => {
      room = await AgentRoom.open(id);
      agent = await room.start();
    });
    beforeEach(async () => {
      session = await agent.open(room.workspace);
      agent.answer = () => "reject_once";
      agent.asks.length = 0;
      room.model.forget();
    });
    afterAll(() => room[Symbol.asyncDispose]());

    const tryTo = (intent: Intent) => {
      room.model.play(scenes(scene("TRY", reply(attempt(intent)), reply(say("Tried.")))));
      return agent.prompt(session, "TRY it");
    };

    test("says what the model says", async () => {
      room.model.play(scenes(scene("GREET", reply(say("Good ", "morning.")))));
      expect(await agent.prompt(session, "GREET me")).toBe("end_turn");
      expect(agent.said).toContain("Good morning.");
      expect(agent.asks).toEqual([]);
      expect(room.model.requests.map(({ key }) => key)).toContain(room.model.endpoint.key);
    });

    test("asks before it writes, and does not write what is refused", async () => {
      const path = join(room.workspace, "canary.txt");
      await tryTo(writeFile(path, "canary\n"));
      expect(agent.asks).toHaveLength(1);
      expect(existsSync(path)).toBe(false);
      agent.answer = () => "allow_once";
      await tryTo(writeFile(path, "canary\n"));
      expect(agent.asks).toHaveLength(2);
      expect(await readFile(path, "utf8")).toBe("canary\n");
    });

    test("asks before it runs a command, and does not run what is refused", async () => {
      const path = join(room.workspace, "ran.txt");
      await tryTo(runCommand(`echo canary > ${path}`));
      expect(agent.asks).toHaveLength(1);
      expect(JSON.stringify(agent.asks[0]?.toolCall)).toContain("echo canary");
      expect(existsSync(path)).toBe(false);
      agent.answer = () => "allow_once";
      await tryTo(runCommand(`echo canary > ${path}`));
      expect(agent.asks).toHaveLength(2);
      expect(await readFile(path, "utf8")).toBe("canary\n");
    });

    test("asks before it reads, and does not tell the model what is refused", async () => {
      writeFileSync(join(room.workspace, "secret.txt"), "the secret word\n");
      await tryTo(look(join(room.workspace, "secret.txt")));
      expect(agent.asks).toHaveLength(1);
      expect(JSON.stringify(room.model.requests)).not.toContain("the secret word");
      agent.answer = () => "allow_once";
      await tryTo(look(join(room.workspace, "secret.txt")));
      expect(JSON.stringify(room.model.requests)).toContain("the secret word");
    });

    test("calls the tool of an MCP server that it was given", async () => {
      const given = await agent.open(room.workspace, { mcpServers: [stdioServer("lab-stdio.ts")] });
      agent.answer = () => "allow_once";
      room.model.play(
        scenes(
          scene(
            "ECHO",
            reply(attempt(callMcpTool("lab", "echo", { text: "canary" }))),
            reply(say("Echoed.")),
          ),
        ),
      );
      await expect
        .poll(async () => {
          await agent.prompt(given, "ECHO it");
          return room.model.requests.flatMap(({ conversation }) =>
            conversation.items.filter(({ role }) => role === "tool"),
          );
        })
        .toContainEqual(expect.objectContaining({ text: expect.stringContaining("canary") }));
    });

    test("stops on cancel", async () => {
      const { promise: begun, resolve } = Promise.withResolvers<void>();
      room.model.play((conversation) => {
        if (conversation.tools.length > 0) resolve();
        return reply(say("Well"), hold(new Promise(() => {})));
      });
      const prompting = agent.prompt(session, "WAIT");
      await begun;
      agent.notify("session/cancel", { sessionId: session });
      expect(await prompting).toBe("cancelled");
    });

    test("goes on after the model has failed", async () => {
      room.model.play(scenes(scene("FAIL", refuse(400, "The script says no."))));
      await agent.prompt(session, "FAIL").catch((error: unknown) => error);
      room.model.play(scenes(scene("GREET", reply(say("Good morning.")))));
      expect(await agent.prompt(session, "GREET me")).toBe("end_turn");
      expect(agent.said).toContain("Good morning.");
    });

    test("takes a session up again after it was killed, and asks as before", async () => {
      room.model.play(scenes(scene("REMEMBER", reply(say("I will remember the heron.")))));
      await agent.prompt(session, "REMEMBER the heron");
      await agent.stop();
      agent = await room.start();
      await agent.load(session, room.workspace);
      const path = join(room.workspace, "later.txt");
      room.model.forget();
      await tryTo(writeFile(path, "canary\n"));
      expect(JSON.stringify(room.model.requests)).toContain("the heron");
      expect(agent.asks).toHaveLength(1);
      expect(existsSync(path)).toBe(false);
    });
  },
);

describe.skipIf(!registryAnswers).each(AGENTS)(`a probe of %s${NEEDS_REGISTRY}`, (id) => {
  test("learns what it can do, once for each version and settings", async () => {
    await using room = await AgentRoom.open(id);
    const { entry, version, launch } = room;
    const cache = new ProbeCache(join(room.folder, "agents"));
    expect(await cache.find(entry, version)).toBeUndefined();
    await room.start().then((agent) => agent.stop());
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
