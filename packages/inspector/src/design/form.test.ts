import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { rendered, renderedText } from "../../test/render.ts";
import { Choice, Choices, Field, Form, TextArea, TextInput } from "./form.tsx";

/** The id of the control and the id that its label names. */
const idsIn = (html: string) => [/ id="([^"]+)"/.exec(html)?.[1], / for="([^"]+)"/.exec(html)?.[1]];

describe("a control", () => {
  test.each([
    ["a text input", createElement(TextInput, { label: "Tool", hint: "its name", value: "bash" })],
    ["a text area", createElement(TextArea, { label: "Tool", hint: "its name", value: "bash" })],
    [
      "a choice",
      createElement(Choice, { label: "Tool", hint: "its name", value: "bash", options: ["bash"] }),
    ],
    ["choices", createElement(Choices, { label: "Tool", hint: "its name", options: ["bash"] })],
  ])("has its label and hint: %s", (_, element) => {
    const html = rendered(element);
    const [id, named] = idsIn(html);
    expect(id).toBeDefined();
    expect(named).toBe(id);
    expect(html).toContain("Tool</label>");
    expect(html).toContain("its name</p>");
  });

  test("has no label of its own if it has an aria-label", () => {
    const html = rendered(createElement(TextInput, { "aria-label": "Search", value: "" }));
    expect(html).not.toContain("<label");
    expect(html).toContain('aria-label="Search"');
  });

  test("keeps the attributes of HTML", () => {
    const html = rendered(
      createElement(TextInput, {
        label: "Folder",
        required: true,
        maxLength: 7,
        placeholder: "/",
        value: "",
      }),
    );
    expect(html).toContain("required");
    expect(html).toContain('maxLength="7"');
    expect(html).toContain('placeholder="/"');
  });
});

describe("a choice", () => {
  const options = ["unknown", ["", "from the roster"], [7, "seven"], ["off", "not installed", true]] as const;

  test("has an option for each value, with its name", () => {
    const html = rendered(createElement(Choice, { "aria-label": "Trust", value: "", options }));
    expect(html).toContain('<option value="unknown">unknown</option>');
    expect(html).toMatch(/<option value="" selected[^>]*>from the roster<\/option>/);
    expect(html).toContain('<option value="7">seven</option>');
    expect(html).toMatch(/<option value="off" disabled[^>]*>not installed<\/option>/);
  });

  test("of several values selects each of them", () => {
    const html = rendered(
      createElement(Choices, { "aria-label": "Frogs", value: ["a", "c"], options: ["a", "b", "c"] }),
    );
    expect(html).toContain("multiple");
    expect(html.match(/selected/g)).toHaveLength(2);
  });
});

test("a field labels any control", () => {
  const children = (id: string) => createElement("input", { id, type: "checkbox" });
  const [id, named] = idsIn(rendered(createElement(() => Field({ label: "Sure?", children }))));
  expect(id).toBeDefined();
  expect(named).toBe(id);
  expect(rendered(createElement(() => Field({ children })))).not.toContain("label");
});

test("a form has its name and content", () => {
  const form = createElement(Form, { "aria-label": "An action", onSubmit: () => undefined }, "content");
  expect(rendered(form)).toContain('aria-label="An action"');
  expect(renderedText(form)).toBe("content");
});
