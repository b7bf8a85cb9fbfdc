/** Which of our packages each package may import: the table of ARCHITECTURE.md. A package without a row has no place. */
export const MAY_IMPORT: ReadonlyMap<string, readonly string[]> = new Map([
  ["kit", []],
  ["acp", ["kit"]],
  ["ahp", ["kit"]],
  ["ahp-conformance", ["kit", "ahp"]],
  ["store", ["kit"]],
  ["ledger", ["kit", "store"]],
  ["verify", []],
  ["policy", ["kit"]],
  ["runner", ["kit"]],
  ["scripted-model", ["kit"]],
  ["agents", ["kit", "acp", "runner", "scripted-model"]],
  ["mcp", ["kit", "runner"]],
  ["gateway", ["kit"]],
  ["bridge", ["kit", "acp", "store"]],
  ["graph", ["kit", "store"]],
  ["supervisor", ["kit", "ahp", "store", "ledger", "policy"]],
  ["telemetry", ["kit", "ledger", "supervisor"]],
  ["agent", ["kit", "acp", "bridge"]],
  [
    "host",
    [
      "kit",
      "acp",
      "store",
      "ledger",
      "supervisor",
      "runner",
      "agents",
      "mcp",
      "gateway",
      "graph",
      "bridge",
      "agent",
    ],
  ],
  ["haak", ["kit", "acp", "store", "ledger", "supervisor", "agents", "host"]],
  ["api", []],
  [
    "server",
    ["kit", "acp", "ahp", "api", "agents", "host", "haak", "telemetry", "supervisor", "ledger", "store"],
  ],
  ["sdk", ["kit", "acp", "api", "verify"]],
  [
    "cli",
    [
      "kit",
      "acp",
      "ahp",
      "ahp-conformance",
      "store",
      "ledger",
      "verify",
      "policy",
      "runner",
      "agents",
      "gateway",
      "graph",
      "bridge",
      "supervisor",
      "agent",
      "host",
      "haak",
      "telemetry",
      "api",
      "server",
      "sdk",
    ],
  ],
  ["inspector", ["kit", "acp", "api", "sdk", "verify"]],
]);

/** Packages that the tests of any package may import, beside what its row names. */
export const FOR_TESTS: ReadonlySet<string> = new Set(["scripted-model"]);

/** The only files outside its package that a package's tests, benchmarks and torture runs may import. */
export const SHARED_WITH_TESTS: ReadonlySet<string> = new Set([
  "packages/agents/test/acp-agent.ts",
  "packages/agents/test/agent-registry.ts",
  "packages/agents/test/agent-room.ts",
  "packages/agents/test/archives.ts",
  "packages/agents/test/package-registry.ts",
  "packages/agents/test/test-agents.ts",
  "packages/host/system/fixtures/home.ts",
  "packages/kit/test/tar.ts",
  "packages/mcp/system/fixtures/home.ts",
  "packages/mcp/system/fixtures/raw-agent.ts",
  "packages/runner/test/agents.ts",
  "packages/runner/test/bubblewrap.ts",
  "packages/runner/test/with-sandbox.ts",
  "packages/runner/torture/trees/expectations.ts",
  "packages/runner/torture/trees/nasty-tree.ts",
  "packages/runner/torture/trees/planted.ts",
  "packages/runner/torture/trees/residents.ts",
  "packages/sdk/system/fixtures/server.ts",
  "packages/server/system/fixtures/issuer.ts",
  "packages/store/test/check-statements.ts",
  "packages/store/test/child.ts",
  "packages/store/test/deadly-database.ts",
  "packages/store/test/postgres-server.ts",
  "scripts/bench/bench.ts",
  "scripts/root.ts",
  "scripts/test/haak-home.ts",
  "scripts/test/program.ts",
  "scripts/test/registry.ts",
  "scripts/test/requirement.ts",
  "scripts/torture/random.ts",
  "scripts/torture/torture.ts",
]);

/** The tests that compare or measure code of several packages and import it where it is. */
export const REACHES_ALL_PACKAGES: ReadonlySet<string> = new Set([
  "scripts/doors.test.ts",
  "scripts/growth/growth.test.ts",
  "scripts/json-borders.test.ts",
  "scripts/visible.test.ts",
]);

/** The scope under which our packages are published. */
export const SCOPE = "@reins/";

/** The most lines of a source file, and of test code. */
export const LINE_LIMIT = { source: 400, other: 1_000 };
