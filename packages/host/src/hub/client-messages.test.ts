import { MOST_MESSAGE_BYTES } from "@reins/bridge";
import type { Principal } from "@reins/supervisor";
import { describe, expect, test } from "vitest";
import type { SessionRecord } from "../sessions/session-record.ts";
import { ClientMessages } from "./client-messages.ts";
import type { Hub } from "./hub.ts";

const ADA = { id: "ada", tenant: "t" } as Principal;
const SESSION = { id: "s", agent: "native" } as SessionRecord;

/** A session whose agent has a turn under way, in a tool call or not, and whose prompts the test answers. */
function messages({ isTurn = false, isInCall = false } = {}) {
  const did: string[] = [];
  const prompts: PromiseWithResolvers<unknown>[] = [];
  const settled = Promise.withResolvers<void>();
  const turnOver = Promise.withResolvers<void>();
  const governed = {
    turn: isTurn ? {} : undefined,
    hasToolCalls: isInCall,
    toolCalls: { settled: () => settled.promise },
    turnOver: turnOver.promise,
  };
  const governor = {
    session: () => governed,
    notification: async (method: string) => void did.push(method),
  };
  const hub = {
    onError: (error: Error) => void did.push(`error ${error.message}`),
    live: () => ({ agent: { governor } }),
    connect: async ({ principal }: { principal: Principal }) => ({
      request: (_: string, { prompt }: { prompt: { text: string }[] }) => {
        did.push(`prompt of ${principal.id}: ${prompt[0]?.text.slice(0, 9)}`);
        prompts.push(Promise.withResolvers());
        return prompts.at(-1)?.promise;
      },
    }),
    disconnect: () => did.push("disconnected"),
  };
  const made = new ClientMessages(hub as unknown as Hub);
  const send = (content: unknown, mode?: string, method = "user_message") =>
    made.takes(ADA, SESSION, method, { content, mode });
  return { send, did, prompts, governed, settled, turnOver };
}

const settle = () => new Promise(setImmediate);

describe("a message of a client", () => {
  test.each(["user_message", "session/input", "agent/user_message"])("%s is a prompt", async (method) => {
    const { send, did, prompts } = messages();
    expect(send("hello", undefined, method)).toBe(true);
    await settle();
    prompts[0]?.resolve({});
    await settle();
    expect(did).toEqual(["prompt of ada: hello", "disconnected"]);
  });

  test.each([
    ["text that is empty", "user_message", ""],
    ["no text", "user_message", 7],
    ["another notification", "agent/resume", "hello"],
  ])("is not taken from %s", (_, method, content) => {
    const { send, did } = messages();
    expect(send(content, undefined, method)).toBe(false);
    expect(did).toEqual([]);
  });

  test.each(["interrupt", "interrupt_immediate"])("with %s ends the turn in a tool call", async (mode) => {
    const { send, did } = messages({ isTurn: true, isInCall: true });
    send("now", mode);
    await settle();
    expect(did).toContain("session/cancel");
  });

  test.each(["finish_step", "after_current_operation"])(
    "with %s ends the turn when the tool call under way is over",
    async (mode) => {
      const { send, did, settled } = messages({ isTurn: true, isInCall: true });
      send("then", mode);
      await settle();
      expect(did).not.toContain("session/cancel");
      settled.resolve();
      await settle();
      expect(did).toContain("session/cancel");
    },
  );

  test("with finish_step ends no turn that began after its own was over", async () => {
    const { send, did, governed, turnOver } = messages({ isTurn: true, isInCall: true });
    send("then", "finish_step");
    governed.turn = {};
    turnOver.resolve();
    await settle();
    expect(did).not.toContain("session/cancel");
  });

  test.each([
    ["wait_for_completion", { isTurn: true, isInCall: true }],
    ["finish_step", {}],
    ["interrupt", {}],
  ])("with %s cancels nothing where nothing is to end", async (mode, state) => {
    const { send, did } = messages(state);
    send("later", mode);
    await settle();
    expect(did).not.toContain("session/cancel");
  });

  test("is refused where too many wait, or too many bytes, until some are answered", async () => {
    const many = messages();
    for (let count = 0; count < 64; count += 1) many.send("x");
    expect(() => many.send("x")).toThrow("too many messages wait");
    const large = messages();
    large.send("é".repeat(MOST_MESSAGE_BYTES / 2));
    expect(() => large.send("x")).toThrow("too many messages wait");
    await settle();
    large.prompts[0]?.reject(new Error("blocked"));
    await settle();
    expect(large.send("x")).toBe(true);
    expect(large.did).toContain("error blocked");
  });
});
