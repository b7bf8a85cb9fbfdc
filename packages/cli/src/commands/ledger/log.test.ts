import { describe, expect, it } from "vitest";
import { logSettings } from "./log.ts";

const now = new Date("2026-11-15T12:00:00.000Z");

describe("the settings of reins ledger log", () => {
  it("show everything by default, the oldest first", () => {
    expect(logSettings({}, now)).toEqual({ filter: {}, limit: undefined, newestFirst: false, follow: false });
  });

  it("accept every filter", () => {
    const flags = { session: "s", quality: "turn", actor: "a", tag: "t", since: "1h", until: "2026-11-15" };
    expect(logSettings({ ...flags, limit: "5", newest: true }, now)).toEqual({
      filter: {
        entity_id: "s",
        quality: "turn",
        actor: "a",
        tag: "t",
        since: "2026-11-15T11:00:00.000Z",
        until: "2026-11-15T00:00:00.000Z",
      },
      limit: 5,
      newestFirst: true,
      follow: false,
    });
  });

  it("start with a few entries with --follow", () => {
    expect(logSettings({ follow: true }, now).limit).toBe(10);
    expect(logSettings({ follow: true, limit: "0" }, now).limit).toBe(0);
  });

  it.each([
    [{ quality: "turns" }, "--quality"],
    [{ limit: "-1" }, "--limit"],
    [{ follow: true, newest: true }, "--follow"],
    [{ follow: true, until: "1h" }, "--follow"],
  ])("reject %j", (flags, text) => {
    expect(() => logSettings(flags, now)).toThrow(text);
  });
});
