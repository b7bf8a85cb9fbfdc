import { expect, test } from "vitest";
import { AskedQuestions, SessionClients, type SessionMessage } from "./session-clients.ts";

test("a question that is withdrawn before there was room to ask it is withdrawn, and nothing else comes of it", async () => {
  const room = Promise.withResolvers<void>();
  const appended: unknown[] = [];
  const session = {
    id: "s",
    record: { tenant: "t", principal: "o" },
    prompting: undefined,
    appendFromAgent: ({ message }: SessionMessage) => {
      appended.push(message.method);
      return room.promise;
    },
    turnOver: async () => undefined,
  };
  const clients = new SessionClients(session, {
    harness: { redact: (value) => value },
    sessions: { asking: new AskedQuestions() },
    onError: () => undefined,
    present: () => [],
  });
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const turn = new AbortController();
  const asked = clients.request("session/request_permission", {}, turn.signal);
  turn.abort(new Error("the turn was cancelled"));
  await new Promise((resolve) => setImmediate(resolve));
  room.resolve();
  await expect(asked).rejects.toThrow("the turn was cancelled");
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
  expect(appended).toEqual(["session/request_permission", "$/cancel_request"]);
  expect(clients.questions).toEqual([]);
});
