import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { TYPES } from "../protocol/types.ts";
import { SCHEMA_FOLDER, schemaFiles } from "./files.ts";

const files = schemaFiles();
const advice = "the schemas are not current; run `node packages/ahp/src/schema/write.ts`";

test("there is a schema for every type of the protocol", () => {
  expect([...files.keys()].sort()).toEqual(
    Object.keys(TYPES)
      .map((name) => `${name}.json`)
      .sort(),
  );
});

test("the folder holds these files and no others", () => {
  expect(readdirSync(SCHEMA_FOLDER).sort(), advice).toEqual([...files.keys()].sort());
});

test.each([...files])("%s is current", (name, text) => {
  expect(readFileSync(new URL(name, SCHEMA_FOLDER), "utf8"), advice).toBe(text);
});

test.each([...files])("%s says what it is about", (_, text) => {
  expect(JSON.parse(text).description).toMatch(/^[A-Z].*[.]$/);
});
