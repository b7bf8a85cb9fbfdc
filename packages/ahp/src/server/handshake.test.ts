import { describe, expect, test } from "vitest";
import { ask, eventOf, handshakeOf } from "../../test/messages.ts";
import { memoryPeer } from "./handlers.ts";
import { AhpServer, type ServerOptions } from "./server.ts";
import type { Session } from "./sessions.ts";

/** Shakes hands; what the harness answered, and what its handlers see of it. */
async function shake(rest: Parameters<typeof handshakeOf>[0], options: ServerOptions = {}) {
  const sessions: (Session | undefined)[] = [];
  const server = new AhpServer(
    {
      event(_, { session }) {
        sessions.push(session);
        return { decision: "allow" };
      },
    },
    { newToken: () => "token", ...options },
  );
  const peer = memoryPeer();
  const { result, error } = await ask(server, "ahp/handshake", handshakeOf(rest), peer);
  await ask(server, "ahp/event", eventOf("pre_action"), peer);
  return { result, error, session: sessions[0] };
}

describe("the version", () => {
  test.each([
    ["2.4", "2.4"],
    ["2.3", "2.3"],
    ["2.0", "2.0"],
    ["2.5", "2.4"],
    ["2.10", "2.4"],
    ["2", "2.4"],
    ["2.", "2.4"],
    ["2.x", "2.4"],
    ["2.3.1", "2.4"],
    ["2.-1", "2.4"],
  ])("%s: both speak %s", async (theirs, settled) => {
    const { result, session } = await shake({ protocol_version: theirs });
    expect(result).toMatchObject({ protocol_version: settled });
    expect(session?.protocol_version).toBe(settled);
  });

  test.each(["3.0", "1.4", "", "v2.4", "2-beta.1", "02.4", " 2.4"])("%j is refused", async (theirs) => {
    const { error, session } = await shake({ protocol_version: theirs });
    expect(error).toEqual({
      code: -32000,
      message: `Unsupported protocol version: ${theirs}`,
      data: { reason: "unsupported_version", supported: "2.4" },
    });
    expect(session).toBeUndefined();
  });

  test("is always our own upstream", async () => {
    expect((await shake({ protocol_version: "2.1" }, { compat: true })).result).toMatchObject({
      protocol_version: "2.4",
    });
  });
});

describe("capabilities", () => {
  const agent = (...capabilities: string[]) => ({
    agent_info: { framework: "f", version: "1", capabilities },
  });

  test("that both sides have are settled, in the harness's order", async () => {
    const { session } = await shake(agent("batch", "streaming", "pre_action"));
    expect(session?.capabilities).toEqual(["pre_action", "batch"]);
  });

  test("that the harness has are all listed", async () => {
    const { result } = await shake(agent(), { info: { capabilities: ["x", "y"] } });
    expect(result).toMatchObject({ harness_info: { capabilities: ["x", "y"] } });
  });
});

describe("what the harness says of itself", () => {
  test("by default", async () => {
    expect((await shake({})).result).toEqual({
      protocol_version: "2.4",
      harness_info: {
        name: "ahp-server",
        version: "2.4.0",
        capabilities: [
          "pre_action",
          "post_action",
          "pre_prompt",
          "query",
          "batch",
          "run_lifecycle",
          "task_list",
          "verification",
        ],
      },
      session_token: "token",
      config: { timeout_ms: 10_000, batch_size: 100, max_depth: 10 },
    });
  });

  test("as configured; limits are replaced as a whole", async () => {
    const options = { info: { name: "mine", version: "9" }, config: { max_depth: 3 } };
    expect((await shake({}, options)).result).toMatchObject({
      harness_info: { name: "mine", version: "9" },
      config: { max_depth: 3 },
    });
    expect((await shake({}, { config: {} })).result).toMatchObject({ config: {} });
  });
});

describe("the session token", () => {
  test("is given by default, each time another and hard to guess", async () => {
    const server = new AhpServer({ event: () => ({ decision: "allow" }) });
    const tokens = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { result } = await ask(server, "ahp/handshake", handshakeOf());
        return String(Object(result).session_token);
      }),
    );
    expect(new Set(tokens).size).toBe(20);
    for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  test("is absent upstream", async () => {
    expect((await shake({}, { compat: true })).result).not.toHaveProperty("session_token");
  });
});

test("handlers see who shook hands", async () => {
  const { session } = await shake({ session_id: "S", agent_id: "A" });
  expect(session).toEqual({
    session_id: "S",
    agent_id: "A",
    agent_info: { framework: "f", version: "1", capabilities: [] },
    protocol_version: "2.4",
    capabilities: [],
    session_token: "token",
  });
});

test("a handshake may be made again; the last one counts", async () => {
  const seen: (string | undefined)[] = [];
  const server = new AhpServer({
    event(_, { session }) {
      seen.push(session?.agent_id);
      return { decision: "allow" };
    },
  });
  const peer = memoryPeer();
  await ask(server, "ahp/handshake", handshakeOf({ agent_id: "first" }), peer);
  await ask(server, "ahp/handshake", handshakeOf({ agent_id: "second" }), peer);
  await ask(server, "ahp/handshake", handshakeOf({ agent_id: "third", protocol_version: "3.0" }), peer);
  await ask(server, "ahp/event", eventOf("pre_action"), peer);
  expect(seen).toEqual(["second"]);
});
