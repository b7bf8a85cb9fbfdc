import { STATUS_CODES } from "node:http";
import { describe, expect, test } from "vitest";
import { codeOfStatus, PROBLEMS, Problem, problem } from "./problem.ts";

describe("a problem", () => {
  test("says what kind it is in every way that a reader may look for", () => {
    const found = problem("conflict", "the policy was changed meanwhile");
    expect(found).toEqual({
      type: "urn:reins:problem:conflict",
      title: "Conflict",
      status: 409,
      detail: "the policy was changed meanwhile",
      code: "conflict",
    });
    expect(Problem.parse(found)).toEqual(found);
  });

  test("keeps members that this version does not know", () => {
    const found = { ...problem("invalid", "no", [{ path: "a", message: "b" }]), balance: 30 };
    expect(Problem.parse(found)).toEqual(found);
  });

  test("has the standard reason phrase of its status as its title", () => {
    // Node has the phrase of RFC 7231 for 413; RFC 9110 renamed it.
    const phrases: typeof STATUS_CODES = { ...STATUS_CODES, 413: "Content Too Large" };
    for (const { status, title } of Object.values(PROBLEMS)) expect(title).toBe(phrases[status]);
  });

  test("has a status of its own for every kind", () => {
    const statuses = Object.values(PROBLEMS).map(({ status }) => status);
    expect(new Set(statuses).size).toBe(statuses.length);
  });

  test.each([
    [404, "not_found"],
    [418, "invalid"],
    [499, "invalid"],
    [502, "bad_gateway"],
    [505, "internal"],
    [200, "internal"],
  ])("of status %i is of kind %s", (status, code) => {
    expect(codeOfStatus(status)).toBe(code);
  });
});
