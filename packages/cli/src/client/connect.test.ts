import { describe, expect, it } from "vitest";
import { resolveServer } from "./connect.ts";

describe("the server of a command", () => {
  it("is the one of the home, unless an address is given", () => {
    expect(resolveServer({ home: "/a" }, { REINS_URL: "http://x", REINS_TOKEN: "t" })).toEqual({
      home: "/a",
    });
    expect(resolveServer({}, { REINS_HOME: "/b", REINS_URL: "" })).toEqual({ home: "/b" });
  });

  it("is the one at the address, with its token", () => {
    const environment = {
      REINS_URL: "http://127.0.0.1:1",
      REINS_TOKEN: "from-environment",
      REINS_HOME: "/b",
    };
    expect(resolveServer({}, environment)).toEqual({
      url: new URL("http://127.0.0.1:1"),
      token: "from-environment",
    });
    expect(resolveServer({ url: "https://a.example/reins", secret: "flag" }, environment)).toEqual({
      url: new URL("https://a.example/reins"),
      token: "flag",
    });
    expect(resolveServer({ url: "http://127.0.0.1:1/ahp" }, {})).toMatchObject({
      url: new URL("http://127.0.0.1:1"),
    });
    expect(resolveServer({ url: "https://a.example" }, {})).toMatchObject({ token: undefined });
  });

  it("rejects contradicting flags", () => {
    expect(() => resolveServer({ home: "/a", url: "http://x" }, {})).toThrow("two servers");
    expect(() => resolveServer({ secret: "t" }, {})).toThrow("--token has no effect");
  });

  it.each(["x", "ftp://x", "http://user:secret@x", "http://x?token=secret"])(
    "is no address like %s, which is not repeated where it may hold a secret",
    (url) => {
      expect(() => resolveServer({ url }, {})).toThrow(/^--url is not the address of a Reins\.$/);
    },
  );
});
