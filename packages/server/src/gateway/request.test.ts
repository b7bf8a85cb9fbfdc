import { expect, test } from "vitest";
import { accepts } from "./request.ts";

test.each([
  [undefined, true],
  ["", true],
  ["*/*", true],
  ["application/*", true],
  ["text/html, application/json;q=0.5", true],
  ["APPLICATION/JSON", true],
  ["application/json; q=0", false],
  ["application/json;q=0.000", false],
  ["text/event-stream", false],
  ["text/html", false],
])("Accept %j allows JSON: %s", (accept, taken) => {
  expect(accepts({ headers: { accept } }, "application/json")).toBe(taken);
});
