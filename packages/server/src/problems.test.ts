import { describe, expect, test } from "vitest";
import { frameworkProblem, HttpProblem, httpProblem } from "./problems.ts";

const fault = (statusCode: number, code: string) =>
  Object.assign(new Error("at /home/somebody/file.ts"), { statusCode, code });

describe("what whoever asked is told", () => {
  test.each([
    [400, "FST_ERR_CTP_INVALID_JSON_BODY", "invalid"],
    [413, "FST_ERR_CTP_BODY_TOO_LARGE", "too_large"],
    [414, "FST_ERR_MAX_PARAM_LENGTH", "too_long"],
    [415, "FST_ERR_CTP_INVALID_MEDIA_TYPE", "unsupported_media_type"],
    [418, "TEAPOT", "invalid"],
    [503, "FST_ERR_HANDLER_TIMEOUT", "unavailable"],
  ])("of %i %s is a problem in our words", (status, code, told) => {
    const refusal = frameworkProblem(fault(status, code));
    expect(refusal?.problem).toMatchObject({ code: told, type: `urn:reins:problem:${told}` });
    expect(JSON.stringify(refusal?.problem)).not.toContain("/home");
  });

  test("of a refusal is the refusal", () => {
    const refusal = new HttpProblem("conflict", "somebody else was first");
    expect(frameworkProblem(refusal)).toBe(refusal);
  });

  test.each([
    ["any error", new Error("at /home/somebody/file.ts")],
    ["an error that calls itself a server's", fault(502, "EUPSTREAM")],
    ["what is no error", "text"],
  ])("of %s is nothing but that it happened", (_, error) => {
    expect(frameworkProblem(error)).toBeUndefined();
    expect(httpProblem("internal").problem).toMatchObject({ status: 500, code: "internal" });
  });
});
