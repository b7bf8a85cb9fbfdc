import type { JsonObject } from "@reins/acp";
import { describe, expect, test } from "vitest";
import { GovernedSession } from "../governor/governed-session.ts";
import type { HostedAgent } from "../hosting/agent-host.ts";
import { Session } from "../sessions/session.ts";
import type { SessionEvent, SessionPhase } from "../sessions/session-state.ts";
import { agentOf, hasServers, relocate, rootsIn } from "./resume.ts";

/** A session whose agent resumes it by a method, or cannot; `resumed` is what the agent answers. */
function open({
  phase = "parked",
  resumes = true,
  answer = async () => ({ modes: "m" }),
  said = [],
  homes,
  keptIn,
}: {
  readonly phase?: SessionPhase;
  readonly resumes?: boolean;
  readonly answer?: () => Promise<JsonObject>;
  readonly said?: readonly JsonObject[];
  /** The homes of agents that the node has, and those in which the last turn was kept. */
  readonly homes?: string;
  readonly keptIn?: string;
} = {}) {
  const asked: { method: string; params: JsonObject }[] = [];
  const applied: string[] = [];
  const governor = {
    request: async (name: string, params: JsonObject) => {
      asked.push({ method: name, params });
      const result = await answer();
      if (name !== "session/close") session.phase = "idle";
      return result;
    },
    session: () => undefined,
  };
  const agent = { governor, resumeMethod: resumes ? "session/load" : undefined } as unknown as HostedAgent;
  const pages = [said.map((update, order) => ({ order, message: { params: { update } } }))];
  const pending = new AbortController();
  let assigned: HostedAgent | undefined;
  const session = {
    id: "s",
    phase,
    record: {
      id: "s",
      tenant: "t",
      agent: "stub",
      principal: "p",
      cwd: "/work",
      additional_directories: ["/more"],
      homes: keptIn,
    },
    hub: {
      homes,
      present: () => [],
      isConnected: () => true,
      harness: { identity: { current: async () => ({ id: "p" }) } },
      pool: {
        acquire: async () => agent,
        separates: () => false,
        confines: () => false,
        isMetered: () => false,
      },
      log: { written: async () => undefined, page: async () => pages.shift() ?? [] },
      onError: () => undefined,
    },
    pending: pending.signal,
    resumed: undefined,
    preface: undefined as string | undefined,
    assign: (given: HostedAgent) => {
      assigned = given;
    },
    get agent() {
      return session.phase === "idle" || session.phase === "running" ? (assigned ?? agent) : undefined;
    },
    get isReady(): boolean {
      return Reflect.get(Session.prototype, "isReady", session);
    },
    learn: () => undefined,
    apply: async ({ type }: SessionEvent) => {
      applied.push(type);
      if (type === "resume") session.phase = "resuming";
      if (type === "failed" || type === "agent_lost") session.phase = "parked";
      if (type === "retained") session.phase = "idle";
    },
  };
  return { session: session as unknown as Session, agent, asked, applied, pending };
}

const { signal } = new AbortController();

describe("the agent of a session", () => {
  test("is the one that has it", async () => {
    const { session, agent, asked } = open({ phase: "idle" });
    expect(await agentOf(session, { signal })).toBe(agent);
    expect(asked).toEqual([]);
  });

  test("is started once for all requests that wait for it, in the folders of the session", async () => {
    const { session, agent, asked, applied } = open();
    const agents = await Promise.all([agentOf(session, { signal }), agentOf(session, { signal })]);
    expect(agents).toEqual([agent, agent]);
    const params = { cwd: "/work", additionalDirectories: ["/more"], sessionId: "s" };
    expect(asked).toEqual([{ method: "session/load", params }]);
    expect(applied).toEqual(["resume"]);
    expect(session.resumed).toBeUndefined();
  });

  test("that cannot resume gets the conversation before the next prompt", async () => {
    const chunk = (sessionUpdate: string, text: string) => ({
      sessionUpdate,
      content: { type: "text", text },
    });
    const said = [
      chunk("user_message_chunk", "hello"),
      chunk("agent_message_chunk", "he"),
      chunk("agent_message_chunk", "y"),
      chunk("agent_thought_chunk", "secret"),
    ];
    const { session, asked } = open({ resumes: false, said });
    await agentOf(session, { signal });
    expect(asked).toMatchObject([{ method: "session/new" }]);
    expect(session.preface).toContain("User: hello\n\nYou: hey");
    expect(session.preface).not.toContain("secret");
  });

  test.each([
    ["is on the node that had its last turn", "one", ["session/load"], undefined],
    ["comes from another node", "two", ["session/new"], "User: hello"],
    ["comes from a node that did not say so", undefined, ["session/load", "session/new"], "User: hello"],
  ] as const)("of a session that %s has its conversation", async (_, keptIn, methods, preface) => {
    const said = [{ sessionUpdate: "user_message_chunk", content: { type: "text", text: "hello" } }];
    const { session, asked } = open({
      ...{ said, homes: "one", ...(keptIn && { keptIn }) },
      answer: async () => {
        if (!keptIn && asked.at(-1)?.method === "session/load") throw new Error("not found");
        return {};
      },
    });
    await agentOf(session, { signal });
    expect(asked.map(({ method }) => method)).toEqual(methods);
    expect(session.preface).toEqual(preface && expect.stringContaining(preface));
  });

  test("that fails to resume leaves the session parked, and rejects", async () => {
    const answer = () => Promise.reject(new Error("broken"));
    const { session, applied } = open({ answer });
    await expect(agentOf(session, { signal })).rejects.toThrow("broken");
    expect([applied, session.phase]).toEqual([["resume", "failed"], "parked"]);
  });

  test.each([
    ["nothing was said in it", [], ["session/load", "session/new"]],
    [
      "something was",
      [{ sessionUpdate: "user_message_chunk", content: { type: "text", text: "hello" } }],
      ["session/load"],
    ],
  ] as const)("that does not know the session gets a new one only where %s", async (_, said, methods) => {
    const { session, asked } = open({
      said: [...said],
      answer: async () => {
        if (asked.at(-1)?.method === "session/load") throw new Error("not found");
        return {};
      },
    });
    await agentOf(session, { signal }).catch(() => undefined);
    expect(asked.map(({ method }) => method)).toEqual(methods);
  });

  test("resumes an idle session anew that lacks the tools of a client, and no other", async () => {
    const { session, agent, asked, applied } = open({ phase: "idle" });
    const context = { servers: { wrapLocal: () => undefined }, profile: { isObserved: true }, entry: {} };
    const governed = {
      context,
      clients: { whoServes: () => "c1" },
      lentToolsChanged: undefined as unknown,
      get lacksLentTools(): boolean {
        return Reflect.get(GovernedSession.prototype, "lacksLentTools", governed);
      },
    };
    Object.assign(agent.governor, { session: () => governed });
    await agentOf(session, { signal });
    expect(asked.map(({ method }) => method)).toEqual(["session/close", "session/load"]);
    expect(applied).toEqual(["agent_lost", "resume"]);
    governed.lentToolsChanged = () => undefined;
    await agentOf(session, { signal });
    expect(asked).toHaveLength(2);
  });

  test("that resumed after the requests were cancelled closes the session again", async () => {
    const { session, applied, pending } = open({
      answer: async () => {
        pending.abort(new Error("cancelled"));
        return {};
      },
    });
    await expect(agentOf(session, { signal })).rejects.toThrow("cancelled");
    expect(applied).toEqual(["resume", "agent_lost"]);
  });

  test.each([
    ["ended", "there is no session"],
    ["interrupted", "Reins is stopping"],
  ] as const)("is none of a session that is %s", async (phase, reason) => {
    await expect(agentOf(open({ phase }).session, { signal })).rejects.toThrow(reason);
  });
});

describe("a session that a client moves to other folders", () => {
  const params = { cwd: "/other" };

  test("is resumed there by its agent", async () => {
    const { session, asked, applied } = open({ phase: "idle" });
    await relocate(session, { params, signal });
    expect(asked).toEqual([{ method: "session/load", params: { cwd: "/other", sessionId: "s" } }]);
    expect(applied).toEqual(["resume"]);
  });

  test("stays where it is without folders, or with the same", async () => {
    const { session, asked } = open({ phase: "idle" });
    await relocate(session, { params: {}, signal });
    await relocate(session, { params: { cwd: "/work", additionalDirectories: ["/more"] }, signal });
    expect(asked).toEqual([]);
  });

  test("is not moved in a turn, or by an agent that cannot resume", async () => {
    const running = open({ phase: "running" });
    await expect(relocate(running.session, { params, signal })).rejects.toThrow("a turn is under way");
    const forgetful = open({ phase: "idle", resumes: false });
    await expect(relocate(forgetful.session, { params, signal })).rejects.toThrow("cannot change that");
  });

  test("is parked if its agent lost it halfway", async () => {
    const { session, applied } = open({ phase: "idle", answer: () => Promise.reject(new Error("broken")) });
    await expect(relocate(session, { params, signal })).rejects.toThrow("broken");
    expect(applied).toEqual(["resume", "failed"]);
  });
});

test("the folders of a request are its cwd and the additional ones", () => {
  expect(rootsIn({ cwd: "/a", additionalDirectories: ["/b", 7] })).toEqual(["/a", "/b"]);
  expect(rootsIn({ additionalDirectories: ["/b"] })).toBeUndefined();
});

test("a session has MCP servers if its client names some, or it was started with some", () => {
  expect([{ mcpServers: [{}] }, { mcpServers: [] }, {}].map((params) => hasServers(params))).toEqual([
    true,
    false,
    false,
  ]);
  expect(hasServers({ mcpServers: [] }, { sealed_servers: "v1.x" })).toBe(true);
});
