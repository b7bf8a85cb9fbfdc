import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSigned } from "../../../test/approvals/signed-body.ts";
import { sign } from "./lane.ts";

const secret = "a secret that is long enough";
const now = new Date("2026-11-15T09:00:00.500Z");
const time = Math.floor(now.getTime() / 1_000);

describe("a signature", () => {
  test("can be computed from the header, the body and the secret", () => {
    const expected = createHmac("sha256", secret).update(`${time}.{"a":"é"}`).digest("hex");
    expect(sign('{"a":"é"}', secret, now)).toBe(`t=${time},v1=${expected}`);
  });

  test("holds for exactly the body and the secret it was made with", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (body, other) => {
        const signature = sign(body, secret, now);
        expect(isSigned({ body, signature, secret, now })).toBe(true);
        expect(isSigned({ body: Buffer.from(body), signature, secret, now })).toBe(true);
        expect(isSigned({ body: other, signature, secret, now })).toBe(body === other);
        expect(isSigned({ body, signature, secret: `${secret}${other}x`, now })).toBe(false);
      }),
    );
  });

  test("ages", () => {
    const signature = sign("body", secret, now);
    const at = (seconds: number) => new Date((time + seconds) * 1_000);
    expect(isSigned({ body: "body", signature, secret, now: at(300) })).toBe(true);
    expect(isSigned({ body: "body", signature, secret, now: at(-300) })).toBe(true);
    expect(isSigned({ body: "body", signature, secret, now: at(301) })).toBe(false);
    expect(isSigned({ body: "body", signature, secret, now: at(-301) })).toBe(false);
    expect(isSigned({ body: "body", signature, secret, now: at(2), tolerance_ms: 1_000 })).toBe(false);
  });

  test("may stand beside others, as when a secret is changed", () => {
    const [, right = ""] = sign("body", secret, now).split(",");
    const wrong = `v1=${"0".repeat(64)}`;
    const holds = (signature: string) => isSigned({ body: "body", signature, secret, now });
    expect(holds(`t=${time},${wrong},${right}`)).toBe(true);
    expect(holds(`t=${time}, ${right}`)).toBe(true);
    expect(holds(`t=${time},${wrong}`)).toBe(false);
  });

  test.each([
    "",
    "t=",
    "v1=",
    `t=${time}`,
    "t=x,v1=y",
    `t=${time},v1=`,
    `t=${time},v1=${"g".repeat(64)}`,
    ",".repeat(99),
  ])("is not %j", (signature) => {
    expect(isSigned({ body: "body", signature, secret, now })).toBe(false);
  });
});
