import { describe, expect, test } from "vitest";
import { Secrets } from "./secrets.ts";

describe("the credentials of a server", () => {
  test("are in no text of ours, in whole or in part", () => {
    const secrets = new Secrets(["Bearer open-sesame", "yes", "long-key.long"]);
    expect(secrets.hide("got open-sesame and long-key.long, yes")).toBe("got [redacted] and [redacted], yes");
  });

  test("nor is anything that looks like one", () => {
    expect(new Secrets([]).hide(`token=Zq8vT3kLw9XbR2mNc7Yd`)).toBe("token=[redacted]");
  });
});
