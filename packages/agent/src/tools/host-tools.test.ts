import { CODE, RpcError } from "@reins/acp";
import { VolatileMemory, type WorkerUpdate } from "@reins/bridge";
import { ManualClock, settled } from "@reins/kit/manual-clock";
import { describe, expect, onTestFinished, test } from "vitest";
import { toolContext, use } from "../../test/tool-context.ts";
import { testWorkspace } from "../../test/workspace.ts";
import { allTools, updatePlan } from "./all-tools.ts";
import { askPerson } from "./ask-person.ts";
import type { ClientToolService, HostServices, Mail, PersonService, SubagentTask } from "./host-services.ts";
import { clientTools, postBoard, readBoard, readMailbox, remember, sendMessage } from "./host-tools.ts";
import { spawnSubagent } from "./spawn-subagent.ts";

/** A host with mail and board in memory and scripted subagents. */
function host(run: (task: SubagentTask, signal: AbortSignal) => Promise<string> = async () => "done") {
  const mail: Mail[] = [];
  const board: string[] = [];
  const services: HostServices = {
    mail: {
      send: async (sessionId, { subject, body }) =>
        void mail.push({ from: sessionId, subject, body, timestamp: "now" }),
      unread: async () => mail,
    },
    board: {
      read: async (_, lines) => board.slice(-lines),
      post: async (sessionId, content) => void board.push(`[${sessionId}] ${content}`),
    },
    subagents: { run },
  };
  return { services, mail, board };
}

async function contextWith(services: HostServices, more: Partial<Parameters<typeof toolContext>[1]> = {}) {
  const { cwd } = await testWorkspace();
  return toolContext(cwd, { services, ...more });
}

describe("mail", () => {
  test("that is sent can be read", async () => {
    const { services } = host();
    const context = await contextWith(services);
    expect((await use(readMailbox, {}, context)).text).toBe("No unread messages.");
    await use(sendMessage, { to: "reed", subject: "hi", body: "all is well" }, context);
    expect((await use(readMailbox, {}, context)).text).toBe(
      "from: session-1\ntime: now\nsubject: hi\n\nall is well",
    );
  });

  test("needs a recipient, a subject and a text", async () => {
    const context = await contextWith(host().services);
    for (const given of [{ subject: "s", body: "b" }, { to: "x", body: "b" }, { to: "x", subject: "s" }, {}])
      await expect(use(sendMessage, given, context)).rejects.toThrow(
        expect.objectContaining({ code: "malformed" }),
      );
  });
});

describe("a question to the person", () => {
  const given = { question: "Which one?", choices: ["this", "that"] };
  const asking = (ask: PersonService["ask"], more: Parameters<typeof contextWith>[1] = {}) =>
    contextWith({ person: { ask } }, more);

  test("is a form with the choices, and its result is the answer", async () => {
    const asked: unknown[] = [];
    const context = await asking(async (...question) => {
      asked.push(question.slice(0, 2));
      return { action: "accept", content: { answer: "that" } };
    });
    expect(await use(askPerson, given, context)).toEqual({ text: "The person answers: that" });
    const answer = { type: "string", title: "Answer", enum: ["this", "that"] };
    const requestedSchema = { type: "object", properties: { answer }, required: ["answer"] };
    expect(asked).toEqual([["session-1", { message: "Which one?", requestedSchema }]]);
  });

  test.each([
    ["the person declined", { action: "decline" }],
    ["the person did not answer", { action: "cancel" }],
    ["the person did not answer", undefined],
    ["none of those", { action: "accept", content: { answer: "neither" } }],
    ["none of those", { action: "accept", content: { answer: 7 } }],
    ["none of those", { action: "accept" }],
  ])("fails where %s (%j)", async (reason, answered) => {
    const context = await asking(async () => answered);
    await expect(use(askPerson, given, context)).rejects.toThrow(reason);
  });

  test("fails where no client can show it, and where there is no person", async () => {
    const unserved = await asking(async () => {
      throw new RpcError(CODE.methodNotFound, "no client of the session offers it");
    });
    await expect(use(askPerson, given, unserved)).rejects.toThrow("no program of the person can show");
    await expect(use(askPerson, given, await contextWith({}))).rejects.toThrow(
      "there is no person to ask here",
    );
  });

  test("is withdrawn when its time is over, and with its turn", async () => {
    const clock = new ManualClock();
    let withdrawn = 0;
    const ask: PersonService["ask"] = (_, __, signal) =>
      new Promise((___, reject) =>
        signal.addEventListener("abort", () => {
          withdrawn += 1;
          reject(signal.reason);
        }),
      );
    const waiting = use(askPerson, { ...given, wait_minutes: 5 }, await asking(ask, { clock }));
    waiting.catch(() => undefined);
    await clock.advanceAndSettle(5 * 60_000 - 1);
    expect(withdrawn).toBe(0);
    await clock.advanceAndSettle(1);
    await expect(waiting).rejects.toThrow("no answer came within 5 minutes");
    const turn = new AbortController();
    const cancelled = use(askPerson, given, await asking(ask, { clock, signal: turn.signal }));
    cancelled.catch(() => undefined);
    await settled();
    turn.abort(new Error("the turn was cancelled"));
    await expect(cancelled).rejects.toThrow("the turn was cancelled");
    expect([withdrawn, clock.waiting]).toEqual([2, 0]);
  });
});

describe("the board", () => {
  test("shows the last twenty posts, in the session's name", async () => {
    const { services, board } = host();
    const context = await contextWith(services);
    expect((await use(readBoard, {}, context)).text).toBe("The board is empty.");
    await use(postBoard, { content: "we are live" }, context);
    board.unshift(...Array.from({ length: 30 }, (_, index) => `line ${index}`));
    const lines = (await use(readBoard, {}, context)).text.split("\n");
    expect(lines).toHaveLength(20);
    expect(lines.at(-1)).toBe("[session-1] we are live");
    expect((await use(readBoard, { lines: 1 }, context)).text).toBe("[session-1] we are live");
  });
});

describe("a subagent", () => {
  const shown = () => {
    const updates: WorkerUpdate[] = [];
    return { updates, onWorker: async (update: WorkerUpdate) => void updates.push(update) };
  };

  test("fails when its updates can no longer be delivered, and for no other reason", async () => {
    const unheard: unknown[] = [];
    const note = (reason: unknown) => void unheard.push(reason);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    const { services } = host(async ({ onProgress }) => {
      onProgress({ summary: "it works" });
      await new Promise((resolve) => setImmediate(resolve));
      return "done";
    });
    const onWorker = () => Promise.reject(new Error("the other side has gone"));
    const context = await contextWith(services, { onWorker });
    await expect(use(spawnSubagent, { prompt: "look" }, context)).rejects.toThrow("the other side has gone");
    expect(unheard).toEqual([]);
  });

  test("performs its task, and clients receive its progress", async () => {
    const { updates, onWorker } = shown();
    const { services } = host(async ({ prompt, onProgress }) => {
      onProgress({ audit: { parent_session_id: "session-1", session_id: "child" } });
      onProgress({}, "WorkerWaitingForInput");
      return `did: ${prompt}`;
    });
    const context = await contextWith(services, { onWorker });
    expect(await use(spawnSubagent, { prompt: "count" }, context)).toEqual({ text: "did: count" });
    expect(updates.map(({ status }) => status)).toEqual([
      "running",
      "progressed",
      "awaiting_input",
      "completed",
    ]);
    expect(updates.at(-1)).toMatchObject({
      workerTask: "count",
      workerMode: "sub_agent",
      terminal: true,
      audit: { parent_session_id: "session-1", session_id: "child" },
    });
  });

  test("that fails reports the reason", async () => {
    const { updates, onWorker } = shown();
    const { services } = host(async () => {
      throw new Error("no such agent");
    });
    const context = await contextWith(services, { onWorker });
    await expect(use(spawnSubagent, { prompt: "x" }, context)).rejects.toThrow(
      "the subagent failed: no such agent",
    );
    expect(updates.at(-1)).toMatchObject({ status: "failed", metadata: { error: "no such agent" } });
  });

  test("is cancelled with the turn", async () => {
    const { updates, onWorker } = shown();
    const turn = new AbortController();
    const { services } = host(
      (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    const context = await contextWith(services, { onWorker, signal: turn.signal });
    const running = use(spawnSubagent, { prompt: "x" }, context);
    await expect.poll(() => updates.length).toBe(1);
    turn.abort(new Error("cancelled"));
    await expect(running).rejects.toThrow("cancelled");
    expect(updates.at(-1)?.status).toBe("cancelled");
  });

  test("needs a prompt, and works within the workspace", async () => {
    const context = await contextWith(host().services);
    await expect(use(spawnSubagent, {}, context)).rejects.toThrow("prompt");
    await expect(use(spawnSubagent, { prompt: "x", working_dir: "/" }, context)).rejects.toThrow(
      expect.objectContaining({ code: "outside" }),
    );
  });
});

describe("a remembered fact", () => {
  test("is available to later sessions of the same folder", async () => {
    const memory = new VolatileMemory();
    const context = await contextWith({}, { memory });
    await use(remember, { content: "the tests need a database" }, context);
    expect(await memory.recall({ query: "tests", limit: 1, workspace: context.roots.cwd })).toMatchObject([
      { content: "the tests need a database", source: "session:session-1" },
    ]);
    expect(await memory.recall({ query: "tests", limit: 1, workspace: "/elsewhere" })).toEqual([]);
  });
});

describe("the plan", () => {
  test("is shown as given, every entry with a priority", async () => {
    const entries = [
      { content: "look", status: "completed" },
      { content: "act", status: "pending", priority: "high" },
    ];
    expect((await use(updatePlan, { entries }, await contextWith({}))).plan).toEqual([
      { content: "look", status: "completed", priority: "medium" },
      { content: "act", status: "pending", priority: "high" },
    ]);
  });
});

describe("the tools on offer", () => {
  test("are those with an available service", () => {
    const bare = allTools({}, undefined).map(({ name }) => name);
    expect(bare).toEqual([
      "read_file",
      "list_files",
      "search",
      "ask_person",
      "write_file",
      "edit_file",
      "delete_file",
      "run_command",
      "read_command",
      "stop_command",
      "update_plan",
    ]);
    const all = allTools(host().services, new VolatileMemory()).map(({ name }) => name);
    expect(all).toHaveLength(17);
  });

  test("describe their arguments with a closed schema", () => {
    for (const { parameters, description } of allTools(host().services, new VolatileMemory())) {
      expect(parameters).toMatchObject({ type: "object", additionalProperties: false });
      expect(parameters).not.toHaveProperty("$schema");
      expect(description).not.toBe("");
    }
  });
});

const service: ClientToolService = {
  offered: (sessionId) => [
    { name: `ring_${sessionId}`, description: "Rings", parameters: { type: "object" } },
  ],
  call: async (sessionId, name, input) => ({
    text: `${sessionId} ${name} ${JSON.stringify(input)}`,
    isError: false,
  }),
};

describe("a tool of the client", () => {
  test("is performed by the client of its own session", async () => {
    const { cwd } = await testWorkspace();
    const services = { clientTools: service };
    const context = toolContext(cwd, { services });
    const [ring] = clientTools(services, context.sessionId);
    if (!ring) throw new Error("nothing is offered");
    expect(ring).toMatchObject({ name: `ring_${context.sessionId}`, isReadOnly: false, isInner: false });
    expect(await use(ring, { times: 2 }, context)).toEqual({
      text: `${context.sessionId} ${ring.name} {"times":2}`,
      isError: false,
    });
    expect(() => ring.call("twice")).toThrow("are not an object");
  });

  test("is not offered without its service", () => {
    expect(clientTools({}, "s")).toEqual([]);
  });
});
