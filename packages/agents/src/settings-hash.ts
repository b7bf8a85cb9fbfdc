import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fill } from "@reins/kit";
import type { AgentEntry } from "./agent-entry.ts";
import { CATALOGUE_FILES, launchOf } from "./agent-launch.ts";

/**
 * The SHA-256 of all that an entry makes of an agent: how it is started, which files it finds, what its sessions are
 * told. It is the same on every machine and changes whenever the agent would run under other settings.
 */
export function settingsHash(entry: AgentEntry): string {
  const { start, profile, strip, modes, endpoint } = entry;
  const imports = (start?.imports ?? []).map((module) =>
    readFileSync(fill(module, { catalogue: CATALOGUE_FILES }), "utf8"),
  );
  const files = start
    ? launchOf(entry, {
        folders: { home: "/home", temporary: "/tmp" },
        install: "/install",
        environment: {},
        node: "node",
        platform: Object.keys(typeof start.file === "string" ? {} : start.file)[0] ?? "any",
      }).files
    : {};
  return createHash("sha256")
    .update(JSON.stringify(sorted({ start, profile, strip, modes, endpoint, files, imports })))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
