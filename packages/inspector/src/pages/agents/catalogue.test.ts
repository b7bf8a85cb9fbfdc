import type { Agent } from "@reins/api";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { anAgent } from "../../../test/examples.ts";
import { rendered, renderedText } from "../../../test/render.ts";
import { Catalogue, VerificationBadge } from "./catalogue.tsx";

const install = {
  source: "lockfile",
  provenance: "fallback",
  non_registry: true,
  update: null,
  version: "1.2.3",
  outdated: false,
} as const;
const list = (...agents: readonly Agent[]) =>
  createElement(Catalogue, { agents, chosen: agents[0]?.agent, onChoose: () => undefined });
const row = (more: Partial<Agent>) => renderedText(list(anAgent(more)));

describe("the catalogue", () => {
  test("lists running agents first, then installed, available and unsupported ones", () => {
    const shown = rendered(
      list(
        anAgent({ agent: "d", name: "Unsupported", support: { level: "unsupported" } }),
        anAgent({ agent: "c", name: "Available" }),
        anAgent({ agent: "b", name: "Installed", install }),
        anAgent({ agent: "a", name: "Running", install, running: 1 }),
      ),
    );
    const names = ["Running", "Installed", "Available", "Unsupported"];
    expect(names.map((name) => shown.indexOf(`>${name}<`))).toEqual(
      names.map((name) => shown.indexOf(`>${name}<`)).toSorted((one, other) => one - other),
    );
  });

  test.each([
    [{}, "not installed, about 12 MB"],
    [{ megabytes: null }, "not installed"],
    [{ installing: true, install }, "installing"],
    [{ built_in: true, install }, "built in"],
    [{ install }, "1.2.3"],
    [{ support: { level: "unsupported", reason: "no Linux" } }, "not supported"],
  ] as const)("shows for %j: %s", (more, text) => {
    expect(row(more)).toContain(text);
  });

  test("shows level and verification of installed agents only", () => {
    expect(row({ install })).toContain("unverified asked");
    expect(row({})).not.toContain("asked");
  });

  test("warns if an installed agent would find no credentials", () => {
    const credentials = { found: [], missing: ["POND_KEY"] };
    expect(row({ install, credentials })).toContain("no credentials");
    expect(rendered(list(anAgent({ install, credentials })))).toContain("any of POND_KEY");
    expect(row({ install, credentials: { found: ["POND_KEY"], missing: ["OTHER"] } })).not.toContain(
      "no credentials",
    );
    expect(row({ credentials })).not.toContain("no credentials");
    expect(row({ install, built_in: true, credentials })).not.toContain("no credentials");
  });

  test("marks the selected agent and counts running processes", () => {
    const html = rendered(list(anAgent({ running: 2 }), anAgent({ agent: "other" })));
    expect(html.match(/aria-pressed="true"/g)).toHaveLength(1);
    expect(html).toContain("2 running");
  });
});

describe("the verification of an agent", () => {
  const badge = (verification: Agent["verification"]) => createElement(VerificationBadge, { verification });

  test("is bad if the gate is not live, with the faults", () => {
    const html = rendered(badge({ state: "verified", live: false, faults: ["wrote", "ran"] }));
    expect(html).toContain("gate not live");
    expect(html).toContain('title="wrote; ran"');
    expect(html).toContain("text-bad");
  });

  test("is the state otherwise, with the reason", () => {
    expect(renderedText(badge({ state: "verified", live: true }))).toBe("verified");
    expect(rendered(badge({ state: "outdated", why: "new version" }))).toContain('title="new version"');
    expect(renderedText(badge({ state: "not_needed" }))).toBe("");
  });
});
