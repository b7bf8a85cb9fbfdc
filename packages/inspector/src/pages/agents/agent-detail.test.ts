import type { AgentDetail, AgentProcess } from "@reins/api";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { anAgent, aSelf } from "../../../test/examples.ts";
import { cached, renderedText } from "../../../test/render.ts";
import { SignIn } from "../../app/sign-in.tsx";
import { AgentDetailPanel } from "./agent-detail.tsx";
import { ProcessTable } from "./agents-page.tsx";

const AT = new Date().toISOString();

describe("the table of processes", () => {
  const process = (more: Partial<AgentProcess> = {}): AgentProcess => ({
    id: "x1",
    agent: "pond",
    version: "1.0.0",
    pid: 42,
    principal: "ada",
    started_at: AT,
    memory_bytes: 64 * 1_024 ** 2,
    processes: 3,
    confined: true,
    sessions: ["b".repeat(64)],
    stderr: null,
    ...more,
  });
  const table = (is_admin: boolean, ...processes: readonly AgentProcess[]) =>
    renderedText(
      createElement(SignIn, null, createElement(ProcessTable)),
      cached([["self"], aSelf({ is_admin })], [["processes"], { processes }]),
    );

  test("shows process id, memory with children, user and sessions", () => {
    expect(table(true, process())).toContain(
      "pond 1.0.0 confined 42 ada 64.0 MB 3 processes 0 s ago bbbbbbbbbb…",
    );
  });

  test("shows no memory of an agent inside Reins, nor where the system does not report it", () => {
    expect(table(true, process({ pid: null, processes: 1 }))).toContain("inside Reins ada – 0 s ago");
    expect(table(true, process({ memory_bytes: null, processes: null }))).toContain("42 ada – 0 s ago");
  });

  test("offers restart and kill to admins only, and standard error if there is some", () => {
    expect(table(true, process())).toContain("Restart Kill");
    expect(table(false, process())).not.toContain("Kill");
    expect(table(true, process())).not.toContain("Standard error");
    const stderr = { head: "cold", tail: "", omitted: 0 };
    expect(table(true, process({ stderr }))).toContain("Standard error");
  });

  test("says how to start an agent if none runs", () => {
    expect(table(true)).toContain("No agent is running Start a session");
  });
});

describe("the details of an agent", () => {
  const detail = (more: Partial<AgentDetail> = {}): AgentDetail => ({
    ...anAgent(),
    versions: [],
    packages: [],
    quirks: null,
    probes: [],
    processes: [],
    ...more,
  });
  const panel = (agent: AgentDetail, is_admin = true) =>
    renderedText(
      createElement(
        SignIn,
        null,
        createElement(AgentDetailPanel, { agent: "pond", onClose: () => undefined }),
      ),
      cached([["self"], aSelf({ is_admin })], [["agents", "one", "pond"], agent]),
    );
  const install = {
    source: "override",
    provenance: "fallback",
    non_registry: true,
    update: null,
    version: "1.2.3",
    outdated: true,
    lock: "f".repeat(64),
  } as const;

  test("offer to install and verify to admins only", () => {
    expect(panel(detail())).toContain("Install");
    expect(panel(detail({ install }))).toContain("Verify that it asks");
    expect(panel(detail({ install }), false)).not.toMatch(/Verify that it asks|Install again/);
    expect(panel(detail({ install, built_in: true }))).not.toContain("Verify that it asks");
  });

  test("show level, probes and faults of the verification", () => {
    const verification: AgentDetail["verification"] = {
      state: "verified",
      live: false,
      held: { write: "asked", run: "unasked" },
      faults: ["it ran without asking"],
    };
    const shown = panel(detail({ install, verification }));
    expect(shown).toContain("Level asked it asks");
    expect(shown).toContain("Probes write: asked, run: unasked");
    expect(shown).toContain("it ran without asking");
    expect(panel(detail({ install }))).toContain("not verified yet");
  });

  test("show where an install came from", () => {
    const packages = [{ name: "pond", version: "1.2.3", integrity: "sha512-abc" }];
    const shown = panel(detail({ install, packages, versions: ["1.2.3", "1.0.0"] }));
    expect(shown).toContain("Source versions chosen at install");
    expect(shown).toContain("Version 1.2.3, older than in the catalogue");
    expect(shown).toContain("On disk 1.2.3, 1.0.0");
    expect(shown).toContain("1 package, with checksums");
  });

  test("show which credentials would be found, and why a session was refused", () => {
    const credentials = { found: ["POND_KEY"], missing: ["OTHER_KEY"] };
    const shown = panel(detail({ credentials, refused: { code: 1, message: "log in first" } }));
    expect(shown).toMatch(/POND_KEY.*OTHER_KEY/);
    expect(shown).toContain("It refused to open a session: log in first");
    expect(panel(detail())).toContain("None needed.");
  });

  test("show whether the profile holds in a hostile folder", () => {
    expect(panel(detail({ hostile: { held: false, reason: "hooks ran" } }))).toContain(
      "its profile does not hold hooks ran",
    );
  });
});
