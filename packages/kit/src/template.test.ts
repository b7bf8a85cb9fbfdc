// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is what templates look like
import { describe, expect, it } from "vitest";
import { fill, fillDeep } from "./template.ts";

describe("a template", () => {
  it("takes values by name", () => {
    expect(fill("${url}/v1 and ${key}", { url: "http://localhost", key: "k" })).toBe(
      "http://localhost/v1 and k",
    );
  });

  it("leaves other braces alone", () => {
    expect(fill("{env:KEY} $HOME $(pwd)", {})).toBe("{env:KEY} $HOME $(pwd)");
  });

  it("quotes for JSON and TOML", () => {
    expect(fill('x = "${model|quoted}"', { model: 'a "b"\n' })).toBe('x = "a \\"b\\"\\n"');
  });

  it("writes the lines of a new file in a patch, also inside quotes", () => {
    expect(fill("${content|added}", { content: "one\ntwo\n" })).toBe("+one\n+two");
    expect(fill("${content|added|quoted}", { content: "one\ntwo\n" })).toBe("+one\\n+two");
  });

  it("goes into lists and objects, and keeps a value what it is", () => {
    const values = { arguments: { a: [1] }, path: "/p" };
    expect(fillDeep({ given: "${arguments}", list: ["${path}/x", 3, null] }, values)).toEqual({
      given: { a: [1] },
      list: ["/p/x", 3, null],
    });
  });

  it("says which value or filter is missing", () => {
    expect(() => fill("at ${place}", {})).toThrow('There is no value for ${place} in "at ${place}".');
    expect(() => fill("${place|loud}", { place: "x" })).toThrow('There is no filter "loud".');
  });
});
