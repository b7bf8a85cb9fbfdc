import { describe, expect, test } from "vitest";
import { EventSequence, PendingSessions, type SessionRequest } from "./sessions.ts";

test("event numbers grow and start above those of a server before the restart", () => {
  const sequence = new EventSequence({ messages: 2, entries: 3 });
  const numbers = ["a", "b"].map((text) => sequence.number({ type: "text_delta", text }));
  expect(numbers).toEqual([
    { type: "text_delta", text: "a", seq: 21 },
    { type: "text_delta", text: "b", seq: 22 },
  ]);
  const next = new EventSequence({ messages: 0, entries: 0 });
  next.follow(sequence);
  expect(next.number({ type: "text_delta", text: "c" }).seq).toBe(23);
  sequence.follow(new EventSequence({ messages: 0, entries: 0 }));
  expect(sequence.number({ type: "text_delta", text: "d" }).seq).toBe(23);
});

describe("sessions whose agent is not available", () => {
  const ada = { id: "ada", tenant: "default" };
  const request = (session_key: string, backend = "stub"): SessionRequest => ({
    ...{ agent_id: "coder", session_key, backend, mode: "domain" },
    requested: new Date(0),
  });

  test("belong to their principal and tenant", () => {
    const pending = new PendingSessions();
    pending.keep(ada, request("key"));
    expect(pending.get(ada, "key")?.request.backend).toBe("stub");
    expect(pending.get({ ...ada, id: "bob" }, "key")).toBeUndefined();
    expect(pending.get({ ...ada, tenant: "other" }, "key")).toBeUndefined();
    pending.forget(ada, "key");
    expect(pending.get(ada, "key")).toBeUndefined();
  });

  test("keep their event numbers when they are requested again", () => {
    const pending = new PendingSessions();
    pending.keep(ada, request("key"));
    pending.get(ada, "key")?.sequence.number({ type: "text_delta", text: "" });
    pending.keep(ada, request("key", "other"));
    const { request: latest, sequence } = pending.get(ada, "key") ?? {};
    expect(latest?.backend).toBe("other");
    expect(sequence?.number({ type: "text_delta", text: "" }).seq).toBe(2);
  });

  test("are bounded in number: the least recently used is dropped", () => {
    const pending = new PendingSessions();
    for (let count = 0; count <= 1_000; count += 1) pending.keep(ada, request(`key-${count}`));
    expect(pending.get(ada, "key-0")).toBeUndefined();
    expect(pending.get(ada, "key-1")).toBeDefined();
  });
});
