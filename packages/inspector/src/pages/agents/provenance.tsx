import type { AgentDetail } from "@reins/api";
import { Facts } from "../../design/facts.tsx";
import { Hash } from "../../design/hash.tsx";
import { Moment } from "../../design/moment.tsx";
import { Cell, Table } from "../../design/table.tsx";

const SOURCES = {
  lockfile: "exactly what the catalogue holds",
  override: "versions that somebody asked for",
  local: "was on this machine already",
  built_in: "part of Reins",
} as const;

/** Where an install came from, package by package. */
export function Provenance({ agent: { install, packages, versions } }: { agent: AgentDetail }) {
  if (!install) return null;
  return (
    <section className="border-t border-line">
      <h3 className="px-3 pt-2 text-2xs font-medium text-ink-faint">Where it came from</h3>
      <Facts
        facts={[
          ["Source", SOURCES[install.source]],
          ["Version", `${install.version}${install.outdated ? ", the catalogue has moved on since" : ""}`],
          ...(install.native
            ? ([["The agent itself", `${install.native.name} ${install.native.version}`]] as const)
            : []),
          ...(install.said === undefined ? [] : ([["Says of itself", install.said]] as const)),
          ...(install.installed_at === undefined
            ? []
            : ([["Installed", <Moment key="at" at={install.installed_at} />]] as const)),
          ...(install.lock === undefined
            ? []
            : ([["Lock", <Hash key="lock" value={install.lock} length={16} />]] as const)),
          ...(versions.length > 1 ? ([["On disk", versions.join(", ")]] as const) : []),
        ]}
      />
      {packages.length > 0 && (
        <details className="border-t border-line">
          <summary className="cursor-pointer px-3 py-2 text-sm">
            {packages.length} {packages.length === 1 ? "package" : "packages"}, with checksums
          </summary>
          <div className="max-h-80 overflow-auto">
            <Table
              label="Packages"
              columns={[{ title: "Package" }, { title: "Version" }, { title: "Checksum" }]}
            >
              {packages.map(({ name, version, integrity }) => (
                <tr key={`${name}@${version}`}>
                  <Cell isExact>{name}</Cell>
                  <Cell isExact>{version}</Cell>
                  <Cell>{integrity !== undefined && <Hash value={integrity} length={20} />}</Cell>
                </tr>
              ))}
            </Table>
          </div>
        </details>
      )}
    </section>
  );
}
