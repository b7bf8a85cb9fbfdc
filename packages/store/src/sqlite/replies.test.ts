import { describe, expect, it } from "vitest";
import { Replies } from "./replies.ts";

describe("the replies of a thread", () => {
  function replies() {
    const sent: unknown[] = [];
    return {
      sent,
      replies: new Replies({ postMessage: (message) => void sent.push(structuredClone(message)) }),
    };
  }

  it("say what cannot be sent, instead of it", () => {
    const { sent, replies: toTest } = replies();
    toTest.answer(1, { text: "fine" });
    toTest.answer(2, () => "not data");
    expect(sent).toMatchObject([
      { id: 1, outcome: { results: { text: "fine" } } },
      { id: 2, outcome: { error: { code: "invalid", message: expect.stringContaining("not data") } } },
    ]);
  });

  it("tell the outcome of every commit but of the one that cannot be told", () => {
    const { sent, replies: toTest } = replies();
    toTest.applied(1, [
      { results: [1] },
      { results: [() => 2] },
      { error: { code: "conflict", message: "no" } },
      { results: [undefined, undefined] },
    ]);
    expect(sent).toMatchObject([
      [
        1,
        [
          [1],
          { error: { code: "invalid", message: expect.stringContaining("was kept") } },
          { error: { code: "conflict", message: "no" } },
          2,
        ],
      ],
    ]);
  });
});
