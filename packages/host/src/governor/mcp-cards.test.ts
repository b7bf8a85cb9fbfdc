import { Catalogue } from "@reins/agents";
import type { Decided } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import type { SessionPort } from "../control/ask-clients.ts";
import type { GovernorContext } from "./context.ts";
import { GovernedSession, Turn } from "./governed-session.ts";
import {
  dropPermit,
  isMcpCall,
  keepVerdict,
  type McpVerdict,
  mcpToolOf,
  namesInAgent,
  noteTool,
  permitMcpCall,
  takePermit,
  takeVerdict,
} from "./mcp-cards.ts";

const entry = Catalogue.load().entry("claude");
const [NAME = ""] = namesInAgent(entry, "files", "read");

/** A session of an agent, with a tool that a server of it has. */
function open({ isRevoked = false } = {}) {
  const identity = {
    current: async () => {
      if (isRevoked) throw new Error("the token was revoked");
    },
    subjectFor: (claimed: object) => claimed,
  };
  const context = { entry, harness: { identity }, principal: {} } as unknown as GovernorContext;
  const port = { record: { id: "s", agent_session_id: "a" }, clients: {} } as unknown as SessionPort;
  const session = new GovernedSession(context, port, { cwd: "/w", roots: ["/w"] });
  session.beginTurn(new Turn("t1", "2026-01-01T00:00:00.000Z", () => []));
  noteTool(session, { server: "files", tool: "read" });
  const card = (id: string, rawInput?: unknown, name = NAME) =>
    session.toolCalls.note({ sessionUpdate: "tool_call", toolCallId: id, title: name, name, rawInput });
  return { session, card };
}

const VERDICT = { verdict: "allowed", reason: "r", enforcement: "performed", entry: "cid" } as Decided;
const ALLOWED = { kind: "allowed", verdict: VERDICT } as const;
const verdictOn = (given: unknown): McpVerdict => ({
  names: namesInAgent(entry, "files", "read"),
  arguments: given,
  meta: Promise.resolve({ reins: {} }),
});
const callOf = (given?: object) => ({ server: "files", tool: "read", ...(given && { arguments: given }) });
type Call = Parameters<typeof takePermit>[1];

describe("the MCP tool of a call", () => {
  test("is found by the names that its agent gives it, and by no other", () => {
    const { session, card } = open();
    expect(mcpToolOf(session, card("1"))).toEqual({ server: "files", tool: "read" });
    expect(isMcpCall(session, card("2", undefined, "mcp.files.read"))).toBe(true);
    expect(mcpToolOf(session, card("3", undefined, "Bash"))).toBeUndefined();
    expect(isMcpCall(session, card("4", undefined, "mcp.other.read"))).toBe(false);
  });

  test("is none where two tools could have that name, and is one where it was noted twice", () => {
    const { session, card } = open();
    noteTool(session, { server: "files", tool: "read" });
    expect(mcpToolOf(session, card("1"))).toEqual({ server: "files", tool: "read" });
    session.mcpTools.set(NAME, [
      { server: "files", tool: "read" },
      { server: "file", tool: "s_read" },
    ]);
    expect(mcpToolOf(session, card("2"))).toBeUndefined();
  });
});

describe("a permit of a call", () => {
  const permitted = (rawInput: unknown, options = {}) => {
    const { session, card } = open(options);
    const call = card("1", rawInput);
    permitMcpCall(session, call, { server: "files", tool: "read", enforced: ALLOWED, turn: session.turn });
    return { session, card, call, take: (given?: object) => takePermit(session, callOf(given) as Call) };
  };

  test("is used once, by a call with the same arguments", async () => {
    const { take, session } = permitted({ path: "a" });
    expect(await take({ path: "b" })).toBeUndefined();
    expect(await take()).toBeUndefined();
    expect(await take({ path: "a" })).toBe(ALLOWED);
    expect(await take({ path: "a" })).toBeUndefined();
    expect(session.toolCalls.get("1")?.permit).toMatchObject({ kind: "elsewhere", entry: "cid" });
  });

  test.each([
    [undefined, {}],
    [{ arguments: { path: "a" } }, { path: "a" }],
    [{ server: "files", tool: "read", input: { path: "a" } }, { path: "a" }],
    [
      { arguments: { path: "a" }, other: 1 },
      { arguments: { path: "a" }, other: 1 },
    ],
  ])("is for the arguments that %j holds", async (rawInput, given) => {
    expect(await permitted(rawInput).take(given)).toBe(ALLOWED);
  });

  test("ends with its turn", async () => {
    const cancelled = permitted({});
    cancelled.session.turn?.cancel("cancelled");
    expect(await cancelled.take({})).toBeUndefined();
    const next = permitted({});
    next.session.beginTurn(new Turn("t2", "2026-01-01T00:00:01.000Z", () => []));
    expect(await next.take({})).toBeUndefined();
  });

  test("is for nothing once the rights of its session are gone", async () => {
    const { take, session } = permitted({}, { isRevoked: true });
    expect(await take({})).toBeUndefined();
    expect(session.mcpPermits).toEqual([]);
  });

  test("can be withdrawn until it is used", async () => {
    const { take, session, call } = permitted({});
    expect(await take({})).toBe(ALLOWED);
    expect(dropPermit(session, call)).toBe(false);
    const unused = permitted({});
    expect(dropPermit(unused.session, unused.call)).toBe(true);
    expect(await unused.take({})).toBeUndefined();
  });

  test("is one of a bounded number, the newest of which count", () => {
    const { session, card } = open();
    for (let count = 0; count < 250; count += 1)
      permitMcpCall(session, card(`c${count}`, { count }), {
        ...{ server: "files", tool: "read", enforced: ALLOWED, turn: session.turn },
      });
    expect(session.mcpPermits).toHaveLength(200);
    expect(session.mcpPermits[0]).toMatchObject({ card: "c50" });
  });
});

describe("the verdict of the gateway on a call that ends", () => {
  test("is that on the same tool and arguments, once", () => {
    const { session, card } = open();
    keepVerdict(session, verdictOn({ path: "a" }));
    expect(takeVerdict(session, card("1", { path: "b" }))).toBeUndefined();
    expect(takeVerdict(session, card("2", { path: "a" }))?.meta).toBeInstanceOf(Promise);
    expect(takeVerdict(session, card("3", { path: "a" }))).toBeUndefined();
  });

  test("is that on the exact arguments before one of an agent that reports none", () => {
    const { session, card } = open();
    keepVerdict(session, verdictOn({ path: "a" }));
    keepVerdict(session, verdictOn({}));
    expect(takeVerdict(session, card("1"))?.meta).toBeInstanceOf(Promise);
    expect(session.mcpVerdicts.map((verdict) => verdict.arguments)).toEqual([{ path: "a" }]);
    expect(takeVerdict(session, card("2"))).toEqual({});
    expect(takeVerdict(session, card("3"))).toBeUndefined();
  });

  test("is none for a card of another tool, whatever its arguments are", () => {
    const { session, card } = open();
    keepVerdict(session, verdictOn({ path: "a" }));
    expect(takeVerdict(session, card("1", { path: "a" }, "Bash"))).toBeUndefined();
  });

  test("goes back to the others where its card says something else in the end", () => {
    const { session, card } = open();
    session.mcpCards.set("1", verdictOn({ path: "a" }));
    expect(takeVerdict(session, card("1", { path: "b" }))).toBeUndefined();
    expect(takeVerdict(session, card("2", { path: "a" }))).toBeDefined();
    session.mcpCards.set("3", verdictOn({ path: "a" }));
    expect(takeVerdict(session, card("3", { path: "a" }))).toEqual({});
    expect(session.mcpCards.size).toBe(0);
  });
});
