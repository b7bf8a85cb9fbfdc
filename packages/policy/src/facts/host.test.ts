import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hostName, hostOfUrl, isDevelopmentUrl } from "./host.ts";

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

describe("an address that programs read differently names no host", () => {
  it.each([
    "http://good.example#@evil.example/",
    "http://good.example?@evil.example/",
    "http://good.example;@evil.example@x/",
    "http://good.example\\.evil.example/",
    "http:\\\\evil.example",
    "http:/evil.example",
    "http:evil.example",
    "http://good.example\u200b.evil.example",
    "http://good.example\u00ad/",
    "http://good.example\u0000.evil.example",
    "http://good.example\r\nHost: evil.example",
    "http://good.example%2eevil.example",
    "http://good.example%00.evil.example",
    "http://[::1%25eth0]/",
    "http://[::1",
    "http://[a]/",
    "http://[127.0.0.1]/",
    "http://::1/",
    "http://a:b:c/",
    "http://{a,b}.example/",
    "http://<evil>/",
    "http://a|b/",
    "http://a^b/",
    "http://a`b/",
    `http://${"a".repeat(9_000)}.example/`,
    `http://${"a.".repeat(200)}example/`,
    " http://evil.example",
    "//evil.example",
    "evil.example",
  ])("%j", (address) => {
    expect(hostOfUrl(address)).toBe("*");
  });

  it("and any that names one is read the same by another reader of addresses", () => {
    const piece = fc.constantFrom(
      ..."a.b:@/\\#?%0-[]{} \t",
      "evil",
      "good.example",
      "://",
      "127.1",
      "::1",
      "é",
      "。",
      "x:y@",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const address = `http://${pieces.join("")}`;
        const host = hostOfUrl(address);
        if (host === "*") return;
        const read = URL.parse(address);
        expect(read, address).not.toBeNull();
        expect(hostName(read?.hostname ?? ""), address).toBe(host);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("one host has one name", () => {
  it.each([
    [
      "127.0.0.1",
      [
        "0x7f.0.0.1",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "::ffff:127.0.0.1",
        "[::ffff:7f00:1]",
        "１２７.１",
        "127。0。0。1",
      ],
    ],
    ["::1", ["[::1]", "0:0:0:0:0:0:0:1", "[0::1]", "::0001"]],
    ["example.com", ["EXAMPLE.COM", "example.com.", "ｅxample.com", "example。com", "exam\u00adple.com"]],
    ["xn--bcher-kva.example", ["bücher.example", "BÜCHER.example", "bu\u0308cher.example"]],
    [
      "*",
      [
        "",
        "a b",
        "a/b",
        "a?b",
        "a#b",
        "a@b",
        "a\\b",
        "a%b",
        "a".repeat(300),
        "1.2.3.4.5",
        "256.1.1.1",
        "[::g]",
      ],
    ],
  ] as const)("%s", (name, spellings) => {
    expect(spellings.map((spelling) => [spelling, hostName(spelling)])).toEqual(
      spellings.map((spelling) => [spelling, name]),
    );
  });
});

describe("the address of a program under development", () => {
  it.each([
    ["http://localhost:3000", true],
    ["http://127.0.0.1:8080/a?b=c", true],
    ["http://[::1]:5173/", true],
    ["HTTP://LOCALHOST:3000", true],
    ["http://localhost", false],
    ["http://localhost:22", false],
    ["http://localhost:2375/containers/json", false],
    ["http://localhost:9229/json", false],
    ["http://localhost:6443", false],
    ["https://localhost:3000", false],
    ["http://localhost.evil.example:3000", false],
    ["http://evil.example:3000", false],
    ["http://user@localhost:3000", false],
    ["http://localhost:3000@evil.example", false],
    ["http://0.0.0.0:3000", false],
    ["http://169.254.169.254:8080", false],
    ["http://10.0.0.1:3000", false],
    ["ftp://localhost:3000", false],
  ])("%s: %s", (address, expected) => {
    expect(isDevelopmentUrl(address)).toBe(expected);
  });
});
