import { problem } from "@reins/api";
import { ApiError } from "@reins/sdk";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { rendered, renderedText } from "../../test/render.ts";
import { LevelBadge, QualityBadge, VerdictBadge } from "./badge.tsx";
import { Code, Diff, Json } from "./code.tsx";
import { classNames, Facts } from "./layout.tsx";
import { Markdown } from "./markdown.tsx";
import { formatAge, Moment } from "./moment.tsx";
import { Failure, Loaded, ProgressBar } from "./states.tsx";
import { Table } from "./table.tsx";

describe("badges", () => {
  test.each([
    ["allowed", "text-good"],
    ["blocked", "text-bad"],
    ["ask", "text-warn"],
    ["unheard_of", "text-ink-soft"],
  ])("show the verdict %s in its colour", (verdict, tone) => {
    const html = rendered(createElement(VerdictBadge, { verdict }));
    expect(html).toContain(tone);
    expect(html).toContain(`>${verdict}<`);
  });

  test("explain the enforcement level", () => {
    const html = rendered(createElement(LevelBadge, { level: "observed" }));
    expect(html).toContain("no verdict before");
    expect(html).toContain("text-bad");
    expect(rendered(createElement(LevelBadge, { level: "performed" }))).toContain("text-good");
  });

  test("name the kind of an entry in words", () => {
    expect(renderedText(createElement(QualityBadge, { quality: "policy_change" }))).toBe("policy change");
  });
});

describe("text from outside", () => {
  test("has its hidden characters escaped in code, JSON and diffs", () => {
    expect(renderedText(createElement(Code, { text: "a\u202eb" }))).toBe("a⟨U+202E⟩b");
    expect(renderedText(createElement(Json, { value: { "a\u200b": 1 } }))).toBe('{ "a⟨U+200B⟩": 1 }');
    const diff = renderedText(createElement(Diff, { path: "a\nb", before: "x", after: "y\u3164" }));
    expect(diff).toBe("a⟨U+000A⟩b − x + y⟨U+3164⟩");
  });

  test("cannot inject markup", () => {
    expect(rendered(createElement(Code, { text: "<img src=x>" }))).not.toContain("<img");
    expect(rendered(createElement(Markdown, { text: "<img src=x> <script>1</script>" }))).not.toMatch(
      /<img|<script/,
    );
  });

  test("loads no image and sends no referrer from Markdown", () => {
    const html = rendered(
      createElement(Markdown, { text: "![a frog](http://a.test/f.png) [x](http://a.test)" }),
    );
    expect(html).not.toContain("<img");
    expect(html).toContain("a frog");
    expect(html).toContain('rel="noreferrer noopener"');
  });

  test("has no link to a script in Markdown", () => {
    expect(rendered(createElement(Markdown, { text: "[x](javascript:alert(1))" }))).not.toContain(
      "javascript:",
    );
  });

  test("is cut in a long diff, and the rest is counted", () => {
    const after = Array.from({ length: 450 }, (_, line) => `line ${line}`).join("\n");
    const text = renderedText(createElement(Diff, { path: "a", before: "", after }));
    expect(text).toContain("line 399");
    expect(text).not.toContain("line 400");
    expect(text).toContain("Show 50 more lines");
  });
});

describe("a failure", () => {
  test("shows title and detail of a problem", () => {
    const error = new ApiError(409, problem("conflict", "It was answered."));
    expect(renderedText(createElement(Failure, { error }))).toBe("Conflict It was answered.");
  });

  test("shows the message of an error, and any other value", () => {
    expect(renderedText(createElement(Failure, { error: new Error("broken") }))).toBe(
      "The request failed broken",
    );
    expect(renderedText(createElement(Failure, { error: "odd" }))).toBe("The request failed odd");
  });

  test("offers a retry only if there is one", () => {
    const error = new Error("broken");
    expect(renderedText(createElement(Failure, { error, onRetry: () => undefined }))).toContain("Try again");
    expect(renderedText(createElement(Failure, { error }))).not.toContain("Try again");
  });
});

describe("the data of a query", () => {
  const shown = (data: string | undefined, error: unknown) =>
    renderedText(
      createElement(() =>
        Loaded({
          query: { data, error, refetch: () => undefined },
          what: "Loading frogs",
          children: (frogs) => `the frogs: ${frogs}`,
        }),
      ),
    );

  test("is waited for, then shown", () => {
    expect(shown(undefined, null)).toBe("Loading frogs …");
    expect(shown("two", null)).toBe("the frogs: two");
    expect(shown("", undefined)).toBe("the frogs:");
  });

  test("is replaced by an error and a retry if there is none", () => {
    expect(shown(undefined, new Error("no pond"))).toBe("The request failed no pond Try again");
  });

  test("stays below the error of a later attempt", () => {
    expect(shown("two", new Error("no pond"))).toBe("The request failed no pond Try again the frogs: two");
  });
});

test("no failure is shown without an error", () => {
  expect(renderedText(createElement(Failure, { error: null }))).toBe("");
  expect(renderedText(createElement(Failure, { error: undefined }))).toBe("");
});

describe("a progress bar", () => {
  test.each([
    [0.5, "50"],
    [-1, "0"],
    [7, "100"],
  ])("of %d is at %s %%", (part, percent) => {
    const html = rendered(createElement(ProgressBar, { label: "Progress", part }));
    expect(html).toContain(`aria-valuenow="${percent}"`);
    expect(html).toContain(`width:${percent}%`);
  });

  test("has no value while the progress is unknown", () => {
    const html = rendered(createElement(ProgressBar, { label: "Progress", part: undefined }));
    expect(html).not.toContain("aria-valuenow");
  });
});

describe("times", () => {
  test.each([
    [0, "0 s"],
    [59_400, "59 s"],
    [60_000, "1 min"],
    [3_599_000, "59 min"],
    [3_600_000, "1 h"],
    [86_399_000, "23 h"],
    [86_400_000, "1 d"],
    [30 * 86_400_000, "30 d"],
    [-5, "0 s"],
  ])("of %d ms read %s", (milliseconds, text) => {
    expect(formatAge(milliseconds)).toBe(text);
  });

  test("are relative to now, before and after", () => {
    const at = (distance: number) => new Date(Date.now() + distance).toISOString();
    expect(renderedText(createElement(Moment, { at: at(-125_000) }))).toBe("2 min ago");
    expect(renderedText(createElement(Moment, { at: at(125_000) }))).toBe("in 2 min");
  });
});

test("class names that do not apply are left out", () => {
  expect(classNames("a", false, undefined, "b")).toBe("a b");
  expect(classNames()).toBe("");
});

test("facts are pairs of term and value", () => {
  const facts = { Agent: "pond", Lock: undefined, Takes: false, Mandate: null, Reason: "", Uses: 0 };
  const html = rendered(createElement(Facts, { facts }));
  expect(html).toMatch(/<dt[^>]*>Agent<\/dt><dd[^>]*>pond<\/dd>/);
  expect([...html.matchAll(/<dt[^>]*>(\w+)/g)].map(([, name]) => name)).toEqual(["Agent", "Uses"]);
});

test("a table has a caption and column headers for screen readers", () => {
  const html = rendered(
    createElement(Table<number>, {
      label: "Rules",
      rows: [7, 8],
      keyOf: (row) => row,
      isChosen: (row) => row === 8,
      below: (row) => row === 7 && "more about it",
      columns: [
        { title: "Times", isNumber: true, cell: (row) => row },
        { title: "Actions", isHidden: true, cell: (_, index) => `row ${index}` },
      ],
    }),
  );
  expect(html).toContain('<caption class="sr-only">Rules</caption>');
  expect(html).toMatch(/<th[^>]*scope="col"[^>]*text-right[^>]*><span class="">Times/);
  expect(html).toContain('<span class="sr-only">Actions</span>');
  expect(html).toMatch(/<td[^>]*tabular-nums[^>]*>7<\/td>/);
  expect(html).toMatch(/<td[^>]*>row 1<\/td>/);
  expect(html).toMatch(/<td colSpan="2"[^>]*>more about it<\/td>/);
  expect(html.match(/<tr class="bg-accent-wash">/g)).toHaveLength(1);
});
