import { describe, expect, test } from "vitest";
import { cookieFault, cookieIn, setCookie } from "./logins.ts";

const expires = new Date("2026-11-22T12:00:00Z");

describe("a cookie", () => {
  test("is found by its name", () => {
    const request = { headers: { cookie: "a=1; reins_12=secret; reins_123=other" } };
    expect(cookieIn(request, "reins_12")).toBe("secret");
    expect(cookieIn(request, "reins_1")).toBeUndefined();
    expect(cookieIn({ headers: {} }, "reins_12")).toBeUndefined();
  });

  test("is HttpOnly and SameSite", () => {
    expect(setCookie("reins_12", "secret", { expires, secure: false })).toBe(
      "reins_12=secret; Path=/; Expires=Sun, 22 Nov 2026 12:00:00 GMT; HttpOnly; SameSite=Strict",
    );
    expect(setCookie("reins_12", "secret", { expires, secure: true })).toMatch(/; Secure$/);
  });
});

describe("a request by cookie", () => {
  const host = "127.0.0.1:18789";
  const own = `http://${host}`;
  const cases: readonly [string, string, Record<string, string>, boolean][] = [
    ["a page of ours reads", "GET", { "sec-fetch-site": "same-origin" }, true],
    ["the user types the address", "GET", { "sec-fetch-site": "none" }, true],
    ["an old browser reads", "GET", {}, true],
    ["a page of ours changes", "POST", { origin: own, "sec-fetch-site": "same-origin" }, true],
    ["an old browser changes from our page", "POST", { origin: own }, true],
    [
      "a page of ours changes without telling its origin",
      "DELETE",
      { "sec-fetch-site": "same-origin" },
      true,
    ],
    ["a change has no origin header", "POST", {}, false],
    ["a change comes from no page", "POST", { "sec-fetch-site": "none" }, false],
    ["a page on another port reads", "GET", { "sec-fetch-site": "same-site" }, false],
    ["a page on another port changes", "POST", { origin: "http://127.0.0.1:3000" }, false],
    ["a page of the web changes", "POST", { origin: "https://evil.example" }, false],
    ["a page of the web says it is ours", "POST", { origin: own, "sec-fetch-site": "cross-site" }, false],
    ["a sandboxed page changes", "POST", { origin: "null" }, false],
  ];

  test.each(cases)("when %s", (_, method, headers, passes) => {
    const fault = cookieFault({ method, headers: { host, ...headers } }, false);
    expect(fault === undefined).toBe(passes);
  });

  test("that upgrades to a WebSocket counts as a change", () => {
    expect(cookieFault({ method: "GET", headers: { host } }, true)).toBeDefined();
    expect(cookieFault({ method: "GET", headers: { host, origin: own } }, true)).toBeUndefined();
  });
});
