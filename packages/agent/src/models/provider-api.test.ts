import { describe, expect, it } from "vitest";
import { ModelError } from "./model.ts";
import { modelErrorOf } from "./provider-api.ts";

const failure = (fields: object, message = "no") =>
  modelErrorOf(Object.assign(new Error(message), fields), "the model");

describe("an error of a provider's SDK", () => {
  it.each([
    [{ status: 400 }, "bad_request"],
    [{ status: 401 }, "unauthorized"],
    [{ status: 402 }, "unpaid"],
    [{ status: 403 }, "unauthorized"],
    [{ status: 404 }, "not_found"],
    [{ status: 413 }, "context_exceeded"],
    [{ status: 418 }, "bad_request"],
    [{ status: 429 }, "rate_limited"],
    [{ status: 429, error: { code: "insufficient_quota", message: "You exceeded your quota" } }, "unpaid"],
    [{ status: 502 }, "unavailable"],
    [{ status: 529 }, "overloaded"],
    [{ type: "overloaded_error" }, "overloaded"],
    [{ type: "rate_limit_error" }, "rate_limited"],
    [{ type: "authentication_error" }, "unauthorized"],
    [{}, "unavailable"],
  ])("with %j maps to %s", (fields, code) => {
    expect(failure(fields).code).toBe(code);
  });

  it.each(["prompt is too long", "maximum context length is 8192 tokens", "context_length_exceeded"])(
    "maps to an exceeded context: %s",
    (message) => {
      expect(failure({ status: 400 }, message).code).toBe("context_exceeded");
    },
  );

  it("has the message of the body, at any depth, and advice", () => {
    const error = { type: "error", error: { type: "x", message: "invalid x-api-key" } };
    expect(failure({ status: 401, error }, "401 {json}").message).toBe(
      "the model answered 401: invalid x-api-key; check the API key",
    );
  });

  it.each([
    [{ "retry-after": "3" }, 3_000],
    [{ "retry-after-ms": "250" }, 250],
    [{ "retry-after": new Date(Date.now() - 5_000).toUTCString() }, 0],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined],
  ])("has the time to wait: %j", (headers, milliseconds) => {
    expect(failure({ status: 429, headers: new Headers(headers) }).retryAfterMs).toBe(milliseconds);
  });

  it("is not retryable when the account is unpaid", () => {
    const error = { type: "error", error: { message: "Your credit balance is too low" } };
    expect(failure({ status: 400, error })).toMatchObject({
      isRetryable: false,
      message: expect.stringContaining("add credit"),
    });
  });

  it("names the limit that was hit", () => {
    expect(failure({ status: 429 }, "tokens per minute exceeded").limit).toBe("tokens");
    expect(failure({ status: 429 }, "too many requests").limit).toBe("requests");
  });

  it("keeps a ModelError and accepts any other value", () => {
    const ours = new ModelError("cut_off", "broke off");
    expect(modelErrorOf(ours, "m")).toBe(ours);
    expect(modelErrorOf("just a text", "m")).toMatchObject({ code: "unavailable", isRetryable: true });
  });
});
