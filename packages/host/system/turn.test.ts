import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeyFolder, Ledger, ledgerTables } from "@reins/ledger";
import { openSqlite } from "@reins/store";
import { Harness, harnessTables, type Subject, writeFirstFiles } from "@reins/supervisor";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { GovernorContext } from "../src/governor/context.ts";
import { GovernedSession } from "../src/governor/governed-session.ts";
import {
  ConstitutionalPreparation,
  manifestOf,
  type TurnCircumstances,
  TurnContext,
} from "../src/turn/turn-context.ts";
import { MemoryMessaging } from "./fixtures/messaging.ts";

const ROSTER = [
  { session_id: "reed", kind: "role", state: "live", mandate: "mandates/reed.md" },
  { session_id: "coder", kind: "agent", state: "live" },
  { session_id: "gone", kind: "role", state: "dead", mandate: "mandates/reed.md" },
  { session_id: "stray", kind: "agent", state: "live", mandate: "../../etc/passwd.md" },
];

let home: string;
let harness: Harness;
let close: () => Promise<void>;
let messaging: MemoryMessaging;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "reins-turn-"));
  await mkdir(join(home, "mandates"));
  writeFileSync(join(home, "mandates/reed.md"), "Keep the library in order.\n");
  writeFileSync(
    join(home, "agent-roster.jsonl"),
    ROSTER.map((entry) => `${JSON.stringify(entry)}\n`).join(""),
  );
  await writeFirstFiles(home);
  const tables = [ledgerTables, ...harnessTables];
  const store = await openSqlite({ path: join(home, "reins.db"), tables });
  const signers = new KeyFolder(join(home, "keys"));
  const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/turn" });
  harness = await Harness.open({ home, userHome: home, store, ledger });
  close = async () => {
    await harness.close();
    await ledger.close();
    await store.close();
  };
});
afterAll(async () => {
  await close();
  await rm(home, { recursive: true, force: true });
});
beforeEach(() => {
  messaging = new MemoryMessaging();
});

/** An agent as the harness sees it. */
function known(agent: string): Subject {
  return {
    user: "ada",
    tenant: "default",
    roles: [],
    scopes: [],
    agent,
    trust: harness.policies.roster.trustOf(agent),
    session: `session-of-${agent}`,
    started: "interactive",
    chain: [],
    depth: 0,
    mode: "default",
    enforcement: "asked",
  };
}

function newContext(): TurnContext {
  return new TurnContext({ harness, messaging });
}

function textsOf(prompt: readonly unknown[]): string[] {
  return prompt.map((block) => String(Object(block).text));
}

/** A turn whose prompt the agent got. */
async function delivered(context: TurnContext, circumstances: TurnCircumstances, contextTokens = 0) {
  const turn = await context.compose(PROMPT, circumstances);
  await turn.end({ delivered: true, contextTokens });
  return turn;
}

const PROMPT = [
  { type: "text", text: "Fix the build.", annotations: { audience: ["assistant"] }, _meta: { mine: 1 } },
  { type: "resource_link", uri: "file:///x", name: "x" },
];

describe("manifest", () => {
  test("unknown agents get default mandate", async () => {
    const manifest = await manifestOf(known("stranger"), harness);
    expect(manifest).toMatchObject({
      trust: "unknown",
      mandate: expect.stringContaining("ask a person to\nregister you"),
    });
    expect(manifest.mandate).toBe(harness.policies.inForce.get("default")?.file.default_mandate);
  });

  test("standing agents recognized", async () => {
    expect(await manifestOf(known("reed"), harness)).toMatchObject({
      trust: "standing",
      mandate: "Keep the library in order.\n",
      constitutionHash: harness.policies.inForce.get("default")?.hashes.constitution_hash,
    });
  });

  test("dead agents become unknown", async () => {
    const { trust, mandate } = await manifestOf(known("gone"), harness);
    expect(trust).toBe("unknown");
    expect(mandate).not.toContain("library");
  });

  test("who only claims a name on the roster does not get its mandate", async () => {
    const { mandate } = await manifestOf({ ...known("reed"), trust: "unknown" }, harness);
    expect(mandate).not.toContain("library");
  });

  test("registered agents without a mandate have a sensible one", async () => {
    const { trust, mandate, fault } = await manifestOf(known("coder"), harness);
    expect([trust, fault]).toEqual(["registered", undefined]);
    expect(mandate).toContain("Do what the user asks of you");
  });

  test("a mandate that cannot be read is reported", async () => {
    const { mandate, fault } = await manifestOf(known("stray"), harness);
    expect(mandate).toContain("Do what the user asks of you");
    expect(fault).toContain('the mandate "../../etc/passwd.md" of "stray": there is no such file');
  });
});

describe("a turn", () => {
  test("has mail at position 0, then the preamble, then the user's own blocks as they came", async () => {
    await messaging.mailbox.send({ from: "ada", to: "reed", subject: "hi", body: "the build is red" });
    await messaging.board.post("bob", "on it");
    const { prompt, mail, faults } = await newContext().compose(PROMPT, {
      subject: known("reed"),
      tools: [{ name: "read_file" }],
    });
    expect(prompt).toHaveLength(4);
    const [first, second] = textsOf(prompt);
    expect(prompt[0]).toEqual({ type: "text", text: first, annotations: { audience: ["assistant"] } });
    expect(first).toBe("[mail from ada] the build is red");
    expect(second).toMatch(/^# Constitution\n/);
    for (const part of [
      "Keep the library in order.",
      "> [bob] on it",
      "- read_file",
      "Trust level: standing",
    ])
      expect(second).toContain(part);
    expect(second).toMatch(/\n\[constitution: [0-9a-f]{64}\]$/);
    expect(prompt.slice(2)).toEqual(PROMPT);
    expect(faults).toEqual([]);
    const [entry] = await harness.ledger.read({ order: "newest", limit: 1 });
    expect(entry?.entry).toMatchObject({ cid: mail.entries[0], quality: "mailbox_inject", actor: "reed" });
  });

  test("says the preamble once, and again only when it has changed", async () => {
    const context = newContext();
    const subject = known("coder");
    const first = await delivered(context, { subject });
    const second = await delivered(context, { subject });
    expect([first.prompt.length, second.prompt.length]).toEqual([3, 2]);
    expect(second.prompt).toEqual(PROMPT);
    await messaging.board.post("bob", "news");
    const third = await delivered(context, { subject });
    expect(textsOf(third.prompt)[0]).toContain("> [bob] news");
    expect(await delivered(context, { subject })).toMatchObject({ prompt: PROMPT });
  });

  test("says the preamble and the mail again after a prompt that came to nothing", async () => {
    const context = newContext();
    const subject = known("coder");
    await messaging.mailbox.send({ from: "ada", to: "coder", subject: "", body: "do not lose me" });
    const failed = await context.compose(PROMPT, { subject });
    await failed.end({ delivered: false, contextTokens: 0 });
    const again = await delivered(context, { subject });
    expect(again.prompt).toHaveLength(4);
    expect(textsOf(again.prompt)[0]).toContain("do not lose me");
    expect((await delivered(context, { subject })).prompt).toEqual(PROMPT);
  });

  test("says the preamble again to an agent that has compacted its context", async () => {
    const context = newContext();
    const subject = known("coder");
    await delivered(context, { subject }, 1_000);
    expect((await delivered(context, { subject }, 90_000)).prompt).toEqual(PROMPT);
    expect((await delivered(context, { subject }, 12_000)).prompt).toEqual(PROMPT);
    expect((await delivered(context, { subject }, 13_000)).prompt).toHaveLength(3);
    expect((await delivered(context, { subject }, 14_000)).prompt).toEqual(PROMPT);
  });

  test("leaves the preamble to the system prompt of an agent that has one for it, in every turn", async () => {
    const context = newContext();
    const subject = known("reed");
    for (const _ of ["first", "second"]) {
      const { prompt, instructions } = await delivered(context, { subject, inSystemPrompt: true });
      expect(prompt).toEqual(PROMPT);
      expect(instructions).toMatch(/^# Constitution\n/);
      expect(instructions).toContain("Keep the library in order.");
      expect(instructions).toMatch(/\n\[constitution: [0-9a-f]{64}\]$/);
    }
  });

  test("has the mail that came since the last one", async () => {
    const context = newContext();
    const subject = known("coder");
    await delivered(context, { subject });
    await messaging.mailbox.send({ from: "ada", to: "coder", subject: "", body: "one" });
    const { prompt } = await delivered(context, { subject });
    expect(prompt).toHaveLength(3);
    expect(textsOf(prompt)[0]).toContain("one");
    expect((await delivered(context, { subject })).prompt).toEqual(PROMPT);
  });

  test("leaves an agent's own command alone, and says everything with the next prompt", async () => {
    const context = newContext();
    const subject = known("coder");
    await messaging.mailbox.send({ from: "ada", to: "coder", subject: "", body: "one" });
    const command = [{ type: "text", text: "/compact now" }];
    const commands = ["compact"];
    expect(await context.compose(command, { subject, commands })).toMatchObject({
      prompt: command,
      mail: { text: undefined },
    });
    expect((await context.compose(PROMPT, { subject, commands })).prompt).toHaveLength(4);
    const path = [{ type: "text", text: "/etc/hosts says what?" }];
    await messaging.board.post("bob", "changed");
    expect((await context.compose(path, { subject, commands })).prompt).toHaveLength(2);
  });

  test("goes on when mandate, board or mailbox cannot be read, and says each fault once", async () => {
    messaging.faults.board.push("board.md is a folder");
    messaging.faults.mailbox.push("a line that is no message", "board.md is a folder");
    const { prompt, faults } = await newContext().compose(PROMPT, { subject: known("stray") });
    expect(prompt).toHaveLength(3);
    expect(faults).toEqual([
      expect.stringContaining("the mandate"),
      "board.md is a folder",
      "a line that is no message",
    ]);
  });

  test("has neither mail nor board where there is no messaging", async () => {
    const { prompt, mail, faults } = await new TurnContext({ harness }).compose(PROMPT, {
      subject: known("reed"),
    });
    expect(textsOf(prompt)[0]).toMatch(/^# Constitution\n/);
    expect([prompt.length, mail.text, faults]).toEqual([3, undefined, []]);
  });
});

describe("the governor's preparation of turns", () => {
  function newSession(id: string): GovernedSession {
    const record = {
      id,
      key: `coder:acp:${id}`,
      agent: "coder",
      tenant: "default",
      user: "ada",
      principal: "local",
      agent_session_id: id,
      cwd: home,
      additional_directories: [],
      mode: "domain" as const,
      state: "idle" as const,
      title: undefined,
      metadata: {},
      created_at: "2026-01-02T03:04:05Z",
      last_activity: "2026-01-02T03:04:05Z",
    };
    const port = {
      record,
      clients: { notify: () => undefined, request: () => Promise.reject(new Error("none")) },
    };
    return new GovernedSession(
      {} as GovernorContext,
      {
        ...port,
        started: async () => undefined,
        modeSet: async () => undefined,
        stopped: async () => undefined,
      },
      { cwd: home, roots: [home], tools: "acp" },
    );
  }

  test("tells each session its own preamble, and gives the entries of the mail to the turn", async () => {
    const faults: string[] = [];
    const tools = new Map<string, { name: string }[]>();
    const toolsOf = (id: string) => tools.get(id) ?? [];
    for (const id of ["one", "two", "three"]) tools.set(id, [{ name: `tool-of-${id}` }]);
    const more = { params: {}, inSystemPrompt: false };
    const preparation = new ConstitutionalPreparation({
      harness,
      messaging,
      offers: {
        own: new Map([["coder", []]]),
        gate: async ({ id }) => ({ tools: toolsOf(id), entries: [] }),
      },
      onFault: (fault) => faults.push(fault),
    });
    const [one, two] = [newSession("one"), newSession("two")];
    await messaging.mailbox.send({ from: "ada", to: "coder", subject: "", body: "for the first to come" });
    const first = await preparation.compose(one, known("coder"), PROMPT, more);
    const second = await preparation.compose(two, known("coder"), PROMPT, more);
    expect(first.entries).toHaveLength(1);
    expect(second.entries).toEqual([]);
    expect(textsOf(first.prompt)[1]).toContain("- tool-of-one");
    expect(textsOf(second.prompt)[0]).toContain("- tool-of-two");
    for (const turn of [first, second]) await turn.end({ delivered: true, contextTokens: 0 });
    const third = await preparation.compose(one, known("coder"), PROMPT, more);
    expect(third.prompt).toEqual(PROMPT);
    await third.end({ delivered: false, contextTokens: 0 });
    expect((await preparation.compose(one, known("coder"), PROMPT, more)).prompt).toHaveLength(3);
    expect((await preparation.compose(two, known("coder"), PROMPT, more)).prompt).toEqual(PROMPT);
    await preparation.compose(newSession("three"), known("stray"), PROMPT, more);
    expect(faults).toHaveLength(1);
  });
});
