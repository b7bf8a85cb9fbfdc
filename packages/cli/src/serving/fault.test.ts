import { describe, expect, it } from "vitest";
import { portFault } from "./fault.ts";

function fault(code: string) {
  const cause = Object.assign(new Error(code), { code });
  return portFault(new Error("Cannot listen", { cause }), "127.0.0.1", 18789, "reins up");
}

describe("a port that cannot be had", () => {
  it("because it is in use comes with another one to try", () => {
    expect(fault("EADDRINUSE")).toMatchObject({
      message: "Port 18789 on 127.0.0.1 is in use by another program.",
      next: expect.stringContaining("reins up --port 18790"),
      exitCode: 4,
    });
  });

  it.each([
    ["EACCES", "may not listen", 2],
    ["EADDRNOTAVAIL", "no address 127.0.0.1", 2],
    ["ENOTFOUND", "no address", 2],
    ["EIO", "Cannot listen on 127.0.0.1:18789: Cannot listen", 1],
  ])("because of %s says so", (code, text, exitCode) => {
    expect(fault(code).message).toContain(text);
    expect(fault(code).exitCode).toBe(exitCode);
  });
});
