import { problem } from "@reins/api";
import { describe, expect, it } from "vitest";
import { problemFault } from "./problem.ts";

const faultOf = (...given: Parameters<typeof problem>) => {
  const body = problem(...given);
  return problemFault({ status: body.status, body }, "here", { not_found: "Look again." });
};

describe("a problem", () => {
  it("is told in the words of the harness, with what to do", () => {
    expect(faultOf("conflict", "the approval apr_1 is denied already: ann said deny")).toMatchObject({
      message: "The approval apr_1 is denied already: ann said deny.",
      exitCode: 1,
    });
    expect(faultOf("not_found", "reed is not on the roster")).toMatchObject({
      message: "reed is not on the roster.",
      next: "Look again.",
      exitCode: 1,
    });
  });

  it("with what was given names it member by member, and counts as wrong usage", () => {
    const errors = [
      { path: "email", message: "Invalid email address" },
      { path: "", message: "too much" },
    ];
    expect(faultOf("invalid", "✖ …", errors)).toMatchObject({
      message: "email: Invalid email address; too much.",
      exitCode: 2,
    });
  });

  it("with the token says so, and counts as not reached", () => {
    expect(faultOf("unauthenticated", "the token is not known")).toMatchObject({
      next: expect.stringContaining("--token"),
      exitCode: 3,
    });
  });

  it("cannot steer the terminal", () => {
    expect(faultOf("forbidden", "no\u001b[2Jthing").message).toBe("No\\u{1b}[2Jthing.".replace("No", "no"));
  });

  it("that no Reins tells is none", () => {
    expect(problemFault({ status: 502, body: "<html>" }, "http://x", {})).toMatchObject({
      message: expect.stringContaining("http://x is no Reins that this one understands"),
      exitCode: 3,
    });
  });
});
