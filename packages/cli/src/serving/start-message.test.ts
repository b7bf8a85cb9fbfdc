import { describe, expect, it } from "vitest";
import { pageAddress } from "./address.ts";
import { welcomeText } from "./start-message.ts";

const facts = {
  version: "1.2.3",
  page: "http://127.0.0.1:18789/ui/#code",
  home: "/srv/reins",
  workspace: "/srv/work",
  agents: ["native", "claude"],
  reins: "reins",
  opens: false,
};

describe("the welcome", () => {
  it("shows the page, the agents and what to try, in less than a screen", () => {
    const text = welcomeText(facts);
    for (const word of ["Reins 1.2.3 is up", facts.page, "/srv/reins", "native, claude", "works once"])
      expect(text).toContain(word);
    expect(text.split("reins ").length - 1).toBeGreaterThanOrEqual(3);
    expect(text.split("\n").length).toBeLessThan(20);
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it("shows commands as they are run in this installation", () => {
    expect(welcomeText({ ...facts, reins: "npm run reins --" })).toContain(
      "npm run reins -- approvals watch",
    );
  });

  it("does not ask to open a page that opens by itself", () => {
    expect(welcomeText({ ...facts, opens: true })).not.toContain("works once");
  });
});

describe("the address of the page", () => {
  it("is beside that of AHP, with the login code in the fragment", () => {
    expect(pageAddress("http://127.0.0.1:1/ahp", "abc")).toBe("http://127.0.0.1:1/ui/#abc");
    expect(pageAddress("https://reins.example/ahp")).toBe("https://reins.example/ui/");
  });

  it("is a loopback address for a server on all interfaces", () => {
    expect(pageAddress("http://0.0.0.0:1/ahp", "abc")).toBe("http://127.0.0.1:1/ui/#abc");
    expect(pageAddress("http://[::]:1/ahp", "abc")).toBe("http://127.0.0.1:1/ui/#abc");
  });
});
