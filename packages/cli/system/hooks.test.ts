import { existsSync } from "node:fs";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { hookAgent } from "@reins/agents";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
import { OperatedHome } from "./support/operated-home.ts";
import { keepRunning } from "./support/reins.ts";
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

/** What each agent did about a question that a person answered after more than a minute. */
let patience: Promise<readonly Patience[]> = Promise.resolve([]);
const over = new AbortController();

beforeAll(async () => {
  if (!registryAnswers) return;
  for (const agent of AGENTS) await testAgents().install(agent);
  patience = waitLong(over.signal);
  // Awaited by the last test.
  patience.catch(() => undefined);
}, 600_000);

afterAll(() => over.abort());

/** The entries of the ledger in their order: what they are, and what they say. */
async function recorded(room: TerminalRoom, ...qualities: string[]) {
  const { entries } = await room.reins.fetched(`/v1/ledger?order=oldest&limit=500&agent=${room.agent}`);
  const all: readonly ReturnType<typeof Object>[] = entries.map(({ entry }: { entry: unknown }) =>
    Object(entry),
  );
  return all.filter(({ quality }) => qualities.includes(quality));
}

/** The verdicts on tool calls. */
async function verdicts(room: TerminalRoom): Promise<readonly string[]> {
  const all = await recorded(room, "policy_verdict");
  return all.flatMap(({ payload }) => (payload.event_type === "pre_action" ? [payload.verdict] : []));
}

/** A command that rules ask about, because it is opaque; it leaves a file. */
async function asked(room: TerminalRoom) {
  const marker = join(room.workspace, "marker.txt");
  await writeFile(join(room.workspace, "script.sh"), `echo ran > '${marker}'\n`);
  return { marker, intent: lookAround(`sh ${join(room.workspace, "script.sh")}`) };
}

/** Puts into the workspace what a hostile repository tries. */
async function makeHostile(room: TerminalRoom, files: Readonly<Record<string, unknown>> = {}) {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(room.workspace, path)), { recursive: true });
    const text = typeof content === "string" ? content : JSON.stringify(content);
    await writeFile(join(room.workspace, path), text);
  }
}

/** What an agent did before and after a late answer, and what its model was given before. */
interface Patience {
  readonly agent: string;
  readonly before: boolean;
  readonly results: string;
  readonly after: boolean;
}

/**
 * Agents go on without an answer when a hook takes longer than they wait, some of them whatever their settings say. They
 * begin one after the other, and wait at the same time, while the other tests run, because it is so long.
 */
async function waitLong(signal: AbortSignal): Promise<readonly Patience[]> {
  const reins = new OperatedHome();
  keepRunning(await reins.up());
  const waiting: Promise<Patience>[] = [];
  for (const agent of AGENTS) {
    const room = await TerminalRoom.open(agent, reins);
    await room.install();
    const { marker, intent } = await asked(room);
    const { promise: approved, resolve: onApproved } = Promise.withResolvers<void>();
    // After a hook that does not wait so long, the model tries it again.
    const again = hookAgent(agent).longestWait === undefined ? [] : [reply(hold(approved), attempt(intent))];
    room.model.play(scenes(scene("TRY", reply(attempt(intent)), ...again, reply(say("Tried.")))));
    const run = room.prompt("TRY it", signal);
    run.catch(() => undefined);
    const id = await reins.pending(agent);
    const wait = async () => {
      await using _room = room;
      await delay(LONG_MS, undefined, { signal });
      const [before, { results }] = [existsSync(marker), room];
      await reins.answer(id, "allow_once");
      onApproved();
      await run;
      return { agent, before, results, after: existsSync(marker) };
    };
    const each = wait();
    each.catch(() => undefined);
    waiting.push(each);
  }
  return Promise.all(waiting);
}

/** A test runs an agent up to five times, one after the other. */
const PATIENT = { timeout: 300_000 };

describe.skipIf(!registryAnswers).each(AGENTS)(
  `%s in a terminal, with hooks${NEEDS_REGISTRY}`,
  PATIENT,
  (agent) => {
    const readsNamed = READS_NAMED.includes(agent);

    async function installed(options: Parameters<TerminalRoom["install"]>[0] = {}): Promise<TerminalRoom> {
      const room = await TerminalRoom.open(agent);
      await room.install(options);
      return room;
    }

    test("does what rules or a person allow, after a verdict that is on record, in a session that is shown", async () => {
      await using room = await installed();
      const { reins, workspace } = room;
      await reins.up();
      const [file, precious] = [join(workspace, "inside.txt"), join(room.user, "precious.txt")];
      await writeFile(precious, "mine");
      await writeFile(join(workspace, "note.txt"), "the quiet word\n");
      const { marker, intent } = await asked(room);
      const child = join(workspace, "child.txt");
      const children = NAMES_CHILDREN[agent];
      const intents = [
        write(file, "canary\n"),
        lookAround(`rm -rf ${precious}`),
        ...[intent, intent],
        ...(children ? [startAgent("CHILD go")] : []),
      ];
      room.model.play(
        scenes(
          scene("TRY", ...intents.map((each) => reply(attempt(each))), reply(say("Done."))),
          scene("CHILD", reply(attempt(write(child, "x"))), reply(say("found it"))),
        ),
      );
      const run = room.prompt(readsNamed ? "TRY it as @note.txt says, please" : "TRY it");
      const approved = await reins.pending();
      expect(await readFile(file, "utf8")).toBe("canary\n");
      expect([existsSync(precious), existsSync(marker)]).toEqual([true, false]);
      await reins.answer(approved, "allow_once");
      const denied = await reins.pending();
      expect(existsSync(marker)).toBe(true);
      await rm(marker);
      await reins.answer(denied, "deny", "not today");
      if (children) await reins.answer(await reins.pending(), "allow_once");
      await run;
      expect([existsSync(marker), existsSync(child)]).toEqual([false, children !== undefined]);
      expect(room.results).toContain("it would destroy something outside of the workspace");
      expect(room.results).toContain("not today");
      const { approvals } = await reins.fetched("/v1/approvals?state=used");
      expect(approvals.map(({ id }: { id: string }) => id)).toContain(approved);

      // An agent may be gone before the hook that reports its end.
      const state = async () => (await reins.fetched("/v1/sessions")).sessions[0]?.state;
      await expect.poll(state).toBe(ENDS.includes(agent) ? "closed" : "idle");
      await expect.poll(async () => (await recorded(room, "turn")).length).toBe(1);
      const found = await recorded(room, "policy_verdict", "tool_result", "turn", "session_lifecycle");
      const isBegin = ({ payload }: (typeof found)[number]) => payload.change === "session_start";
      const ordered = BEGINS_WITH_PROMPT.includes(agent)
        ? [...found.filter(isBegin), ...found.filter((entry) => !isBegin(entry))]
        : found;
      const isOfPrompt = ({ target, payload }: (typeof found)[number]) =>
        target === "fs/read_text_file" || payload.event_type === "pre_prompt";
      const begun = ordered.findIndex(({ payload }) => payload.event_type === "pre_prompt");
      const repeated = ordered.filter((entry, one) => one > begun && isOfPrompt(entry));
      expect(repeated.length > 0).toBe(REPEATS.includes(agent));
      const entries = ordered.filter((entry) => !repeated.includes(entry));
      const kinds = entries.map(({ quality, payload }) =>
        payload.event_type === "pre_action"
          ? payload.verdict
          : (payload.change ?? payload.event_type ?? quality),
      );
      const own = [
        ...["session_start", ...(readsNamed ? ["allowed"] : []), "pre_prompt", "allowed", "tool_result"],
        ...["blocked", "ask", "allowed", "tool_result", "ask"],
      ];
      const ends = ["turn", ...(ENDS.includes(agent) ? ["session_end"] : [])];
      expect(kinds.slice(0, own.length)).toEqual(own);
      expect(kinds.slice(children ? -ends.length : own.length)).toEqual(ends);
      const [prompt, call, result, , , allowed, ran] = entries.slice(readsNamed ? 2 : 1);
      const subject = { agent, user: "operator", trust: "registered" };
      expect(call.payload).toMatchObject({ enforcement: "asked", subject });
      expect(result.payload).toMatchObject({ outcome: "completed", verdict: call.cid });
      expect(ran.payload).toMatchObject({ outcome: "completed", verdict: allowed.cid });
      const [turn] = entries.filter(({ quality }) => quality === "turn");
      expect(turn.payload).toMatchObject({ stop_reason: "end_turn" });
      const before = readsNamed ? [entries[1].cid] : [];
      expect(turn.payload.entries.slice(0, before.length + 2)).toEqual([...before, prompt.cid, call.cid]);
      const { sessions } = await reins.fetched("/v1/sessions");
      const shown = { agent, title: expect.stringContaining("TRY it"), cwd: workspace, enforcement: "asked" };
      expect(sessions).toMatchObject([shown]);
      expect(sessions[0].event_count).toBeGreaterThan(2);

      if (children) {
        const known = entries.filter(({ payload }) => payload.event_type !== "pre_prompt");
        const from = known.findIndex(({ payload }) => payload.change === "subagent_start");
        const [start, below, found, stop] = known.slice(from);
        const typesOf = [start, below, found, stop].map(({ quality, payload }) => [
          payload.change ?? payload.event_type ?? quality,
          payload.subject?.subagent?.type,
        ]);
        const [kind, acting] = children;
        expect(typesOf).toEqual([
          ["subagent_start", kind],
          ["pre_action", acting],
          ["tool_result", undefined],
          ["subagent_stop", kind],
        ]);
        expect(below.payload.subject).toMatchObject({ depth: 1, started: "sub-agent" });
        expect(below.payload.subject.subagent.id).toBe(start.payload.subject.subagent.id);
        expect(found.payload).toMatchObject({ outcome: "completed", verdict: below.cid });
      }

      if (readsNamed) {
        const given = () => JSON.stringify(room.model.requests.map(({ conversation }) => conversation));
        expect(given()).toContain("the quiet word");
        expect(entries[1]).toMatchObject({
          target: "fs/read_text_file",
          payload: { verdict: "allowed", facts: { effects: [{ kind: "read" }] } },
        });
        const key = join(workspace, ".ssh", "id_rsa");
        await mkdir(dirname(key));
        await writeFile(key, "the secret word\n");
        await symlink(key, join(workspace, "harmless.txt"));
        await room.prompt(
          `TRY @.ssh/id_rsa @${key} @"./.ssh/id_rsa" @harmless.txt (@note.txt/../.ssh/id_rsa) again`,
        );
        expect(given()).not.toContain("the secret word");
        const prompts = (await recorded(room, "policy_verdict")).filter(
          ({ payload }) => payload.event_type === "pre_prompt",
        );
        expect(prompts.at(-1).payload.verdict).toBe("blocked");
      }
      expect(await reins.run("ledger", "verify")).toMatchObject({ code: 0 });
    });

    test("does nothing unasked in a hostile repository, whatever happens to Reins and to the hook", async () => {
      await using room = await installed({ reads: "allow" });
      const { reins, workspace } = room;
      await makeHostile(room, hookAgent(agent).hostile[0]?.files);
      await writeFile(join(workspace, "note.txt"), "the quiet word\n");
      const [away, late, lost] = ["away", "late", "lost"].map((name) => join(workspace, `${name}.txt`)) as [
        string,
        string,
        string,
      ];
      const precious = join(room.user, "precious.txt");
      await writeFile(precious, "mine");
      const { marker, intent } = await asked(room);
      const [up, ended, broken] = [
        Promise.withResolvers<void>(),
        Promise.withResolvers<void>(),
        Promise.withResolvers<void>(),
      ];
      const steps = [
        ...[reply(attempt(look(join(workspace, "note.txt")))), reply(attempt(write(away, "x")))],
        ...[reply(hold(up.promise), attempt(lookAround(`rm -rf ${precious}`))), reply(attempt(intent))],
        reply(hold(ended.promise), attempt(write(late, "x"))),
        reply(hold(broken.promise), attempt(write(lost, "x"))),
        reply(say("Tried.")),
      ];
      room.model.play(scenes(scene("TRY", ...steps)));
      const run = room.prompt("TRY it");

      // Reins does not run: reads pass, where the agent has tools that only read.
      await expect.poll(() => room.resultCount).toBe(2);
      expect(room.results).toContain("reins up");
      expect([room.results.includes("the quiet word"), existsSync(away)]).toEqual([agent !== "codex", false]);

      // It is started, and restarted in the middle of a question.
      const before = await reins.up();
      up.resolve();
      const id = await reins.pending();
      expect([existsSync(precious), existsSync(marker)]).toEqual([true, false]);
      expect(room.results).toContain("it would destroy something outside of the workspace");
      // A verdict that allows nothing is written a moment after the approval; a kill in between loses its entry.
      await expect.poll(() => verdicts(room)).toEqual(["blocked", "ask"]);
      await before.kill();
      expect(existsSync(marker)).toBe(false);
      await reins.up();
      await reins.answer(id, "allow_once");
      await expect.poll(() => room.resultCount).toBe(4);
      expect(existsSync(marker)).toBe(true);
      expect(await verdicts(room)).toEqual(["blocked", "ask", "allowed"]);

      // The session is ended in Reins.
      const { sessions } = await reins.fetched("/v1/sessions");
      await reins.done("kill", "--session", sessions[0].id);
      ended.resolve();
      // An agent that says its prompt again with the result of the call ends there.
      const endsThere = REPEATS.includes(agent);
      if (endsThere) await run;
      else await expect.poll(() => room.results).toContain("the session was ended in Reins");
      expect(existsSync(late)).toBe(false);

      // The hook itself is gone.
      await writeFile(join(reins.path, "hooks", "reins-hook.mjs"), "throw new Error('broken')\n");
      broken.resolve();
      await run;
      expect(room.resultCount).toBe(endsThere ? 4 : 6);
      if (endsThere) await room.attempt(write(lost, "x"));
      expect([existsSync(lost), existsSync(precious)]).toEqual([false, true]);
      expect(await verdicts(room)).toEqual(["blocked", "ask", "allowed"]);
      expect(await recorded(room, "tool_result")).toHaveLength(1);
    });

    test("does nothing while Reins does not run, and says how to start it", async () => {
      await using room = await installed();
      const file = join(room.workspace, "inside.txt");
      const run = await room.attempt(write(file, "canary\n"));
      expect(existsSync(file)).toBe(false);
      if (SAYS.includes(agent)) expect(run.stdout + run.stderr).toContain("reins up");
    });

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
        await room.prompt("/clean");
        expect(existsSync(precious)).toBe(true);
        const run = room.prompt("/script");
        const id = await room.reins.pending();
        expect(existsSync(marker)).toBe(false);
        await room.reins.answer(id, "allow_once");
        await run;
        expect(existsSync(marker)).toBe(true);
        expect(await verdicts(room)).toEqual(["blocked", "ask", "allowed"]);
      },
    );

    test("is proved by a trial, which shows what a hostile repository can do", async () => {
      await using room = await TerminalRoom.open(agent);
      const { command, args } = room.launch;
      const program = command === process.execPath ? (args[0] ?? "") : command;
      const at = ["--program", program, "--folder", room.workspace, "--json"];
      const status = async () => {
        const { code, stdout } = await room.run("hooks", "status", agent, ...at);
        return { code, ...JSON.parse(stdout) };
      };
      expect(await room.run("hooks", "install", agent)).toMatchObject({ code: 0 });
      if (hookAgent(agent).needsReview) {
        const unreviewed = expect.arrayContaining(["preToolUse"]);
        expect(await status()).toMatchObject({ code: 1, live: false, unreviewed });
      }
      await room.review();
      // The trial is about the hooks of the user, not about this folder.
      const off = hookAgent(agent).hostile.find(({ name }) => name === "hooks switched off");
      await makeHostile(room, agent === AGENTS[0] ? off?.files : {});
      const { code, probes, ...report } = await status();
      const weak = WEAK[agent] ?? [];
      expect(report).toMatchObject({
        ...{ installed: "yes", running: false, live: true, unreviewed: [], hostile: weak.length === 0 },
        here:
          agent === AGENTS[0]
            ? { live: false, switched_off_by: join(room.workspace, Object.keys(off?.files ?? {})[0] ?? "") }
            : { live: true },
      });
      const open = probes.filter(({ held }: { held: boolean }) => !held);
      expect(open.map(({ setting }: { setting: string }) => setting)).toEqual(weak);
      expect(code).toBe(agent === AGENTS[0] ? 1 : 0);
      if (hookAgent(agent).needsReview) {
        expect(await room.run("hooks", "install", agent, "--wait", "30")).toMatchObject({ code: 0 });
        expect(await status()).toMatchObject({ code: 1, live: false });
      }
      await room.run("hooks", "uninstall", agent);
      expect(await room.run("hooks", "status", agent)).toMatchObject({ code: 1 });
    });
  },
);

test.skipIf(!registryAnswers)(
  `an agent in a terminal does nothing while a person takes longer than a minute${NEEDS_REGISTRY}`,
  async () => {
    const all = (await patience).map(({ results, ...each }) => ({
      ...each,
      gaveUp: results.includes("stays open"),
    }));
    const impatient = (agent: string) => hookAgent(agent).longestWait !== undefined;
    expect(all).toEqual(
      AGENTS.map((agent) => ({ agent, before: false, gaveUp: impatient(agent), after: true })),
    );
  },
  LONG_MS * 5,
);
