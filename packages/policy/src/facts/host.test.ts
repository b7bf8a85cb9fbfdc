import { describe, expect, it } from "vitest";
import { hostName, hostOfUrl } from "./host.ts";

describe("the host of an address", () => {
  it.each([
    ["https://Example.COM:8080/x", "example.com"],
    ["https://user:word@example.com/", "example.com"],
    ["https://good.example@evil.example", "evil.example"],
    ["http://0x7f.1/", "127.0.0.1"],
    ["http://2130706433", "127.0.0.1"],
    ["http://017700000001", "127.0.0.1"],
    ["http://[::ffff:127.0.0.1]/", "127.0.0.1"],
    ["http://[::1]:80/", "::1"],
    ["HTTP://１２７.０.０.１/", "127.0.0.1"],
    ["http://例え.jp", "xn--r8jz45g.jp"],
    ["http://localhost.", "localhost"],
    ["git+ssh://host:22/x", "host"],
    ["https://example.com?x=@y/z", "*"],
    ["https://evil.example#@good.example", "*"],
    ["https://good.example\\@evil.example", "*"],
    ["https://a@b@c/", "*"],
    ["https://a b/", "*"],
    ["https://exa\tmple.com/", "*"],
    ["https://%65vil.example/", "*"],
    ["https:///x", "*"],
    ["javascript:alert(1)", "*"],
    ["", "*"],
  ])("%s is %s", (address, expected) => {
    expect(hostOfUrl(address)).toBe(expected);
  });

  it("has one spelling where it stands alone, too", () => {
    expect([hostName("EXAMPLE.com."), hostName("::1"), hostName("a/b"), hostName("")]).toEqual([
      "example.com",
      "::1",
      "*",
      "*",
    ]);
  });
});
