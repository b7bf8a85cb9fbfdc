import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { logLevel, prettyStream } from "./log.ts";

describe("the log level", () => {
  it("is info by default, the value of REINS_LOG, or debug with --verbose", () => {
    expect(logLevel(undefined, {})).toBe("info");
    expect(logLevel(false, { REINS_LOG: "" })).toBe("info");
    expect(logLevel(false, { REINS_LOG: "WARN" })).toBe("warn");
    expect(logLevel(true, { REINS_LOG: "silent" })).toBe("debug");
  });

  it("rejects an unknown log level with the list of levels", () => {
    expect(() => logLevel(false, { REINS_LOG: "loud" })).toThrow('REINS_LOG is "loud"');
  });
});

describe("a log on a terminal", () => {
  it("prints human lines on a terminal", async () => {
    const screen = new PassThrough();
    const stream = await prettyStream(screen, false);
    const log = pino({}, stream);
    log.info({ address: "http://x", transport: "http" }, "listening");
    log.warn({ agent_id: "\u001b[31mred" }, "decided");
    stream.end();
    const lines = (await text(screen)).trim().split("\n");
    expect(lines[0]).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: listening$/);
    expect(lines[1]).toMatch(/WARN: decided \{"agent_id":"\\u001b\[31mred"\}$/);
  });
});
