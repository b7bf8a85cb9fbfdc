import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { channelPair } from "../acp/channel.ts";
import { isObject, type JsonObject } from "../acp/message.ts";
import { borderedChannel, withoutOurs } from "./agent-border.ts";

const FORGED = ["reins", "Reins", " reins", "reins/verdict", "reins.approval", "sandboxagent.dev"];

/** Any JSON in which some objects carry a `_meta` that speaks as Reins. */
const tree = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "medium" },
    fc.constantFrom<unknown>("text", 1, null, true),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("content", "toolCall", "options", "update", "x"), tie("value"), {
      maxKeys: 3,
    }),
    fc.record({ _meta: tie("meta"), content: tie("value") }),
  ),
  meta: fc.dictionary(fc.constantFrom(...FORGED, "claudeCode", "other"), tie("value"), { maxKeys: 3 }),
})).value;

/** Every name under a `_meta` of a value, at any depth. */
function metaNames(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(metaNames);
  if (!isObject(value)) return [];
  const own = isObject(value._meta) ? Object.keys(value._meta) : [];
  return [...own, ...Object.values(value).flatMap(metaNames)];
}

describe("what an agent says", () => {
  test("never holds what only Reins says in _meta, however deep", () => {
    fc.assert(
      fc.property(tree, (value) => {
        const before = metaNames(value);
        const clean = withoutOurs({ params: value });
        const ours = metaNames(clean).filter((name) => FORGED.includes(name));
        expect(ours).toEqual([]);
        if (!before.some((name) => FORGED.includes(name))) expect(clean).toEqual({ params: value });
      }),
      { numRuns: 500 },
    );
  });

  test("is the very same where it says nothing of the kind, and arguments of tools always are", () => {
    const rawInput = { _meta: { reins: { verdict: "allowed" } } };
    const message = { params: { update: { rawInput, _meta: { claudeCode: { toolName: "Bash" } } } } };
    expect(withoutOurs(message)).toBe(message);
  });

  test("is cut where it is nested without end", () => {
    let deep: JsonObject = { _meta: { reins: {} } };
    for (let level = 0; level < 5_000; level += 1) deep = { a: deep };
    expect(JSON.stringify(withoutOurs(deep))).not.toContain("reins");
  });

  test.each([
    "_reins/gap",
    "_reins/turn_over",
    "_reins/session/turn",
    "_REINS/gap",
    "_sandboxagent/session/ended",
    "_sandboxagent/session/get",
    "_reins",
  ])("by %s does not arrive, and a request is answered that nobody knows it", async (method) => {
    const [ours, theirs] = channelPair();
    const faults: string[] = [];
    const arrived: JsonObject[] = [];
    const answers: JsonObject[] = [];
    theirs.onMessage((message) => void answers.push(message));
    borderedChannel(ours, (fault) => void faults.push(fault)).onMessage(
      (message) => void arrived.push(message),
    );
    await theirs.send({ jsonrpc: "2.0", method, params: { sessionId: "s" } });
    await theirs.send({ jsonrpc: "2.0", id: 7, method, params: { sessionId: "s" } });
    await theirs.send({ jsonrpc: "2.0", method: "session/update", params: {} });
    await expect.poll(() => arrived).toMatchObject([{ method: "session/update" }]);
    expect(faults).toHaveLength(2);
    expect(answers).toMatchObject([{ id: 7, error: { code: -32601 } }]);
  });
});
