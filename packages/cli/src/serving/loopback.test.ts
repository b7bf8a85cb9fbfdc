import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { hostNames } from "./host-names.ts";
import { isLoopback, refuseOpenServer } from "./loopback.ts";

describe("a host", () => {
  it.each(["127.0.0.1", "127.9.9.9", "::1", "localhost", "LocalHost"])(
    "%s is this machine's alone",
    (host) => {
      expect(isLoopback(host)).toBe(true);
      expect(() => refuseOpenServer(host, [])).not.toThrow();
    },
  );

  it("is known as it stands in a URL, too", () => {
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

  it("is answered for by its own name", () => {
    expect(hostNames("Example.org")).toEqual(["example.org"]);
    expect(hostNames("fe80::1")).toEqual(["[fe80::1]"]);
  });

  it("that means everywhere is answered for by every address of this machine", () => {
    expect(hostNames("0.0.0.0")).toContain("127.0.0.1");
    expect(hostNames("::")).toContain(hostname().toLowerCase());
  });
});
