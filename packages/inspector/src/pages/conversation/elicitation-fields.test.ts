import { expect, test } from "vitest";
import { formContent, formFields } from "./questions.tsx";

const schema = {
  type: "object",
  properties: {
    branch: { type: "string", title: "Branch", description: "where to push" },
    times: { type: "integer", default: 2 },
    force: { type: "boolean" },
    color: { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] },
    size: { oneOf: [{ const: "s", title: "Small" }, { const: "l" }] },
  },
  required: ["branch"],
};

test("converts a schema to form fields", () => {
  expect(
    formFields(schema)?.map(({ name, label, kind, isRequired, initial }) => [
      name,
      label,
      kind,
      isRequired,
      initial,
    ]),
  ).toEqual([
    ["branch", "Branch", "text", true, ""],
    ["times", "times", "number", false, "2"],
    ["force", "force", "boolean", false, ""],
    ["color", "color", "choice", false, ""],
    ["size", "size", "choice", false, ""],
  ]);
  expect(formFields(schema)?.flatMap(({ choices }) => choices)).toEqual([
    { value: "r", name: "Red" },
    { value: "g", name: "Green" },
    { value: "s", name: "Small" },
    { value: "l", name: "l" },
  ]);
});

test("converts values to the types of the schema and leaves out empty ones", () => {
  const fields = formFields(schema) ?? [];
  expect(formContent(fields, { branch: "main", color: "g" })).toEqual({
    branch: "main",
    times: 2,
    force: false,
    color: "g",
  });
});

test("treats null as absent", () => {
  const properties = { pond: { type: "string", title: null, description: null, default: null, enum: null } };
  expect(formFields({ properties, required: null })).toMatchObject([
    { name: "pond", label: "pond", kind: "text", initial: "" },
  ]);
});

test("supports multiple choices", () => {
  const properties = {
    frogs: { type: "array", items: { type: "string", enum: ["green", "brown"] }, default: ["brown"] },
    ponds: { type: "array", items: { anyOf: [{ const: "d", title: "Deep" }, { const: "s" }] } },
  };
  const fields = formFields({ properties }) ?? [];
  expect(fields.map(({ kind, choices }) => [kind, choices.map(({ name }) => name)])).toEqual([
    ["choices", ["green", "brown"]],
    ["choices", ["Deep", "s"]],
  ]);
  expect(formContent(fields, { ponds: '["d","s"]' })).toEqual({ frogs: ["brown"], ponds: ["d", "s"] });
});

test("rejects a schema that it cannot read", () => {
  expect(formFields("nonsense")).toBeUndefined();
  expect(formFields({ properties: { pond: { type: "string", enum: [1] } } })).toBeUndefined();
  expect(formFields(undefined)).toEqual([]);
});
