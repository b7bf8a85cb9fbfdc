import { AhpServer, type Handlers } from "@reins/ahp";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { observed } from "./observed.ts";

function watch(handlers: Handlers, level = "debug") {
  const entries: Record<string, unknown>[] = [];
  const log = pino({ level, base: null }, { write: (line) => void entries.push(JSON.parse(line)) });
  return { entries, server: new AhpServer(observed(handlers, log)) };
}

const event = {
  event_type: "pre_action",
  session_id: "s",
  agent_id: "a",
  timestamp: "t",
  depth: 0,
  payload: {},
};
const message = JSON.stringify({ jsonrpc: "2.0", id: "1", method: "ahp/event", params: event });

describe("observed handlers", () => {
  it("answer as before and leave a trace", async () => {
    class Rules implements Handlers {
      readonly #reason = "private";
      event() {
        return { decision: "block", reason: this.#reason } as const;
      }
    }
    const { entries, server } = watch(new Rules());
    expect(await server.handleMessage(message)).toContain('"reason":"private"');
    expect(entries).toEqual([
      expect.objectContaining({ handler: "event", decision: "block", msg: "answered" }),
    ]);
  });

  it("that fail are told of", async () => {
    const failing: Handlers = {
      event() {
        throw new Error("no database");
      },
    };
    const { entries, server } = watch(failing, "info");
    expect(await server.handleMessage(message)).toContain("Handler error: no database");
    expect(entries).toEqual([expect.objectContaining({ error: "no database", msg: "a handler failed" })]);
    expect(entries[0]).not.toHaveProperty("stack");
  });

  it("are missing where they were missing", async () => {
    const { server } = watch({ event: () => ({ decision: "allow" }) });
    const query = { jsonrpc: "2.0", id: "1", method: "ahp/query" };
    const params = { session_id: "s", agent_id: "a", query_type: "q", payload: {} };
    expect(await server.handleMessage(JSON.stringify({ ...query, params }))).toContain("Query not supported");
  });
});
