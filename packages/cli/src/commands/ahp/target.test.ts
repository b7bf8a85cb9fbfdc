import { resolve } from "node:path";
import { AhpError } from "@reins/ahp";
import { describe, expect, it } from "vitest";
import { conformanceTarget } from "./ahp.ts";
import { readEventType, resolveTarget } from "./send.ts";
import { connectionError, readCredentials, targetName } from "./target.ts";

const to = (target?: string, program: string[] = []) => resolveTarget(target, "/home", program);

describe("the target of reins ahp send", () => {
  it("is the harness of this home unless --to names another", () => {
    expect(to()).toEqual({ transport: "unix", path: "/home/ahp.sock" });
    expect(to("unix:a.sock")).toEqual({ transport: "unix", path: resolve("a.sock") });
    expect(to("https://x/ahp")).toEqual({ transport: "http", url: "https://x/ahp" });
    expect(to("ws://x/ahp")).toEqual({ transport: "websocket", url: "ws://x/ahp" });
    expect(to("stdio", ["node", "h.ts"])).toEqual({ transport: "stdio", command: "node", args: ["h.ts"] });
  });

  it("must be one", () => {
    expect(() => to("ftp://x")).toThrow("not a harness");
    expect(() => to("http:")).toThrow("not an address");
    expect(() => to("stdio")).toThrow("No program");
    expect(() => to("http://x", ["node"])).toThrow("only --to stdio");
    expect(() => readEventType("pre_acton")).toThrow("not an event of the protocol");
    expect(readEventType("idle")).toBe("idle");
  });
});

describe("the harness to examine", () => {
  it("is named by its transport", () => {
    expect(conformanceTarget("stdio", ["node", "h.ts", "--flag"])).toMatchObject({
      args: ["h.ts", "--flag"],
    });
    expect(conformanceTarget("http", ["http://x/"])).toEqual({ transport: "http", url: "http://x/" });
    expect(conformanceTarget("ws", ["wss://x/"])).toEqual({ transport: "websocket", url: "wss://x/" });
    expect(conformanceTarget("unix", ["/a.sock"])).toEqual({ transport: "unix", path: "/a.sock" });
  });

  it("must be one", () => {
    expect(() => conformanceTarget("tcp", ["x"])).toThrow('"tcp" is not a transport');
    expect(() => conformanceTarget("ws", ["http://x/"])).toThrow("not an address for websocket");
    expect(() => conformanceTarget("unix", ["a", "b"])).toThrow("not one target");
  });
});

describe("credentials", () => {
  it("are a token or a key", () => {
    const target = { transport: "http", url: "http://x" } as const;
    expect(readCredentials(target, {})).toBeUndefined();
    expect(readCredentials(target, { token: "t" })).toEqual({ type: "bearer", token: "t" });
    expect(readCredentials(target, { apiKey: "k" })).toEqual({ type: "api_key", key: "k" });
    expect(() => readCredentials(target, { token: "t", apiKey: "k" })).toThrow("together");
  });

  it("rejects credentials that the transport cannot send", () => {
    expect(() => readCredentials({ transport: "unix", path: "/a" }, { token: "t" })).toThrow("no effect");
    expect(readCredentials({ transport: "unix", path: "/a" }, {})).toBeUndefined();
  });

  it("in an address are not repeated", () => {
    expect(targetName({ transport: "websocket", url: "ws://u:p@x/ahp?token=t" })).toBe("ws://x/ahp");
  });
});

describe("a conversation that failed", () => {
  it.each([
    [new AhpError("transport", "connect ECONNREFUSED"), 3, "cannot be reached"],
    [AhpError.timeout(5), 3, "cannot be reached"],
    [new AhpError("transport", "HTTP error: 401 Unauthorized - no"), 3, "rejects the credentials"],
    [new AhpError("protocol", "Event failed: \u001b[2J"), 1, "\\u{1b}[2J"],
  ])("because of %s ends with %i", (error, exitCode, text) => {
    expect(connectionError(error, "there")).toMatchObject({
      exitCode,
      message: expect.stringContaining(text),
    });
  });

  it("for another reason is left alone", () => {
    const error = new Error("a bug");
    expect(connectionError(error, "there")).toBe(error);
  });
});
