import { describe, expect, test } from "vitest";
import { ofType, openRunner, textIn } from "./fixtures/haak.ts";

describe("a session", () => {
  test("gets a key when none is given, and an id that follows from it", async () => {
    const { haak, local, views } = await openRunner();
    const begun = await haak.init(local, { agent_id: "coder" });
    expect(begun).toMatchObject({ agent_id: "coder", trust: "registered", backend: "stub", mode: "domain" });
    expect(begun.session_key).toMatch(/^coder:ws:[0-9a-f-]{36}$/);
    const record = await views.find(local, begun.session_key);
    expect(record).toMatchObject({ id: begun.session_id, acts_as: "coder", agent: "stub" });
  });

  test("streams its turn: what was said, then how it ended, with numbers that grow", async () => {
    const { haak, local, run } = await openRunner();
    const { session_key } = await haak.init(local, { agent_id: "coder" });
    const events = await run(session_key, { message: "say hello\nsay world" });
    expect(textIn(events)).toBe("helloworld");
    expect(events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn" });
    const again = await run(session_key, { messages: [{ role: "user", content: "say more" }] });
    const numbers = [...events, ...again].map(({ seq }) => seq);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((left, right) => left - right));
  });
});
