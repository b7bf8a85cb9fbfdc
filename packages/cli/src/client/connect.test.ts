import { describe, expect, it } from "vitest";
import { settlePlace } from "./connect.ts";

describe("which Reins is meant", () => {
  it("is that of the home, unless an address is given", () => {
    expect(settlePlace({ home: "/a" }, { REINS_URL: "http://x", REINS_TOKEN: "t" })).toEqual({ home: "/a" });
    expect(settlePlace({}, { REINS_HOME: "/b", REINS_URL: "" })).toEqual({ home: "/b" });
  });

  it("is the one at the address, with the token that belongs to it", () => {
    const environment = {
      REINS_URL: "http://127.0.0.1:1",
      REINS_TOKEN: "from-environment",
      REINS_HOME: "/b",
    };
    expect(settlePlace({}, environment)).toEqual({
      url: new URL("http://127.0.0.1:1"),
      token: "from-environment",
    });
    expect(settlePlace({ url: "https://a.example/reins", token: "flag" }, environment)).toEqual({
      url: new URL("https://a.example/reins"),
      token: "flag",
    });
    expect(settlePlace({ url: "http://127.0.0.1:1/ahp" }, {})).toMatchObject({
      url: new URL("http://127.0.0.1:1"),
    });
    expect(settlePlace({ url: "https://a.example" }, {})).toMatchObject({ token: undefined });
  });

  it("is asked for where it is not clear", () => {
    expect(() => settlePlace({ home: "/a", url: "http://x" }, {})).toThrow("two different Reins");
    expect(() => settlePlace({ token: "t" }, {})).toThrow("--token has no effect");
  });

  it.each(["x", "ftp://x", "http://user:secret@x", "http://x?token=secret"])(
    "is no address like %s, which is not repeated where it may hold a secret",
    (url) => {
      expect(() => settlePlace({ url }, {})).toThrow(/^--url is no address of a Reins\.$/);
    },
  );
});
