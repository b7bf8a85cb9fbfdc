import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { renderedText } from "../../../test/render.ts";
import { messagesByLine } from "../policy/draft-editor.tsx";
import { sticksToEnd, Timeline } from "./timeline.tsx";

/** A box of 100 pixels with a content of 1,000, scrolled so far. */
const at = (scrollTop: number) => ({ scrollHeight: 1_000, clientHeight: 100, scrollTop });
const NEVER = Number.POSITIVE_INFINITY;

describe("the end of a conversation", () => {
  test("stays in view while the content grows by itself", () => {
    expect(sticksToEnd(true, at(500), NEVER)).toBe(true);
    expect(sticksToEnd(true, at(500), 1_000)).toBe(true);
  });

  test("is left when the user scrolls away", () => {
    expect(sticksToEnd(true, at(500), 10)).toBe(false);
    expect(sticksToEnd(true, at(500), 999)).toBe(false);
  });

  test("is not returned to until the user reaches it", () => {
    expect(sticksToEnd(false, at(500), NEVER)).toBe(false);
    expect(sticksToEnd(false, at(860), NEVER)).toBe(false);
    expect(sticksToEnd(false, at(861), 10)).toBe(true);
    expect(sticksToEnd(false, at(900), 10)).toBe(true);
  });
});

test("a conversation at its end has no button that leads there", () => {
  const timeline = createElement(Timeline, { items: [], origins: [], isGrowing: false });
  expect(renderedText(timeline)).toBe("");
});

describe("the marks of a draft", () => {
  test("are the messages about each line", () => {
    const marks = [
      { line: 3, message: "unknown verdict" },
      { line: 1, message: "no name" },
      { line: 3, message: "unreachable" },
    ];
    expect([...messagesByLine(marks)]).toEqual([
      [3, "unknown verdict\nunreachable"],
      [1, "no name"],
    ]);
  });

  test("leave out what is about the whole text", () => {
    expect(messagesByLine([{ line: null, message: "no rules" }]).size).toBe(0);
    expect(messagesByLine([]).size).toBe(0);
  });
});
