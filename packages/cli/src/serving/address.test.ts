import { hostname } from "node:os";
import { isLoopback } from "@reins/kit";
import { describe, expect, it } from "vitest";
import { browserOpener, hostNames, listenError, refuseOpenServer } from "./address.ts";

describe("a host", () => {
  it.each(["127.0.0.1", "127.9.9.9", "::1", "localhost", "LocalHost"])(
    "%s is this machine's alone",
    (host) => {
      expect(isLoopback(host)).toBe(true);
      expect(() => refuseOpenServer(host, [])).not.toThrow();
    },
  );

  it("is recognized in the form of a URL", () => {
    expect(isLoopback(new URL("http://[::1]:1").hostname)).toBe(true);
    expect(isLoopback("[fe80::1]")).toBe(false);
  });

  it.each(["0.0.0.0", "::", "10.0.0.1", "fe80::1", "example.org", "127.0.0.1.example.org", ""])(
    "%s may be reached by others, and needs a token",
    (host) => {
      expect(isLoopback(host)).toBe(false);
      expect(() => refuseOpenServer(host, [])).toThrow("without a token");
      expect(() => refuseOpenServer(host, ["secret"])).not.toThrow();
    },
  );

  it("is allowed by its own name", () => {
    expect(hostNames("Example.org")).toEqual(["example.org"]);
    expect(hostNames("fe80::1")).toEqual(["[fe80::1]"]);
  });

  it("allows every address of this machine when it means all interfaces", () => {
    expect(hostNames("0.0.0.0")).toContain("127.0.0.1");
    expect(hostNames("::")).toContain(hostname().toLowerCase());
  });
});

function fault(code: string) {
  const cause = Object.assign(new Error(code), { code });
  return listenError(new Error("Cannot listen", { cause }), "127.0.0.1", 18789, "reins up");
}

describe("a port that cannot be opened", () => {
  it("suggests another port when it is in use", () => {
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
  ])("explains %s", (code, text, exitCode) => {
    expect(fault(code).message).toContain(text);
    expect(fault(code).exitCode).toBe(exitCode);
  });
});

describe("the browser of a desktop", () => {
  it("is opened with the opener of the system", () => {
    expect(browserOpener({}, "darwin")).toBe("open");
    expect(browserOpener({ DISPLAY: ":0" }, "linux")).toBe("xdg-open");
    expect(browserOpener({ WAYLAND_DISPLAY: "wayland-0" }, "linux")).toBe("xdg-open");
  });

  it.each([
    ["there is no display", {}],
    ["the session is remote", { DISPLAY: ":0", SSH_CONNECTION: "10.0.0.1 5 10.0.0.2 22" }],
    ["it runs in CI", { DISPLAY: ":0", CI: "true" }],
  ])("is not opened where %s", (_, environment) => {
    expect(browserOpener(environment, "linux")).toBeUndefined();
  });
});
