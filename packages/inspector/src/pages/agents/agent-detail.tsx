import type { AgentDetail } from "@reins/api";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, LevelBadge } from "../../design/badge.tsx";
import { Button, Hash } from "../../design/button.tsx";
import { Json } from "../../design/code.tsx";
import { Facts, Panel } from "../../design/layout.tsx";
import { Markdown } from "../../design/markdown.tsx";
import { Moment } from "../../design/moment.tsx";
import { Failure, Waiting } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";
import { useAgent, VerificationBadge } from "./catalogue.tsx";
import { InstallControl, VerifyControl } from "./install-control.tsx";

/** The details of one agent. */
export function AgentDetailPanel({ agent, onClose }: { agent: string; onClose: () => void }) {
  const { is_admin } = useSelf();
  const { data, error, refetch } = useAgent(agent);
  return (
    <Panel
      title={data?.name ?? agent}
      className="min-w-0"
      actions={
        <Button kind="quiet" onClick={onClose}>
          Close
        </Button>
      }
    >
      {error ? (
        <div className="p-3">
          <Failure error={error} onRetry={() => void refetch()} />
        </div>
      ) : data ? (
        <>
          <Support agent={data} />
          {is_admin && !data.built_in && <InstallControl agent={data} />}
          <Held agent={data} />
          {is_admin && data.install && !data.built_in && <VerifyControl agent={data} />}
          <Credentials agent={data} />
          <Provenance agent={data} />
          {data.capabilities && (
            <details className="border-t border-line">
              <summary className="cursor-pointer px-3 py-2 text-sm">Reported capabilities</summary>
              <Json value={data.capabilities} className="max-h-72 rounded-none" />
            </details>
          )}
        </>
      ) : (
        <Waiting what={`Loading ${agent}`} />
      )}
    </Panel>
  );
}

function Support({ agent: { support, refused, agent, megabytes, platforms } }: { agent: AgentDetail }) {
  return (
    <>
      {support.level !== "supported" && support.reason !== undefined && (
        <p className="px-3 pt-2 text-sm text-warn">{support.reason}</p>
      )}
      {refused && (
        <p className="px-3 pt-2 text-sm text-warn">It refused to open a session: {refused.message}</p>
      )}
      <Facts
        facts={[
          ["Id", <code key="id">{agent}</code>],
          ...(megabytes === null ? [] : ([["Takes", `about ${megabytes} MB`]] as const)),
          ...(platforms.length === 0 ? [] : ([["Made for", platforms.join(", ")]] as const)),
        ]}
      />
    </>
  );
}

/** The names of the credentials that an agent would find; values are never shown. */
function Credentials({ agent: { credentials } }: { agent: AgentDetail }) {
  const { found, missing } = credentials;
  return (
    <section className="border-t border-line px-3 py-2">
      <h3 className="pb-1 text-2xs font-medium text-ink-faint">Credentials</h3>
      {found.length + missing.length === 0 ? (
        <p className="text-sm text-ink-soft">None needed.</p>
      ) : (
        <p className="flex flex-wrap gap-1.5">
          {found.map((name) => (
            <Badge key={name} tone="good">
              {name}
            </Badge>
          ))}
          {missing.map((name) => (
            <Badge key={name} title="not found">
              {name}: not found
            </Badge>
          ))}
        </p>
      )}
    </section>
  );
}

/** The enforcement level of an agent, and its evidence. */
function Held({ agent: { enforcement, verification, hostile } }: { agent: AgentDetail }) {
  const faults = verification.faults ?? [];
  const tried = Object.entries(verification.held ?? {}).map(([what, held]) => `${what}: ${held}`);
  return (
    <section className="border-t border-line">
      <h3 className="px-3 pt-2 text-2xs font-medium text-ink-faint">Enforcement</h3>
      <Facts
        facts={[
          [
            "Level",
            <span key="level">
              <LevelBadge level={enforcement.level} /> {enforcement.reason}
            </span>,
          ],
          [
            "Verified",
            <span key="verified">
              <VerificationBadge verification={verification} />{" "}
              {verification.state === "not_needed" && "not needed: Reins performs its actions itself"}
              {verification.state === "unverified" && "not verified yet"}
              {verification.at !== undefined && <Moment at={verification.at} />} {verification.why}
            </span>,
          ],
          ...(tried.length > 0 ? ([["Probes", tried.join(", ")]] as const) : []),
          ...(enforcement.unasked.length > 0
            ? ([["Without asking", enforcement.unasked.join(", ")]] as const)
            : []),
          ...(faults.length > 0
            ? ([
                [
                  "Gate not live",
                  <span key="faults" className="text-bad">
                    {faults.join("; ")}
                  </span>,
                ],
              ] as const)
            : []),
          ...(hostile
            ? ([
                [
                  "Hostile folder",
                  <div key="hostile" className={hostile.held ? "" : "text-bad"}>
                    {hostile.held ? "its profile holds" : "its profile does not hold"}
                    <Markdown text={hostile.reason} className="text-ink-soft" />
                  </div>,
                ],
              ] as const)
            : []),
        ]}
      />
    </section>
  );
}

const SOURCES = {
  lockfile: "exactly what the catalogue holds",
  override: "versions chosen at install",
  local: "already on this machine",
  built_in: "part of Reins",
} as const;

/** The origin of an install, package by package. */
function Provenance({ agent: { install, packages, versions } }: { agent: AgentDetail }) {
  if (!install) return null;
  return (
    <section className="border-t border-line">
      <h3 className="px-3 pt-2 text-2xs font-medium text-ink-faint">Origin</h3>
      <Facts
        facts={[
          ["Source", SOURCES[install.source]],
          ["Version", `${install.version}${install.outdated ? ", the catalogue has moved on since" : ""}`],
          ...(install.native
            ? ([["The agent itself", `${install.native.name} ${install.native.version}`]] as const)
            : []),
          ...(install.said === undefined ? [] : ([["Reports itself as", install.said]] as const)),
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
