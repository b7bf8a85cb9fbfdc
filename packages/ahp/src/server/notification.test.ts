import { describe, expect, test } from "vitest";
import { eventOf, notification, send } from "../../test/messages.ts";
import { EventType, isBlocking } from "../protocol/event.ts";
import type { EventCall, Handlers } from "./handlers.ts";
import { AhpServer, type ServerOptions } from "./server.ts";

const event = () => ({ decision: "allow" as const });

function serve(handlers: Partial<Handlers> = {}, options: ServerOptions = {}) {
  const seen: { type: EventType; call: EventCall }[] = [];
  const dropped: { reason: string; text: string }[] = [];
  const note = ({ event_type: type }: { event_type: EventType }, call: EventCall) =>
    void seen.push({ type, call });
  const server = new AhpServer(
    { event, notification: note, ...handlers },
    { onDropped: (reason, text) => dropped.push({ reason, text }), ...options },
  );
  return { server, seen, dropped };
}

describe("an event sent as a notification", () => {
  test.each(EventType.options.filter((type) => !isBlocking(type)))("%s reaches its handler", async (type) => {
    const { server, seen, dropped } = serve();
    expect(await send(server, notification(eventOf(type)))).toBeUndefined();
    expect(seen.map(({ type }) => type)).toEqual([type]);
    expect(dropped).toEqual([]);
  });

  test.each(EventType.options.filter(isBlocking))("%s is dropped: its sender must wait", async (type) => {
    const { server, seen, dropped } = serve();
    const text = notification(eventOf(type));
    expect(await send(server, text, { transport: "stdio" })).toBeUndefined();
    expect(seen).toEqual([]);
    const reason = `Handler error: Protocol error: Blocking event ${type} must be sent as a request`;
    expect(dropped).toEqual([{ reason, text }]);
  });

  test("comes with its context and the message as it came", async () => {
    const { server, seen } = serve();
    const text = notification(eventOf("success", { context: { current_task: "t" } }));
    await server.handleMessage(text);
    expect(seen[0]?.call).toMatchObject({ context: { current_task: "t" }, text });
  });
});

describe("a notification that cannot be taken", () => {
  const deep = eventOf("post_action", { depth: 11 });
  const badContract = eventOf("verification", { payload: { status: "maybe" } });
  const failing = {
    notification() {
      throw new Error("disk full");
    },
  };

  test.each([
    ["is too deep", notification(deep), {}, "Protocol error: Event depth 11 exceeds configured max depth 10"],
    [
      "is a contract with a bad payload",
      notification(badContract),
      {},
      "Serialization error: unknown variant `maybe`, expected one of " +
        "`pending`, `running`, `passed`, `failed`, `skipped`, `needs_review`",
    ],
    [
      "has params that cannot be read",
      '{"jsonrpc":"2.0","method":"ahp/event","params":5}',
      {},
      "Serialization error: invalid type: integer `5`, expected struct AhpEvent",
    ],
    ["makes its handler fail", notification(eventOf("post_action")), failing, "disk full"],
  ])("because it %s, is reported on a stream and answered over HTTP", async (_, text, handlers, reason) => {
    const { server, dropped } = serve(handlers);
    const message = `Handler error: ${reason}`;
    expect(await send(server, text, { transport: "unix" })).toBeUndefined();
    expect(dropped).toEqual([{ reason: message, text }]);
    const reply = await send(server, text, { transport: "http" });
    expect(reply).toMatchObject({ id: "", error: { code: -32603, message } });
    expect(dropped).toHaveLength(1);
  });
});

test.each(["ahp/handshake", "ahp/query", "ahp/batch", "ahp/nope", ""])(
  "%j without an id is ignored, also over HTTP",
  async (method) => {
    const { server, seen, dropped } = serve();
    const text = JSON.stringify({ jsonrpc: "2.0", method, params: eventOf("post_action") });
    expect(await send(server, text, { transport: "http" })).toBeUndefined();
    expect(seen).toEqual([]);
    expect(dropped).toEqual([]);
  },
);
