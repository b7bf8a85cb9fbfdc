import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { accessMatrix } from "../src/access-matrix.ts";
import { ACCESS_REFERENCE, API_REFERENCE, apiReference, everyOperation } from "./api-reference.ts";

describe("the authorization matrix", () => {
  it("says what the operations declare; npm run schemas writes it anew", async () => {
    expect(await readFile(ACCESS_REFERENCE, "utf8")).toBe(accessMatrix(everyOperation));
  });
});

describe("the page about the API", () => {
  it("says what the schemas say; npm run schemas writes it anew", async () => {
    expect(await readFile(API_REFERENCE, "utf8")).toBe(apiReference(everyOperation));
  });

  it("has every operation, with what goes in and what comes out", () => {
    const page = apiReference(everyOperation);
    for (const { method, path } of everyOperation) expect(page).toContain(`### ${method} ${path}\n`);
    expect(page).toContain("| `decision` | `allow_once` \\| `allow_always` \\| `deny` |");
  });
});
