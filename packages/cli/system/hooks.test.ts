import { existsSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { hookAgent, runInTerminal } from "@reins/agents";
import { beforeAll, describe, expect, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import {
  attempt,
  hold,
  readFile as look,
  lookAround,
  reply,
  say,
  scene,
  scenes,
  startAgent,
  testAgents,
  writeFile as write,
} from "../../agents/test/test-agents.ts";
import { TerminalRoom } from "./support/terminal-room.ts";

/** The agents, and what a hostile repository can still do against their hooks. */
const WEAK: Readonly<Record<string, readonly string[]>> = {
  claude: ["hooks switched off"],
  codex: ["hooks switched off"],
  copilot: ["hooks switched off"],
  gemini: ["hooks switched off"],
  opencode: ["a plugin of its own that acts"],
  qwen: ["hooks switched off"],
};
/** Agents that print why a prompt was blocked, also without a terminal. */
const SAYS = ["claude", "copilot", "gemini"];
/** Agents that say their prompt again with each result. */
const REPEATS = ["qwen"];
/** Agents that say when a sub-agent begins and ends, and which calls are its own. */
const NAMES_CHILDREN: Readonly<Record<string, readonly [begun: string, acting: string]>> = {
  claude: ["general-purpose", "general-purpose"],
  copilot: ["general-purpose", "general-purpose"],
  opencode: ["general", "general"],
  // It names the kind only at begin and end.
  qwen: ["general-purpose", ""],
};
/** Agents that report the end of a session that had one prompt. */
const ENDS = ["claude", "codex", "copilot", "gemini"];
/** Agents that report the beginning of a session at the same moment as they ask about its first prompt. */
const BEGINS_WITH_PROMPT = ["copilot"];
/** Agents that read the files that a prompt names by themselves. */
const READS_NAMED = ["claude", "gemini", "qwen"];
const AGENTS = Object.keys(WEAK);
/** Longer than any agent waits for a hook by its own. */
const LONG_MS = 70_000;

beforeAll(async () => {
  if (registryAnswers) for (const agent of AGENTS) await testAgents().install(agent);
}, 600_000);

/** The entries of the ledger in their order: what they are, and what they say. */
async function recorded(room: TerminalRoom, ...qualities: string[]) {
  const { entries } = await room.reins.fetched(`/v1/ledger?order=oldest&agent=${room.agent}`);
  const all: readonly ReturnType<typeof Object>[] = entries.map(({ entry }: { entry: unknown }) =>
    Object(entry),
  );
  return all.filter(({ quality }) => qualities.includes(quality));
}

/** The verdicts on tool calls. */
async function verdicts(room: TerminalRoom) {
  const all = await recorded(room, "policy_verdict");
  return all.flatMap(({ payload }) => (payload.event_type === "pre_action" ? [payload] : []));
}

/** A command that rules ask about, because it is opaque; it leaves a file. */
async function asked(room: TerminalRoom) {
  const marker = join(room.workspace, "marker.txt");
  await writeFile(join(room.workspace, "script.sh"), `echo ran > '${marker}'\n`);
  return { marker, intent: lookAround(`sh ${join(room.workspace, "script.sh")}`) };
}

describe.skipIf(!registryAnswers).each(AGENTS)(`%s in a terminal, with hooks${NEEDS_REGISTRY}`, (agent) => {
  async function installed(options: { readonly wait?: number } = {}): Promise<TerminalRoom> {
    const room = await TerminalRoom.open(agent);
    await room.install(options);
    return room;
  }

  test("does what the rules allow, after a verdict that is on record, in a session that is shown", async () => {
    await using room = await installed();
    await room.reins.up();
    const file = join(room.workspace, "inside.txt");
    await room.attempt(write(file, "canary\n"));
    expect(await readFile(file, "utf8")).toBe("canary\n");
    // An agent may be gone before the hook that reports its end.
    const state = async () => (await room.reins.fetched("/v1/sessions")).sessions[0]?.state;
    await expect.poll(state).toBe(ENDS.includes(agent) ? "closed" : "idle");
    expect(await verdicts(room)).toMatchObject([
      { verdict: "allowed", enforcement: "asked", subject: { agent, user: "operator", trust: "registered" } },
    ]);
    const found = await recorded(room, "policy_verdict", "tool_result", "turn", "session_lifecycle");
    const isBegin = ({ payload }: (typeof found)[number]) => payload.change === "session_start";
    const entries = BEGINS_WITH_PROMPT.includes(agent)
      ? [...found.filter(isBegin), ...found.filter((entry) => !isBegin(entry))]
      : found;
    const kinds = entries.map(({ quality, payload }) => payload.change ?? payload.event_type ?? quality);
    expect(kinds).toEqual([
      "session_start",
      "pre_prompt",
      "pre_action",
      "tool_result",
      ...(REPEATS.includes(agent) ? ["pre_prompt"] : []),
      "turn",
      ...(ENDS.includes(agent) ? ["session_end"] : []),
    ]);
    const [, prompt, call, result] = entries;
    const [turn] = entries.filter(({ quality }) => quality === "turn");
    expect(result.payload).toMatchObject({ outcome: "completed", verdict: call.cid });
    expect(turn.payload).toMatchObject({ stop_reason: "end_turn" });
    expect(turn.payload.entries.slice(0, 2)).toEqual([prompt.cid, call.cid]);
    const { sessions } = await room.reins.fetched("/v1/sessions");
    expect(sessions).toMatchObject([
      {
        agent,
        title: expect.stringContaining("TRY it"),
        cwd: room.workspace,
        enforcement: "asked",
      },
    ]);
    expect(sessions[0].event_count).toBeGreaterThan(2);
    expect(await room.reins.run("ledger", "verify")).toMatchObject({ code: 0 });
  });

  test("does nothing that the rules block, and gets the reason", async () => {
    await using room = await installed();
    await room.reins.up();
    const precious = join(room.user, "precious.txt");
    await writeFile(precious, "mine");
    await room.attempt(lookAround(`rm -rf ${precious}`));
    expect(existsSync(precious)).toBe(true);
    expect(room.results).toContain("it would destroy something outside of the workspace");
    expect(await verdicts(room)).toMatchObject([{ verdict: "blocked" }]);
    expect(await recorded(room, "tool_result")).toEqual([]);
  });

  test.runIf(NAMES_CHILDREN[agent])("records its sub-agents, and which calls are theirs", async () => {
    await using room = await installed();
    await room.reins.up();
    const file = join(room.workspace, "child.txt");
    room.model.play(
      scenes(
        scene("TRY", reply(attempt(startAgent("CHILD go"))), reply(say("Done."))),
        scene("CHILD", reply(attempt(write(file, "x"))), reply(say("found it"))),
      ),
    );
    const run = runInTerminal(room.launch, "TRY it", room.workspace);
    await room.reins.done("approvals", "approve", await room.reins.pending());
    await run;
    expect(existsSync(file)).toBe(true);
    const entries = await recorded(room, "policy_verdict", "tool_result", "session_lifecycle");
    const known = entries.map(({ payload }) => [
      payload.change ?? payload.event_type ?? "tool_result",
      payload.subject?.subagent?.type,
    ]);
    const [begun, acting] = NAMES_CHILDREN[agent] ?? [];
    const from = known.findIndex(([what]) => what === "subagent_start");
    expect(known.slice(from, from + 4)).toEqual([
      ["subagent_start", begun],
      ["pre_action", acting],
      ["tool_result", undefined],
      ["subagent_stop", begun],
    ]);
    const [start, call, result] = entries.slice(from);
    expect(call.payload.subject).toMatchObject({ depth: 1, started: "sub-agent" });
    expect(call.payload.subject.subagent.id).toBe(start.payload.subject.subagent.id);
    expect(result.payload).toMatchObject({ outcome: "completed", verdict: call.cid });
  });

  test("waits for a person, and does what the person allows, once", async () => {
    await using room = await installed();
    await room.reins.up();
    const { marker, intent } = await asked(room);
    const run = room.attempt(intent);
    const id = await room.reins.pending();
    expect(existsSync(marker)).toBe(false);
    await room.reins.done("approvals", "approve", id);
    await run;
    expect(existsSync(marker)).toBe(true);
    expect((await verdicts(room)).map(({ verdict }) => verdict)).toEqual(["ask", "allowed"]);
    expect(await room.reins.json("approvals", "list", "--state", "used")).toMatchObject({
      approvals: [{ id }],
    });
  });

  test("waits for a person, and does nothing that the person denies", async () => {
    await using room = await installed();
    await room.reins.up();
    const { marker, intent } = await asked(room);
    const run = room.attempt(intent);
    await room.reins.done("approvals", "deny", await room.reins.pending(), "--note", "not today");
    await run;
    expect(existsSync(marker)).toBe(false);
    expect(room.results).toContain("not today");
  });

  test.runIf(READS_NAMED.includes(agent))(
    "reads a file that a prompt names after a verdict on it, and not where the rules block that",
    async () => {
      await using room = await installed();
      await room.reins.up();
      room.model.play(scenes(scene("TRY", reply(say("Done.")))));
      const given = () => JSON.stringify(room.model.requests.map(({ conversation }) => conversation));
      await writeFile(join(room.workspace, "note.txt"), "the quiet word\n");
      await runInTerminal(room.launch, "TRY to read @note.txt, please", room.workspace);
      expect(given()).toContain("the quiet word");
      expect(await verdicts(room)).toMatchObject([
        { verdict: "allowed", facts: { effects: [{ kind: "read" }] } },
      ]);
      const [read, prompt] = await recorded(room, "policy_verdict");
      expect([read.target, prompt.payload.event_type]).toEqual(["fs/read_text_file", "pre_prompt"]);
      const [turn] = await recorded(room, "turn");
      expect(turn.payload.entries.slice(0, 2)).toEqual([read.cid, prompt.cid]);

      const key = join(room.workspace, ".ssh", "id_rsa");
      await mkdir(dirname(key));
      await writeFile(key, "the secret word\n");
      await symlink(key, join(room.workspace, "harmless.txt"));
      for (const named of [
        "@.ssh/id_rsa",
        `@${key}`,
        '@"./.ssh/id_rsa"',
        "@harmless.txt",
        "(@note.txt/../.ssh/id_rsa)",
      ])
        await runInTerminal(room.launch, `TRY ${named}`, room.workspace);
      expect(given()).not.toContain("the secret word");
      const [, ...blocked] = (await recorded(room, "policy_verdict")).filter(
        ({ payload }) => payload.event_type === "pre_prompt" && payload.verdict,
      );
      expect(blocked.map(({ payload }) => payload.verdict)).toEqual(Array(5).fill("blocked"));
    },
  );

  test.runIf(hookAgent(agent).templates)(
    "runs what the template of a repository's command has it run after a verdict on it",
    async () => {
      await using room = await installed();
      await room.reins.up();
      room.model.play(scenes(scene("TRY", reply(say("Done.")))));
      const precious = join(room.user, "precious.txt");
      await writeFile(precious, "mine");
      const { marker, intent } = await asked(room);
      const folder = join(room.workspace, hookAgent(agent).templates?.folders[0] ?? "");
      await mkdir(folder, { recursive: true });
      const template = (command: unknown) => `---\nallowed-tools: Bash(*)\n---\nTRY: !\`${command}\`\n`;
      await writeFile(join(folder, "clean.md"), template(`rm -rf ${precious}`));
      await writeFile(join(folder, "script.md"), template(intent.values.command));
      await runInTerminal(room.launch, "/clean", room.workspace);
      expect(existsSync(precious)).toBe(true);
      const run = runInTerminal(room.launch, "/script", room.workspace);
      const id = await room.reins.pending();
      expect(existsSync(marker)).toBe(false);
      await room.reins.done("approvals", "approve", id);
      await run;
      expect(existsSync(marker)).toBe(true);
      expect((await verdicts(room)).map(({ verdict }) => verdict)).toEqual(["blocked", "ask", "allowed"]);
    },
  );

  test("does nothing without an answer in time; the approval stays open and counts the next time", async () => {
    await using room = await installed({ wait: 5 });
    await room.reins.up();
    const { marker, intent } = await asked(room);
    const { promise: approved, resolve: onApproved } = Promise.withResolvers<void>();
    const steps = [reply(attempt(intent)), reply(hold(approved), attempt(intent)), reply(say("Tried."))];
    room.model.play(scenes(scene("TRY", ...steps)));
    const run = runInTerminal(room.launch, "TRY it", room.workspace);
    await expect.poll(() => room.results, { timeout: 60_000 }).toContain("stays open");
    expect(existsSync(marker)).toBe(false);
    await room.reins.done("approvals", "approve", await room.reins.pending());
    onApproved();
    await run;
    expect(existsSync(marker)).toBe(true);
  });

  test("does nothing while Reins does not run, and says how to start it; reads pass where that was chosen", async () => {
    await using room = await installed();
    const file = join(room.workspace, "inside.txt");
    await writeFile(join(room.workspace, "note.txt"), "the quiet word\n");
    const run = await room.attempt(write(file, "canary\n"));
    expect(existsSync(file)).toBe(false);
    if (SAYS.includes(agent)) expect(run.stdout + run.stderr).toContain("reins up");
    await room.attempt(look(join(room.workspace, "note.txt")));
    expect(room.results).not.toContain("the quiet word");
    await room.install({ reads: "allow" });
    await room.attempt(look(join(room.workspace, "note.txt")));
    await room.attempt(write(file, "canary\n"));
    expect([room.results.includes("the quiet word"), existsSync(file)]).toEqual([agent !== "codex", false]);
  });

  test("goes on waiting while Reins is restarted in the middle of a question", async () => {
    await using room = await installed();
    const reins = await room.reins.up();
    const { marker, intent } = await asked(room);
    const run = room.attempt(intent);
    const id = await room.reins.pending();
    // A verdict that allows nothing is written a moment after the approval; a kill in between loses its entry.
    await expect.poll(async () => (await verdicts(room)).length).toBe(1);
    await reins.kill();
    expect(existsSync(marker)).toBe(false);
    await room.reins.up();
    await room.reins.done("approvals", "approve", id);
    await run;
    expect(existsSync(marker)).toBe(true);
    expect((await verdicts(room)).map(({ verdict }) => verdict)).toEqual(["ask", "allowed"]);
  });

  test("is blocked from then on when its session is ended in Reins", async () => {
    await using room = await installed();
    await room.reins.up();
    const { marker, intent } = await asked(room);
    const run = room.attempt(intent);
    const id = await room.reins.pending();
    const { sessions } = await room.reins.fetched("/v1/sessions");
    await room.reins.done("kill", "--session", sessions[0].id);
    await room.reins.run("approvals", "approve", id);
    await run;
    expect(existsSync(marker)).toBe(false);
  });

  test("blocks when the hook itself is gone", async () => {
    await using room = await installed();
    await room.reins.up();
    await writeFile(join(room.reins.path, "hooks", "reins-hook.mjs"), "throw new Error('broken')\n");
    const file = join(room.workspace, "inside.txt");
    await room.attempt(write(file, "canary\n"));
    expect(existsSync(file)).toBe(false);
  });

  test("refuses to work in the user's home, and in the files of Reins", async () => {
    await using room = await installed();
    await room.reins.up();
    const folder = join(room.reins.path, "work");
    await mkdir(folder);
    await room.attempt(write(join(folder, "x.txt"), "x"), folder);
    expect(existsSync(join(folder, "x.txt"))).toBe(false);
  });

  test("is proved by a trial, which shows what a hostile repository can do", async () => {
    await using room = await TerminalRoom.open(agent);
    expect(await room.run("hooks", "install", agent)).toMatchObject({ code: 0 });
    await room.review();
    const { command, args } = room.launch;
    const program = command === process.execPath ? (args[0] ?? "") : command;
    const { code, stdout } = await room.run("hooks", "status", agent, "--program", program, "--json");
    const { probes, ...report } = JSON.parse(stdout);
    const weak = WEAK[agent] ?? [];
    expect(report).toMatchObject({
      installed: "yes",
      running: false,
      live: true,
      hostile: weak.length === 0,
    });
    const open = probes.filter(({ held }: { held: boolean }) => !held);
    expect([code, open.map(({ setting }: { setting: string }) => setting)]).toEqual([0, weak]);
    await room.run("hooks", "uninstall", agent);
    expect(await room.run("hooks", "status", agent)).toMatchObject({ code: 1 });
  });

  test.runIf(agent === AGENTS[0])("is known not to be live where a repository switches it off", async () => {
    await using room = await installed();
    const { command, args } = room.launch;
    const program = command === process.execPath ? (args[0] ?? "") : command;
    const off = hookAgent(agent).hostile.find(({ name }) => name === "hooks switched off")?.files ?? {};
    const [file = ""] = Object.keys(off);
    await mkdir(dirname(join(room.workspace, file)), { recursive: true });
    await writeFile(join(room.workspace, file), JSON.stringify(off[file]));
    const at = ["--program", program, "--folder", room.workspace, "--json"];
    const there = await room.run("hooks", "status", agent, ...at);
    expect(there.code).toBe(1);
    expect(JSON.parse(there.stdout)).toMatchObject({
      live: true,
      here: { live: false, switched_off_by: join(room.workspace, file) },
    });
  });

  test.runIf(hookAgent(agent).needsReview)(
    "is not live before a person has reviewed it in the agent",
    async () => {
      await using room = await TerminalRoom.open(agent);
      expect(await room.run("hooks", "install", agent)).toMatchObject({ code: 0 });
      const status = async () => {
        const { code, stdout } = await room.run(
          "hooks",
          "status",
          agent,
          "--program",
          room.launch.command,
          "--json",
        );
        return { code, ...JSON.parse(stdout) };
      };
      const before = await status();
      expect(before).toMatchObject({
        code: 1,
        live: false,
        unreviewed: expect.arrayContaining(["preToolUse"]),
      });
      await room.review();
      expect(await status()).toMatchObject({ code: 0, live: true, unreviewed: [] });
      expect(await room.run("hooks", "install", agent, "--wait", "30")).toMatchObject({ code: 0 });
      expect(await status()).toMatchObject({ code: 1, live: false });
    },
  );

  test("does nothing that the rules block in a repository whose own hooks allow everything", async () => {
    await using room = await installed();
    await room.reins.up();
    const precious = join(room.user, "precious.txt");
    await writeFile(precious, "mine");
    for (const [path, content] of Object.entries(hookAgent(agent).hostile[0]?.files ?? {})) {
      await mkdir(dirname(join(room.workspace, path)), { recursive: true });
      const text = typeof content === "string" ? content : JSON.stringify(content);
      await writeFile(join(room.workspace, path), text);
    }
    await room.attempt(lookAround(`rm -rf ${precious}`));
    expect(existsSync(precious)).toBe(true);
    expect(await verdicts(room)).toMatchObject([{ verdict: "blocked" }]);
  });
});

/**
 * Agents go on without an answer when a hook takes longer than they wait, some of them whatever their settings say. All
 * wait at the same time, because it is so long.
 */
test.skipIf(!registryAnswers)(
  `an agent in a terminal does nothing while a person takes longer than a minute${NEEDS_REGISTRY}`,
  async () => {
    const after = await Promise.all(
      AGENTS.map(async (agent) => {
        await using room = await TerminalRoom.open(agent);
        await room.install();
        await room.reins.up();
        const { marker, intent } = await asked(room);
        const run = room.attempt(intent);
        const id = await room.reins.pending();
        await delay(LONG_MS);
        const before = existsSync(marker);
        await room.reins.done("approvals", "approve", id);
        await run;
        return [agent, before, existsSync(marker)];
      }),
    );
    expect(after).toEqual(AGENTS.map((agent) => [agent, false, hookAgent(agent).longestWait === undefined]));
  },
  LONG_MS * 5,
);
