import { describe, expect, it } from "vitest";
import { HeaderSecrets } from "./service-executors.ts";

const TOKEN = 'to/ken"of-operator';
const basic = Buffer.from(`operator:${TOKEN}`).toString("base64");

describe("the secrets of a service's headers", () => {
  it.each([
    ["a bearer token", { authorization: `Bearer ${TOKEN}` }],
    ["a key", { "X-Api-Key": TOKEN }],
    ["a cookie", { cookie: `theme=dark; session=${TOKEN}` }],
    ["a parameter", { authorization: `Digest user=me, response=${TOKEN}` }],
    ["a password", { authorization: `Basic ${basic}` }],
  ])("are taken out where they are %s, in any spelling", (_, headers) => {
    const secrets = new HeaderSecrets(headers);
    const escaped = JSON.stringify(TOKEN).replaceAll("/", "\\/");
    const value = { [TOKEN]: [`a ${TOKEN}`, encodeURIComponent(TOKEN), { deep: escaped }], n: 1, none: null };
    expect(JSON.stringify(secrets.takenOut(value))).not.toMatch(/ken/);
    for (const address of [TOKEN, encodeURIComponent(TOKEN), TOKEN.toUpperCase(), TOKEN.replace("t", "%74")])
      expect(secrets.areIn(new URL(`http://x/?a=${address}`))).toBe(true);
    expect(secrets.areIn(new URL("http://x/?a=b"))).toBe(false);
  });

  it("are no other headers, and no short words", () => {
    const secrets = new HeaderSecrets({ accept: "application/json", authorization: "Bearer abc" });
    expect(secrets.takenOut("application/json abc")).toBe("application/json abc");
  });
});
