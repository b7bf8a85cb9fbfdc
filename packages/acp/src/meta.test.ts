import { describe, expect, test } from "vitest";
import { metaOf, reinsData, reinsMeta, sandboxMeta, withReinsMeta } from "./meta.ts";

describe("_meta.reins", () => {
  test("reads as empty where it is missing or no object", () => {
    for (const holder of [undefined, null, {}, { _meta: null }, { _meta: [] }, { _meta: { reins: "x" } }])
      expect(reinsMeta(holder).agent).toBeUndefined();
  });

  test("reads a member of another type as absent, and keeps the others", () => {
    const meta = reinsMeta({ _meta: { reins: { agent: 5, turns: "yes", key: "k", later: [1] } } });
    expect([meta.agent, meta.turns, meta.key, meta.later]).toEqual([undefined, undefined, "k", [1]]);
  });

  test("is added to what is there, without changing the holder", () => {
    const holder = { title: "x", _meta: { acme: 1, reins: { approval: "apr_1" } } };
    expect(withReinsMeta(holder, { child_agent: "codex" })).toEqual({
      title: "x",
      _meta: { acme: 1, reins: { approval: "apr_1", child_agent: "codex" } },
    });
    expect(holder._meta.reins).toEqual({ approval: "apr_1" });
    expect(withReinsMeta({}, { ungated: true })).toEqual({ _meta: { reins: { ungated: true } } });
  });

  test("has siblings, and a namesake in the data of an error", () => {
    expect(metaOf({ _meta: { acme: 1 } })).toEqual({ acme: 1 });
    expect(sandboxMeta({ _meta: { "sandboxagent.dev": { agent: "codex" } } })).toEqual({ agent: "codex" });
    expect(sandboxMeta({ _meta: { "sandboxagent.dev": "codex" } })).toEqual({});
    expect(reinsData({ reins: { code: "unauthorized" } }).code).toBe("unauthorized");
  });
});
