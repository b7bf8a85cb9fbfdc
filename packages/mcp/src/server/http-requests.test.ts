import { describe, expect, test } from "vitest";
import { headerValue, parameterHeaders } from "./http-requests.ts";

describe("headers that repeat arguments", () => {
  const marked = (header: unknown, more: object = {}) => ({ "x-mcp-header": header, ...more });

  test("are made where the schema asks for them, at any depth", () => {
    const schema = {
      properties: {
        region: marked("Region"),
        count: marked("Count"),
        isDry: marked("Dry"),
        place: { properties: { city: marked("City") } },
        plain: {},
      },
    };
    const given = { region: "eu", count: 3, isDry: false, place: { city: "Köln" }, plain: "x" };
    expect(parameterHeaders(schema, given)).toEqual({
      "Mcp-Param-Region": "eu",
      "Mcp-Param-Count": "3",
      "Mcp-Param-Dry": "false",
      "Mcp-Param-City": `=?base64?${Buffer.from("Köln").toString("base64")}?=`,
    });
  });

  test("are left out for what is absent, no plain value, or named so that no header can be", () => {
    const schema = { properties: { a: marked("A"), b: marked("B"), c: marked("C\r\nX: y"), d: marked(5) } };
    expect(parameterHeaders(schema, { a: null, b: { x: 1 }, c: "v", d: "v" })).toEqual({});
    expect(parameterHeaders(undefined, {})).toEqual({});
    expect(parameterHeaders(schema, "text")).toEqual({});
  });

  test.each(["", " lead", "trail ", "line\nfeed", "ü", "=?base64?eA==?="])(
    "carry %j marked as base64",
    (text) => {
      const value = headerValue(text);
      expect(value).toMatch(/^=\?base64\?.*\?=$/);
      expect(Buffer.from(value.slice(9, -2), "base64").toString()).toBe(text);
    },
  );

  test("carry plain text as it is", () => {
    expect(headerValue("a b\tc!~")).toBe("a b\tc!~");
  });
});
