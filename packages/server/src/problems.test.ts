import { describe, expect, test } from "vitest";
import { base64Bytes, frameworkProblem, HttpProblem, httpProblem, toHttpProblem } from "./problems.ts";

const fault = (statusCode: number, code: string) =>
  Object.assign(new Error("at /home/ann/file.ts"), { statusCode, code });

describe("the problem of an error", () => {
  test.each([
    [400, "FST_ERR_CTP_INVALID_JSON_BODY", "invalid"],
    [413, "FST_ERR_CTP_BODY_TOO_LARGE", "too_large"],
    [414, "FST_ERR_MAX_PARAM_LENGTH", "too_long"],
    [415, "FST_ERR_CTP_INVALID_MEDIA_TYPE", "unsupported_media_type"],
    [418, "TEAPOT", "invalid"],
    [503, "FST_ERR_HANDLER_TIMEOUT", "unavailable"],
  ])("of the framework's %i %s has our code and detail", (status, code, detail) => {
    const refusal = frameworkProblem(fault(status, code));
    expect(refusal?.problem).toMatchObject({ code: detail, type: `urn:reins:problem:${detail}` });
    expect(JSON.stringify(refusal?.problem)).not.toContain("/home");
  });

  test("of a full disk, at first or because of that, says so and may be tried again", () => {
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    for (const error of [full, new Error("it could not be kept", { cause: full })])
      expect(toHttpProblem(error).problem).toMatchObject({
        ...{ status: 503, code: "unavailable" },
        detail: expect.stringContaining("the disk is full"),
      });
    expect(() => toHttpProblem(new Error("it could not be kept"))).toThrow("it could not be kept");
  });

  test("of an HttpProblem is itself", () => {
    const refusal = new HttpProblem("conflict", "another change was first");
    expect(frameworkProblem(refusal)).toBe(refusal);
  });

  test.each([
    ["any error", new Error("at /home/ann/file.ts")],
    ["an error that calls itself a server's", fault(502, "EUPSTREAM")],
    ["what is no error", "text"],
  ])("of %s is an internal error without details", (_, error) => {
    expect(frameworkProblem(error)).toBeUndefined();
    expect(httpProblem("internal").problem).toMatchObject({ status: 500, code: "internal" });
  });
});

test("base64 is read as a whole, with padding or without, or refused", () => {
  for (const length of [0, 1, 2, 3, 4, 255]) {
    const bytes = Buffer.alloc(length, 0xfb);
    const text = bytes.toString("base64");
    expect(base64Bytes(text)).toEqual(bytes);
    expect(base64Bytes(text.replaceAll("=", ""))).toEqual(bytes);
  }
  for (const text of ["!!!", "a", "YQ=", "YQ===", "YQ==YQ==", "Y Q=", "YQ\n", "_-__", "=", "YWI=="])
    expect(() => base64Bytes(text)).toThrow("not base64");
});
