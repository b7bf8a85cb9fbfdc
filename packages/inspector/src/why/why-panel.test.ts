import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { keepDraft } from "./why-panel.tsx";

const stored = new Map<string, string>();
beforeEach(() => {
  stored.clear();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
    removeItem: (key: string) => stored.delete(key),
  });
});
afterEach(() => vi.unstubAllGlobals());

describe("a draft", () => {
  test("is stored in this browser, replaced and deleted", () => {
    keepDraft({ rules: "rules: []" });
    expect([...stored.values()]).toEqual(['{"rules":"rules: []"}']);
    keepDraft({ rules: "limits: []", prose: "Be kind" });
    expect([...stored.values()]).toEqual(['{"rules":"limits: []","prose":"Be kind"}']);
    keepDraft(undefined);
    expect(stored.size).toBe(0);
  });
});
