import { expect, test } from "vitest";
import { describeTarget } from "./channel.ts";

test("a target in words keeps secrets to itself", () => {
  expect(describeTarget({ transport: "stdio", command: "node", args: ["harness.js", "-v"] })).toBe(
    "node harness.js -v",
  );
  expect(describeTarget({ transport: "unix", path: "/run/ahp.sock" })).toBe("/run/ahp.sock");
  expect(
    describeTarget({ transport: "websocket", url: "wss://me:secret@host/ahp?a=1&token=secret" }),
  ).not.toContain("secret");
});
