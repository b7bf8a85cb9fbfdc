import { describe, expect, test } from "vitest";
import { fitting } from "./injection.ts";
import { MAIL_LIMITS } from "./limits.ts";
import { readMessage } from "./message.ts";

function message(body: string) {
  return readMessage(JSON.stringify({ to: "coder", from: "reed", subject: "s", body }))!;
}

describe("what fits into a turn", () => {
  test("is so many messages, oldest first", () => {
    const many = Array.from({ length: 40 }, (_, index) => message(`${index}`));
    const chosen = fitting(many, MAIL_LIMITS).map(({ body }) => Number(body));
    expect(chosen).toEqual(Array.from({ length: 16 }, (_, index) => index));
  });

  test("is so many bytes", () => {
    const large = Array.from({ length: 10 }, () => message("x".repeat(15_000)));
    expect(fitting(large, MAIL_LIMITS)).toHaveLength(4);
  });

  test("is one message however long it is, cut where it has to be", () => {
    const [only, ...others] = fitting([message("ä".repeat(100_000)), message("next")], {
      ...MAIL_LIMITS,
      perTurnBytes: 10,
    });
    expect(others).toEqual([]);
    expect(only).toMatchObject({ body: "ä".repeat(16_384), omitted: 100_000 - 16_384 });
  });

  test("is nothing when there is nothing", () => {
    expect(fitting([], MAIL_LIMITS)).toEqual([]);
  });
});
