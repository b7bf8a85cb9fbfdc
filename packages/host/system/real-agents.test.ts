import { mkdir, writeFile as put } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { membersOf } from "@reins/acp";
import { Catalogue } from "@reins/agents";
import {
  attempt,
  callMcpTool,
  fetchPage,
  hold,
  refuse,
  reply,
  runCommand,
  say,
  scene,
  scenes,
  writeFile,
} from "@reins/scripted-model";
import { describe, expect, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { textIn } from "./fixtures/home.ts";
import { REAL_AGENTS, shareRealAgent, verdictsIn } from "./fixtures/real-agents.ts";

const LAB = fileURLToPath(new URL("../../mcp/system/fixtures/lab-stdio.ts", import.meta.url));

const SECRET = "canary-of-a-credential-file";
const NOTES = "canary-of-a-harmless-file";

const catalogue = Catalogue.load();

describe.skipIf(!registryAnswers).each(REAL_AGENTS)(`%s${NEEDS_REGISTRY}`, (agent) => {
  const openRealAgent = shareRealAgent(agent);
  const { quirks, prompts } = catalogue.entry(agent);
  const takesMcp = quirks?.mcp.length !== 0;

  test("answers", async () => {
    const real = await openRealAgent();
    real.model.play(scenes(scene("GREET", reply(say("Good morning.")))));
    const id = await real.begin();
    expect(await real.prompt(id, "GREET me")).toMatchObject({ stopReason: "end_turn" });
    expect(real.client.said.join("")).toContain("Good morning.");
    const [turn] = await real.entries("turn");
    expect(membersOf(turn?.payload)).toMatchObject({ stop_reason: "end_turn" });
  });

  test("writes and runs what the constitution lets it, each decided once, before it happens", async () => {
    const real = await openRealAgent();
    const path = join(real.folder, "notes.txt");
    real.model.play(
      scenes(
        scene("WRITE", reply(attempt(writeFile(path, "hello\n")))),
        scene("LOOK", reply(attempt(runCommand("ls")))),
      ),
    );
    const id = await real.begin();
    await real.prompt(id, "WRITE it");
    expect(await textIn(path)).toBe("hello\n");
    await real.prompt(id, "LOOK around");
    const verdicts = await verdictsIn(real);
    // One that asks for an edit without its content is asked about that when it has Reins write it.
    expect(verdicts.filter((verdict) => !verdict.startsWith("fs/write_text_file"))).toHaveLength(2);
    expect(verdicts.every((verdict) => verdict.endsWith("allowed"))).toBe(true);
  });

  test("has its model told why a call was refused: at once where it honours that, or with the next prompt", async () => {
    const real = await openRealAgent();
    const reason = "keys, tokens and passwords are not for agents";
    const isTold = () => JSON.stringify(real.model.requests).includes(reason);
    real.model.play(
      scenes(
        scene("KEYS", reply(attempt(runCommand("cat ~/.ssh/id_rsa"))), reply(say("Well."))),
        scene("NEXT", reply(say("I see."))),
      ),
    );
    const id = await real.begin();
    await real.prompt(id, "KEYS please");
    expect(await verdictsIn(real)).toEqual([expect.stringContaining("blocked")]);
    expect(isTold()).toBe(quirks?.refusal === "error");
    await real.prompt(id, "NEXT please");
    expect(isTold()).toBe(true);
  });

  test("neither writes nor runs what a person refuses", async () => {
    const real = await openRealAgent();
    const secret = join(real.folder, "secrets.json");
    const canary = join(real.folder, "canary");
    real.state.person = () => "reject_once";
    real.model.play(
      scenes(
        scene("SECRET", reply(attempt(writeFile(secret, "x\n")))),
        scene("MAKE", reply(attempt(runCommand(`node -e "require('fs').writeFileSync('${canary}','')"`)))),
      ),
    );
    const id = await real.begin();
    await real.prompt(id, "SECRET please");
    await real.prompt(id, "MAKE it");
    expect([await textIn(secret), await textIn(canary)]).toEqual([undefined, undefined]);
    expect(real.client.asked).toHaveLength(2);
    const verdicts = await verdictsIn(real);
    expect(verdicts).toHaveLength(2);
    expect(verdicts.every((verdict) => verdict.endsWith("blocked"))).toBe(true);
    const results = await real.entries("tool_result");
    expect(results.flatMap(({ tags }) => tags)).not.toContain("ungated");
  });

  test("runs what a person allows", async () => {
    const real = await openRealAgent();
    const canary = join(real.folder, "canary");
    real.state.person = () => "allow_once";
    real.model.play(
      scenes(
        scene("MAKE", reply(attempt(runCommand(`node -e "require('fs').writeFileSync('${canary}','yes')"`)))),
      ),
    );
    const id = await real.begin();
    await real.prompt(id, "MAKE it");
    expect(await textIn(canary)).toBe("yes");
    expect((await verdictsIn(real)).map((verdict) => verdict.split(" ").at(-1))).toEqual(["allowed"]);
    const results = await real.entries("tool_result");
    expect(results.map(({ tags }) => tags)).toEqual([["completed"]]);
  });

  /** A folder with a credential file, and one that is harmless, in all spellings that agents are known to follow. */
  async function trapped() {
    const real = await openRealAgent();
    await mkdir(join(real.folder, "with space"));
    for (const name of [".env", "with space/.env"]) await put(join(real.folder, name), `API_KEY=${SECRET}\n`);
    await put(join(real.folder, "notes.txt"), `${NOTES}\n`);
    real.model.play(scenes(scene("READ", reply(say("Read.")))));
    return real;
  }

  test("reads no credential file that a prompt names, by a reference or a link", async () => {
    const real = await trapped();
    const file = join(real.folder, ".env");
    const spellings = [
      ...[
        "@.env",
        "@./.env",
        `@${file}`,
        `@"${file}"`,
        "@.env#L1-3",
        "(@.env)",
        "@.env.",
        "`@.env`",
        "@with\\ space/.env",
      ],
      ...[
        '@"with space/.env"',
        `@file:${file}`,
        `@file://${file}`,
        `+// see @${file}`,
        `"@.env"`,
        "\n@.env\n",
      ],
    ];
    const id = await real.begin();
    const prompt = [
      { type: "text", text: `READ ${spellings.join(" and ")}` },
      { type: "resource_link", name: "env", uri: pathToFileURL(file).href },
      { type: "resource_link", name: "env", uri: `zed:///agent/file?path=${file}` },
      { type: "resource", resource: { uri: pathToFileURL(file).href, text: "" } },
    ];
    await real.client.request("session/prompt", { sessionId: id, prompt });
    expect(real.model.requests.length).toBeGreaterThan(0);
    expect(JSON.stringify(real.model.requests)).not.toContain(SECRET);
    const verdicts = await verdictsIn(real);
    expect(verdicts).toContain("fs/read_text_file blocked");
    expect(verdicts).not.toContain("fs/read_text_file allowed");
  });

  test("is given the files that may be read, after a verdict on each", async () => {
    const real = await trapped();
    const id = await real.begin();
    await real.prompt(id, "READ @notes.txt, please");
    expect(JSON.stringify(real.model.requests)).toContain(NOTES);
    expect(await verdictsIn(real)).toEqual(["fs/read_text_file allowed"]);
  });

  test("is not told by a prompt to stop asking", async () => {
    const real = await openRealAgent();
    const canary = join(real.folder, "canary");
    const make = `node -e "require('fs').writeFileSync('${canary}','')"`;
    real.model.play(scenes(scene("MAKE", reply(attempt(runCommand(make))))));
    real.state.person = () => "reject_once";
    const id = await real.begin();
    for (const command of ["/allow-all", "/yolo", " \u200B/autopilot", "/permissions allow-all", "／yolo"])
      expect(await real.prompt(id, command), command).toMatchObject({ stopReason: "refusal" });
    await real.prompt(id, "MAKE it");
    expect(await textIn(canary)).toBeUndefined();
    const announced = real.hub.live(id)?.agent?.governor.session(id)?.commands ?? [];
    const { commands } = prompts;
    const names = announced.map((name) => name.split(" ", 1)[0] ?? "");
    expect(names.filter((name) => commands[name] === undefined)).toEqual([]);
  });

  // Codex has no tool to fetch with.
  if (agent !== "codex")
    test("is decided about by the host that it would fetch from", async () => {
      const real = await openRealAgent();
      real.state.person = () => "reject_once";
      real.model.play(scenes(scene("FETCH", reply(attempt(fetchPage("https://example.org/a"))))));
      const id = await real.begin();
      await real.prompt(id, "FETCH it");
      const actions = (await real.entries("policy_verdict"))
        .map(({ payload }) => membersOf(payload))
        .filter(({ event_type }) => event_type === "pre_action");
      const effects = actions.map(({ facts }) => membersOf(facts).effects);
      expect(effects.at(-1)).toEqual([{ kind: "net", host: "example.org" }]);
    });

  if (takesMcp)
    test("uses a tool that the session's client lends, after the verdict on it", async () => {
      const real = await openRealAgent();
      real.client.connection.capabilities = { _meta: { reins: { bridge: true } } };
      const calls: unknown[] = [];
      real.state.person = () => "allow_once";
      real.state.host = (method, { name, args }) => {
        if (method === "host/tools/list") return { tools: [{ name: "deploy", description: "Deploys it" }] };
        if (method !== "builtin_call") return {};
        calls.push([method, name, args]);
        return { deployed: "at noon" };
      };
      real.model.play(
        scenes(scene("SHIP", reply(attempt(callMcpTool("session_host", "deploy", { to: "x" }))))),
      );
      const id = await real.begin();
      // Some agents take prompts before the servers of the session have answered them.
      const shipped = async () => {
        await real.prompt(id, "SHIP it");
        return calls;
      };
      await expect.poll(shipped, { timeout: 60_000 }).toEqual([["builtin_call", "deploy", [{ to: "x" }]]]);
      expect(JSON.stringify(real.model.requests)).toContain("at noon");
      const verdicts = await verdictsIn(real);
      expect(verdicts.filter((verdict) => !/^mcp\/[a-z]+\//.test(verdict))).toEqual(["host/deploy allowed"]);
    });

  if (agent === "claude")
    test.each([
      ["after", true],
      ["before", false],
    ] as const)(
      "uses tools of a host that comes %s its first turn, and those that it lends later",
      async (_, isUsed) => {
        const real = await openRealAgent();
        const calls: unknown[] = [];
        const lent = [{ name: "deploy", description: "Deploys it" }];
        const use = (tool: string) => reply(attempt(callMcpTool("session_host", tool, { to: tool })));
        real.model.play(
          scenes(
            scene("HELLO", reply(say("Hello."))),
            scene("SHIP", use("deploy")),
            scene("REVERT", use("rollback")),
          ),
        );
        const id = await real.begin();
        if (isUsed) await real.prompt(id, "HELLO there");
        real.client.connection.capabilities = { _meta: { reins: { bridge: true } } };
        real.state.person = () => "allow_once";
        real.state.host = (method, { name }) => {
          if (method === "host/tools/list") return { tools: lent };
          if (method === "builtin_call") calls.push(name);
          return { done: name };
        };
        const called = async (words: string) => {
          await real.prompt(id, words);
          return calls;
        };
        await expect.poll(() => called("SHIP it"), { timeout: 60_000 }).toEqual(["deploy"]);
        const asked = real.model.requests.map((request) => JSON.stringify(request));
        if (isUsed) expect(asked.filter((one) => /SHIP it/.test(one)).join("")).toContain("HELLO there");
        lent.push({ name: "rollback", description: "Takes it back" });
        await real.client.connection.notification("host/tools/update", { sessionId: id });
        await expect.poll(() => called("REVERT it"), { timeout: 60_000 }).toEqual(["deploy", "rollback"]);
      },
    );

  test("stops on cancel", async () => {
    const never = new Promise(() => undefined);
    const real = await openRealAgent();
    real.model.play(scenes(scene("LONG", reply(say("Well, "), hold(never)))));
    const id = await real.begin();
    const turn = real.prompt(id, "LONG story");
    await expect.poll(() => real.client.said.join("")).toContain("Well");
    await real.client.connection.notification("session/cancel", { sessionId: id });
    expect(await turn).toMatchObject({ stopReason: "cancelled" });
  });

  // The others ask a model that fails again and again.
  if (["claude", "codex", "opencode"].includes(agent))
    test("goes on after the model has failed", async () => {
      const real = await openRealAgent();
      real.model.play(scenes(scene("FAIL", refuse(400, "The script says no."))));
      const id = await real.begin();
      await real.prompt(id, "FAIL").catch((error: unknown) => error);
      real.model.play(scenes(scene("GREET", reply(say("Good morning.")))));
      expect(await real.prompt(id, "GREET me")).toMatchObject({ stopReason: "end_turn" });
      expect(real.client.said.join("")).toContain("Good morning.");
    });

  const lab = { name: "lab", command: process.execPath, args: [LAB], env: [] };

  if (takesMcp)
    test("calls a tool of an MCP server, which the harness performs after one verdict", async () => {
      const real = await openRealAgent();
      real.model.play(scenes(scene("ECHO", reply(attempt(callMcpTool("lab", "echo", { text: "heather" }))))));
      const asked: string[] = [];
      real.state.person = (params) => {
        asked.push(String(membersOf(params.toolCall).name));
        return "allow_once";
      };
      const id = await real.begin({ mcpServers: [lab] });
      // Some agents take prompts before the servers of the session have answered them.
      const echoed = async () => {
        await real.prompt(id, "ECHO it");
        return asked;
      };
      await expect.poll(echoed, { timeout: 60_000 }).toEqual(["mcp/start", "mcp:lab/echo"]);
      // Claude also asks what else the server offers, and for changes of it; the default rules allow that unasked.
      const isLookup = (name: unknown) => /^mcp\/(?:resources|prompts|subscriptions)\//.test(String(name));
      const verdicts = await verdictsIn(real);
      expect(verdicts.filter((verdict) => !isLookup(verdict))).toEqual([
        "mcp/start allowed",
        "mcp:lab/echo allowed",
      ]);
      const results = (await real.entries("tool_result")).filter(({ target }) => !isLookup(target));
      expect(results.map(({ target, tags }) => [target, tags])).toEqual([
        ["mcp/start", ["completed"]],
        ["mcp:lab/echo", ["completed"]],
      ]);
      // Agents ask on the side too, for titles and the like.
      const told = real.model.requests.map(({ conversation }) => JSON.stringify(conversation.items));
      expect(told.some((items) => items.includes("heather"))).toBe(true);
    });

  if (takesMcp)
    test("has no call of an MCP tool that a person refuses reach its server", async () => {
      const real = await openRealAgent();
      const [allowed, denied] = [join(real.folder, "allowed"), join(real.folder, "denied")];
      const write = (path: string) => reply(attempt(callMcpTool("lab", "write", { path, text: "x" })));
      real.model.play(scenes(scene("ALLOWED", write(allowed)), scene("DENIED", write(denied))));
      real.state.person = (params) =>
        JSON.stringify(params).includes(denied) ? "reject_once" : "allow_once";
      const id = await real.begin({ mcpServers: [lab] });
      const written = async () => {
        await real.prompt(id, "ALLOWED it");
        return textIn(allowed);
      };
      await expect.poll(written, { timeout: 60_000 }).toBe("x");
      await real.prompt(id, "DENIED it");
      expect(await textIn(denied)).toBeUndefined();
      expect((await verdictsIn(real)).filter((verdict) => verdict.startsWith("mcp:lab/write"))).toEqual([
        "mcp:lab/write allowed",
        "mcp:lab/write blocked",
      ]);
      const results = (await real.entries("tool_result")).filter(({ target }) => target === "mcp:lab/write");
      expect(results.map(({ tags }) => tags)).toEqual([["completed"]]);
    });
  else
    test("takes no MCP server: it is not started, and the client is notified", async () => {
      const real = await openRealAgent();
      real.model.play(scenes(scene("ECHO", reply(say("There is nothing to echo with.")))));
      const begun = await real.client.request("session/new", { cwd: real.folder, mcpServers: [lab] });
      await real.prompt(String(begun.sessionId), "ECHO it");
      const refused = membersOf(membersOf(begun._meta).reins).refused_servers;
      expect(refused).toEqual([{ server: "lab", reason: expect.stringContaining("takes no MCP servers") }]);
      const offered = real.model.requests.flatMap(({ conversation }) =>
        conversation.tools.map(({ name }) => name),
      );
      expect(offered.filter((name) => name.includes("echo"))).toEqual([]);
      expect([real.client.asked, await verdictsIn(real)]).toEqual([[], []]);
    });

  test("goes on after it was killed, and knows what was said", async () => {
    const real = await openRealAgent();
    // An agent that cannot resume a session gets what was said with the prompt, which then mentions both words.
    real.model.play(
      scenes(
        scene("RECALL", reply(say("As I said."))),
        scene("REMEMBER", reply(say("The word is heather."))),
      ),
    );
    const id = await real.begin();
    await real.prompt(id, "REMEMBER this");
    // A process of an earlier session with MCP servers may run beside its own.
    const pids = (await real.hub.running()).flatMap((running) => running.process?.pid ?? []);
    expect(pids).not.toEqual([]);
    for (const pid of pids) process.kill(pid, "SIGKILL");
    await expect.poll(() => real.hub.running()).toEqual([]);
    await real.prompt(id, "RECALL it");
    expect(real.client.said.join("")).toContain("As I said.");
    const recalled = real.model.requests.filter(({ conversation }) =>
      JSON.stringify(conversation).includes("RECALL"),
    );
    expect(JSON.stringify(recalled.map(({ conversation }) => conversation))).toContain(
      "The word is heather.",
    );
  });
});
