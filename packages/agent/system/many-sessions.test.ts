import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { VolatileSessionStore } from "../src/history/session-store.ts";
import { TestClient } from "../test/test-client.ts";
import { testWorkspace } from "../test/workspace.ts";

const SESSIONS = 200;

describe("two hundred sessions at once", () => {
  test("complete every turn in order, and leave no timer behind", async () => {
    const { cwd } = await testWorkspace({ "README.md": "# Tea", "a.txt": "alpha" });
    const store = new VolatileSessionStore();
    const client = new TestClient({ store });
    await client.request("initialize", { protocolVersion: 1 });
    const timersBefore = activeTimers();
    const ids: string[] = await Promise.all(
      Array.from(
        { length: SESSIONS },
        async () => (await client.request("session/new", { cwd, mcpServers: [] })).sessionId,
      ),
    );
    expect(activeTimers()).toBeLessThanOrEqual(timersBefore);
    const prompts = ["what is in this folder", "read a.txt and summarise it", "hello"];
    const ends = await Promise.all(
      ids.map(async (id) => {
        const reasons: string[] = [];
        for (const text of prompts) reasons.push((await client.prompt(id, text)).stopReason);
        return reasons;
      }),
    );
    expect(ends.flat()).toEqual(Array.from({ length: SESSIONS * prompts.length }, () => "end_turn"));
    for (const id of ids) {
      const { entries = [] } = (await store.read(id)) ?? {};
      const asked = entries.flatMap((entry) =>
        entry.kind === "user"
          ? entry.parts.flatMap((part) => (part.type === "text" && !part.context ? [part.text] : []))
          : [],
      );
      expect(asked).toEqual(prompts);
      const kinds = client.updates
        .filter(({ sessionId }) => sessionId === id)
        .map(({ update }) => update)
        .filter(({ sessionUpdate }) => /^tool_call/.test(sessionUpdate))
        .map(({ status }) => status);
      expect(kinds).toEqual(["pending", "in_progress", "completed", "pending", "in_progress", "completed"]);
    }
    await setTimeout(10);
    expect(activeTimers()).toBeLessThanOrEqual(timersBefore);
  });
});

/** The number of active timers. */
function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
}
