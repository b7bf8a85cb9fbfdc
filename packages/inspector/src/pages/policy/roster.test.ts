import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { aSelf } from "../../../test/examples.ts";
import { cached, rendered, renderedText } from "../../../test/render.ts";
import { SignIn } from "../../app/sign-in.tsx";
import { shareOf } from "./policy-page.tsx";
import { RosterView, trustNamed } from "./roster.tsx";

const agent = (name: string, trust: string) => ({
  agent: name,
  trust,
  entry: { state: "live", mandate: `${name}.md` },
});
const view = (is_admin: boolean, roster: object) =>
  [
    createElement(SignIn, null, createElement(RosterView)),
    cached([["self"], aSelf({ is_admin })], [["roster"], roster]),
  ] as const;

describe("the roster", () => {
  const roster = {
    agents: [agent("native", "standing"), agent("pond", "registered")],
    faults: ["line 7 is no JSON"],
  };

  test("lists agents with trust, state and mandate, and faults of the file", () => {
    const shown = renderedText(...view(false, roster));
    expect(shown).toContain("line 7 is no JSON");
    expect(shown).toContain("native standing live native.md");
    expect(shown).toContain("pond registered live pond.md");
  });

  test("is changed by admins only", () => {
    expect(rendered(...view(true, roster))).toContain('aria-label="Trust of pond"');
    expect(renderedText(...view(true, roster))).toContain("Register");
    expect(rendered(...view(false, roster))).not.toContain("Trust of pond");
    expect(renderedText(...view(false, roster))).not.toContain("Register");
  });

  test("says what it means to be empty", () => {
    expect(renderedText(...view(false, { agents: [], faults: [] }))).toContain("The roster is empty");
  });

  test.each([
    ["standing", "standing"],
    ["registered", "registered"],
    ["unknown", "unknown"],
    ["root", "unknown"],
    ["", "unknown"],
  ])("reads the trust %j as %s", (name, trust) => {
    expect(trustNamed(name)).toBe(trust);
  });
});

test.each([
  [0, 10, 0],
  [0, 0, 0],
  [5, 10, 50],
  [10, 10, 100],
  [1, 1_000_000, 1],
])("%d of %d is drawn as %d %%", (part, whole, percent) => {
  expect(shareOf(part, whole)).toBe(percent);
});
