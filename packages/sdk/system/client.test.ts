import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { client } from "@agentclientprotocol/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentRegistryServer, acpProgram } from "../../agents/test/agent-registry.ts";
import { tarOf } from "../../agents/test/archives.ts";
import {
  ApiError,
  type CheckpointStore,
  ConnectionError,
  connect,
  type ElicitationAnswer,
  type KeptCheckpoint,
  LedgerProofError,
  type PermissionAnswer,
  type PromptEvent,
  type ReinsClient,
} from "../src/index.ts";
import { socketStream } from "../src/socket-stream.ts";
import type { StartedServer } from "../src/start.ts";
import { makeRoom, type Room, startIn } from "./fixtures/server.ts";

let room: Room;
let reins: StartedServer;
/** A registry with one agent. */
let published: AgentRegistryServer;
const archive = gzipSync(tarOf([{ name: "tiny", text: acpProgram("1.0.0") }]));
let permission: PermissionAnswer = "allow";
const form: ElicitationAnswer = { action: "accept", content: { name: "Ada" } };

beforeAll(async () => {
  room = await makeRoom();
  published = await AgentRegistryServer.listen();
  published.files.set("/tiny.tgz", archive);
  const platform = `${process.platform}-${process.arch === "arm64" ? "aarch64" : "x86_64"}`;
  const binary = { [platform]: { archive: `${published.origin}/tiny.tgz`, cmd: "tiny" } };
  published.agents = [{ id: "tiny", name: "Tiny", version: "1.0.0", distribution: { binary } }];
  const env = { REINS_ACP_REGISTRY_URL: published.url };
  reins = await startIn(room, { env, onPermission: () => permission, onElicitation: () => form });
});
afterAll(async () => {
  await reins?.close();
  await published?.[Symbol.asyncDispose]();
  await room?.remove();
});

const scripted = (of: ReinsClient = reins) => of.sessions.create({ agent: "scripted" });

async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const event of events) found.push(event);
  return found;
}

const textOf = (events: readonly PromptEvent[]) =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

describe("a turn", () => {
  test("yields typed events from its prompt to its end, with the verdict on each call", async () => {
    const session = await reins.sessions.create();
    const turn = session.prompt("what is in this folder");
    const events = await collect(turn);
    expect(events[0]).toMatchObject({ type: "prompt", prompt: turn.id, text: "what is in this folder" });
    expect(events.at(-1)).toMatchObject({ type: "end", stopReason: "end_turn" });
    expect(textOf(events)).toContain("package.json");
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "tool",
        verdict: expect.objectContaining({ verdict: "allowed", enforcement: "performed" }),
      }),
    );
    await expect(turn.result()).rejects.toThrow("can be read once");
  });

  test("waits in the queue for an earlier one, and each gets its own events", async () => {
    const session = await scripted();
    const [first, second] = await Promise.all([
      collect(session.prompt("count 30")),
      collect(session.prompt("count 3")),
    ]);
    expect(textOf(first).trim().split(" ")).toHaveLength(30);
    expect(textOf(second)).toBe("1 2 3 ");
  });

  test("is cancelled by its signal, and by leaving the loop", async () => {
    const session = await scripted();
    const abort = new AbortController();
    const events: PromptEvent[] = [];
    for await (const event of session.prompt("count 100000", { signal: abort.signal })) {
      events.push(event);
      if (event.type === "text") abort.abort();
    }
    expect(events.at(-1)).toMatchObject({ type: "end", stopReason: "cancelled" });
    for await (const event of session.prompt("count 100000")) if (event.type === "text") break;
    expect((await session.prompt("count 2").result()).text).toBe("1 2 ");
  });

  test("is cancelled in the queue, without its agent, and is refused by a full one", async () => {
    const session = await scripted();
    const running = session.prompt("count 100000");
    const first = running.result();
    const queued = Array.from({ length: 8 }, () => session.prompt("count 1"));
    const results = queued.map((turn) => turn.result());
    await expect(session.prompt("count 1").result()).rejects.toMatchObject({ code: -32011 });
    for (const turn of queued) turn.cancel();
    for (const result of results) expect(await result).toMatchObject({ stopReason: "cancelled", text: "" });
    running.cancel();
    expect((await first).stopReason).toBe("cancelled");
  });

  test("whose reader pauses loses nothing", async () => {
    const session = await scripted();
    let seen = 0;
    for await (const event of session.prompt("count 200")) {
      if (event.type !== "text") continue;
      seen += 1;
      expect(event.text).toBe(`${seen} `);
      // A request inside of the loop is answered while events wait.
      if (seen === 50) await reins.sessions.get(session.id);
    }
    expect(seen).toBe(200);
  });
});

test("one connection serves sessions that are created at once, and ends with close", async () => {
  const opened: string[] = [];
  const counted: typeof fetch = (url, init) => {
    if (String(init?.body).includes('"initialize"')) opened.push(String(url));
    return fetch(url, init);
  };
  await using many = await connect(reins.url, { token: reins.token, fetch: counted });
  const sessions = await Promise.all(Array.from({ length: 10 }, () => scripted(many)));
  const results = await Promise.all(sessions.map((session) => session.prompt("count 5").result()));
  expect(new Set(results.map(({ text }) => text))).toEqual(new Set(["1 2 3 4 5 "]));
  expect(opened).toHaveLength(1);
});

describe("questions", () => {
  test("are answered by the handlers", async () => {
    const session = await scripted();
    permission = "allow";
    expect((await session.prompt("ask").result()).text).toBe("yes");
    permission = "deny";
    expect((await session.prompt("ask").result()).text).toContain("no");
    expect((await session.prompt("form").result()).text).toBe("accept Ada");
  });

  test("that a client leaves open are approvals for another, each yielded once", async () => {
    await using asking = await connect(reins.url, { token: reins.token });
    const session = await scripted(asking);
    const stop = new AbortController();
    const answered: string[] = [];
    const bot = (async () => {
      for await (const { id, session: of, tool } of reins.approvals.pending({ signal: stop.signal })) {
        await reins.approvals.answer(id, "allow_once", { note: "by a test" });
        answered.push(`${tool} ${of === session.id || of !== ""}`);
      }
    })();
    expect((await session.prompt("ask").result()).text).toBe("yes");
    expect((await session.prompt("ask").result()).text).toBe("yes");
    stop.abort();
    await bot;
    expect(answered).toHaveLength(2);
    const [approval] = await collect(reins.approvals.list({ order: "newest" }));
    await expect(reins.approvals.answer(approval!.id, "deny")).rejects.toMatchObject({
      name: "ApiError",
      status: 409,
      code: "conflict",
    });
  });
});

describe("sessions", () => {
  test("are listed, resumed by another client, followed, forked and deleted", async () => {
    const session = await scripted();
    await session.prompt("count 3").result();
    await using other = await connect(reins.url, { token: reins.token });
    const listed = await collect(other.sessions.list({ agent: "scripted" }));
    expect(listed.map(({ id }) => id)).toContain(session.id);

    const resumed = await other.sessions.resume(session.id);
    const stop = new AbortController();
    const followed: string[] = [];
    const following = (async () => {
      for await (const event of resumed.events({ signal: stop.signal })) {
        if (event.type === "text") followed.push(event.text);
        if (followed.length === 2) stop.abort();
      }
    })();
    // The subscription begins with the first step of the iterator, which needs a moment.
    await expect.poll(() => session.prompt("count 2").result()).toMatchObject({ text: "1 2 " });
    await following;
    expect(followed).toEqual(["1 ", "2 "]);

    const past = await collect(resumed.history());
    expect(past.filter(({ type }) => type === "text").length).toBeGreaterThanOrEqual(5);
    await session.close();
    expect((await resumed.prompt("count 1").result()).text).toBe("1 ");
    await session.delete();
    await expect(session.prompt("count 1").result()).rejects.toMatchObject({ code: -32002 });
  });

  test("of the native agent fork", async () => {
    const session = await reins.sessions.create({ mode: "persistent" });
    await session.prompt("hello").result();
    const fork = await session.fork();
    expect(fork.id).not.toBe(session.id);
    expect(await reins.sessions.get(fork.id)).toMatchObject({ metadata: { forked_from: session.id } });
  });
});

describe("errors", () => {
  test("have a type and a code", async () => {
    const refused = await connect(reins.url, { token: "wrong" }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ApiError);
    expect(refused).toMatchObject({ status: 401, code: "unauthenticated" });
    await expect(reins.sessions.get("none")).rejects.toMatchObject({ status: 404, code: "not_found" });
    await expect(reins.sessions.create({ agent: "unheard-of" })).rejects.toMatchObject({ code: "invalid" });
    await expect(reins.sessions.create({ cwd: "/nowhere" })).rejects.toMatchObject({ name: "RequestError" });
    const gone = await connect("http://127.0.0.1:1", { token: "x" }).catch((error: unknown) => error);
    expect(gone).toBeInstanceOf(ConnectionError);
    expect(gone).toMatchObject({ code: "unreachable" });
    await expect(reins.sessions.get("x", { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow(
      "enough",
    );
  });
});

describe("the ledger", () => {
  test("is compared with a kept checkpoint, and its entries are proved", async () => {
    let stored: KeptCheckpoint | undefined;
    const checkpoints: CheckpointStore = {
      load: () => stored,
      save: (checkpoint) => {
        stored = checkpoint;
      },
    };
    await using first = await connect(reins.url, { token: reins.token, checkpoints });
    const before = stored!.size;
    await (await scripted()).prompt("count 1").result();
    await using second = await connect(reins.url, { token: reins.token, checkpoints });
    expect(stored!.size).toBeGreaterThan(before);
    expect(first.self).toEqual(second.self);

    const { value: newest } = await second.ledger.entries().next();
    const { report } = await second.ledger.prove(newest!.entry.cid, { kept: stored });
    expect(report.ok).toBe(true);
    stored = { ...stored!, note: stored!.note.replace(/\n\w/, "\nA") };
    const changed = connect(reins.url, { token: reins.token, checkpoints });
    await expect(changed).rejects.toBeInstanceOf(LedgerProofError);
    const key = `${stored.logKey.slice(0, -2)}AA`;
    await expect(second.ledger.checkpoint({ kept: { ...stored, logKey: key } })).rejects.toBeInstanceOf(
      LedgerProofError,
    );
  });

  test("is followed from a place, without a gap", async () => {
    const stop = new AbortController();
    const seen: number[] = [];
    for await (const { seq } of reins.ledger.follow({ after: 0, signal: stop.signal })) {
      seen.push(seq);
      if (seen.length === 5) stop.abort();
    }
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });
});

describe("files", () => {
  /** Pieces of one megabyte, as they are asked for; notes how many were, and whether the rest was given up. */
  function megabytes(count: number) {
    const state = { made: 0, ended: false };
    const pieces = (async function* () {
      try {
        for (; state.made < count; state.made += 1) yield new Uint8Array(1 << 20).fill(state.made);
      } finally {
        state.ended = true;
      }
    })();
    return { state, pieces };
  }

  test("are written, read whole or in parts, listed, moved and deleted", async () => {
    const { files } = reins;
    expect(await files.write("a/b.txt", "0123456789")).toMatchObject({ bytesWritten: 10 });
    const whole = await files.read("a/b.txt");
    expect(whole).toMatchObject({ size: 10, version: expect.any(String) });
    expect(await whole.text()).toBe("0123456789");
    const { version } = whole;
    const part = await files.read("a/b.txt", { start: 4, end: 7, version });
    expect([part.size, await part.text()]).toEqual([10, "456"]);
    await files.write("a/b.txt", new Blob(["something else"]));
    for (const start of [0, 4])
      await expect(files.read("a/b.txt", { start, version })).rejects.toMatchObject({ code: "conflict" });
    await expect(files.read("a/b.txt", { start: 99 })).rejects.toMatchObject({
      code: "range_not_satisfiable",
    });
    for (const wrong of [{ start: -1 }, { start: 0.5 }, { start: 2, end: 2 }, { end: Number.NaN }])
      await expect(files.read("a/b.txt", wrong)).rejects.toThrow(RangeError);
    await files.mkdir("a/c");
    await files.move("a/b.txt", "a/c/d.txt");
    expect(await files.stat("a/c/d.txt")).toMatchObject({ entryType: "file", size: 14 });
    expect((await files.list("a/c")).map(({ name }) => name)).toEqual(["d.txt"]);
    await expect(files.delete("a")).rejects.toMatchObject({ code: "conflict" });
    await files.delete("a", { recursive: true });
    await expect(files.stat("a")).rejects.toMatchObject({ code: "not_found" });
    await expect(files.write("../outside", "x")).rejects.toBeInstanceOf(ApiError);
    await expect(files.uploadBatch("no archive")).rejects.toMatchObject({ code: "invalid" });
  });

  test("wait for a person where the policy asks", async () => {
    const path = join(dirname(room.workspace), "beside.txt");
    const stop = new AbortController();
    const written = reins.files.write(path, "x");
    written.catch(() => undefined);
    for await (const { id } of reins.approvals.pending({ signal: stop.signal })) {
      await reins.approvals.answer(id, "deny");
      stop.abort();
    }
    await expect(written).rejects.toMatchObject({ name: "ApiError", code: "forbidden" });
  });

  test("are streamed both ways; leaving the loop ends the transfer", async () => {
    const { state, pieces } = megabytes(24);
    await reins.files.write("large", pieces);
    expect(state).toEqual({ made: 24, ended: true });
    let length = 0;
    for await (const chunk of await reins.files.read("large", { start: 1 << 20 })) length += chunk.length;
    expect(length).toBe(23 << 20);
    for await (const chunk of await reins.files.read("large")) {
      expect(chunk[0]).toBe(0);
      break;
    }
    await reins.files.delete("large");
  });

  test("that are refused or aborted while they are sent leave nothing, and the source ends", async () => {
    const refused = megabytes(64);
    await expect(reins.files.write("../large", refused.pieces)).rejects.toBeInstanceOf(ApiError);
    await expect.poll(() => refused.state.ended).toBe(true);
    const abort = new AbortController();
    const aborted = megabytes(64);
    const write = reins.files.write("aborted", aborted.pieces, { signal: abort.signal });
    await expect.poll(() => aborted.state.made).toBeGreaterThan(0);
    abort.abort(new Error("enough"));
    await expect(write).rejects.toThrow("enough");
    await expect.poll(() => aborted.state.ended).toBe(true);
    const broken = (async function* () {
      yield new Uint8Array(1 << 20);
      throw new Error("the disk is gone");
    })();
    await expect(reins.files.write("broken", broken)).rejects.toThrow("the disk is gone");
    const names = (await reins.files.list()).map(({ name }) => name);
    expect(names).not.toContain("aborted");
    expect(names).not.toContain("broken");
  });
});

test("agents are listed and installed with progress", async () => {
  expect((await reins.agents.list()).map(({ agent }) => agent)).toEqual(
    expect.arrayContaining(["native", "scripted"]),
  );
  expect(await reins.agents.get("scripted")).toMatchObject({ name: "Scripted" });
  const progress = await collect(reins.agents.install("native")).catch((error: unknown) => error);
  expect(progress).toBeInstanceOf(ApiError);
});

test("an agent of a registry is installed and removed with progress", async () => {
  const sha256 = createHash("sha256").update(archive).digest("hex");
  const installing = await collect(reins.agents.install("tiny", { sha256 }));
  expect(installing.at(-1)).toMatchObject({
    phase: "installed",
    install: { version: "1.0.0", provenance: "registry", artifact: { sha256, checked: true } },
  });
  expect(installing.slice(0, -1).map(({ phase }) => phase)).not.toContain("failed");
  expect(await reins.agents.get("tiny")).toMatchObject({ installed: true, modes: { currentModeId: "ask" } });
  expect(await collect(reins.agents.remove("tiny"))).toEqual([{ phase: "removed", removed: true }]);
  await expect(reins.agents.get("tiny")).rejects.toMatchObject({ code: "not_found" });
});

test("an agent that asks is verified with progress, and its level is asked from then on", async () => {
  const steps = await collect(reins.agents.verify("honest"));
  const probed = steps.flatMap((step) => (step.phase === "probing" ? [step.done] : []));
  expect(probed).toEqual(probed.map((_, index) => index));
  expect([probed.length > 10, steps.at(-1)]).toMatchObject([
    true,
    { phase: "verified", verification: { state: "verified", live: true, level: "asked" } },
  ]);
  expect(await reins.agents.get("honest")).toMatchObject({ verification: { state: "verified", live: true } });
});

test("a graph runs, each action under a verdict", async () => {
  const executor = { type: "tool", target: "list_files" };
  const declaration = {
    type: "agent.protocol",
    version: "1",
    intent: "execute",
    title: "Look",
    payload: {
      type: "action_graph",
      actions: [{ type: "action", id: "look", title: "Look", executor, input: {} }],
    },
  };
  const { run_id } = await reins.runs.start({ declaration, cwd: room.workspace });
  await expect
    .poll(() => reins.runs.graph(run_id))
    .toMatchObject({ status: "completed", actions: [{ id: "look", verdict: expect.any(String) }] });
  expect((await reins.runs.list()).map((run) => run.run_id)).toContain(run_id);
});

describe("a stream over a WebSocket", () => {
  test("carries a turn of the official client, with the token and the agent that it was given", async () => {
    const { url, token } = reins;
    const texts: string[] = [];
    const app = client().onNotification("session/update", ({ params: { update } }) => {
      if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
        texts.push(update.content.text);
    });
    const ended = await app.connectWith(socketStream(url, { token, agent: "scripted" }), async (agent) => {
      await agent.request("initialize", { protocolVersion: 1 });
      const { sessionId } = await agent.request("session/new", { cwd: room.workspace, mcpServers: [] });
      return agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "count 3" }] });
    });
    expect([ended.stopReason, texts]).toEqual(["end_turn", ["1 ", "2 ", "3 "]]);
  });

  test("fails without a token that is valid", async () => {
    const opened = client().connectWith(socketStream(reins.url, { token: "reins_wrong" }), (agent) =>
      agent.request("initialize", { protocolVersion: 1 }),
    );
    await expect(opened).rejects.toThrow();
  });
});
