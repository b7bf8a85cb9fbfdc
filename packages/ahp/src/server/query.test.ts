import { describe, expect, test } from "vitest";
import { ask } from "../../test/messages.ts";
import type { QueryRequest, QueryResponse } from "../protocol/messages.ts";
import type { Call } from "./handlers.ts";
import { AhpServer } from "./server.ts";

const event = () => ({ decision: "allow" as const });
const question = { session_id: "s", agent_id: "a", query_type: "which", payload: { stranger: [1] } };

describe("a question", () => {
  test.each<[string, QueryResponse]>([
    ["with everything", { answer: { x: 1 }, reason: "r", alternatives: ["b"] }],
    ["with null", { answer: null }],
    ["with false", { answer: false }],
  ])("is answered %s", async (_, response) => {
    const server = new AhpServer({ event, query: async () => response });
    expect((await ask(server, "ahp/query", question)).result).toEqual(response);
  });

  test("reaches the handler as its type, beside the message as it came", async () => {
    const seen: { request: QueryRequest; call: Call }[] = [];
    const server = new AhpServer({
      event,
      query(request, call) {
        seen.push({ request, call });
        return { answer: 1 };
      },
    });
    await ask(server, "ahp/query", { ...question, stranger: 1 });
    expect(seen[0]?.request).toEqual(question);
    expect(seen[0]?.call.text).toContain('"stranger":1');
    expect(seen[0]?.call.signal.aborted).toBe(false);
  });

  test("needs every member", async () => {
    const server = new AhpServer({ event, query: () => ({ answer: 1 }) });
    const { payload: _, ...rest } = question;
    const { error } = await ask(server, "ahp/query", rest);
    expect(error?.message).toBe("Invalid params: missing field `payload`");
  });

  test("that the handler leaves without an answer is an error", async () => {
    const server = new AhpServer({ event, query: () => JSON.parse('{"reason":"r"}') });
    const { error } = await ask(server, "ahp/query", question);
    expect(error?.message).toBe("Handler error: Invalid decision: missing field `answer`");
  });
});
