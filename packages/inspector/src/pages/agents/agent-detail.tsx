import type { AgentDetail } from "@reins/api";
import { useSelf } from "../../app/sign-in.tsx";
import { Badge, LevelBadge } from "../../design/badge.tsx";
import { Button, Hash } from "../../design/button.tsx";
import { Json } from "../../design/code.tsx";
import { Facts, Panel, Section } from "../../design/layout.tsx";
import { Markdown } from "../../design/markdown.tsx";
import { Moment } from "../../design/moment.tsx";
import { Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { useAgent, VerificationBadge } from "./catalogue.tsx";
import { InstallControl, VerifyControl } from "./install-control.tsx";

/** The details of one agent. */
export function AgentDetailPanel({ agent, onClose }: { agent: string; onClose: () => void }) {
  const { is_admin } = useSelf();
  const query = useAgent(agent);
  return (
    <Panel
      title={query.data?.name ?? agent}
      className="min-w-0"
      actions={
        <Button kind="quiet" onClick={onClose}>
          Close
        </Button>
      }
    >
      <Loaded query={query} what={`Loading ${agent}`}>
        {(data) => (
          <>
            <Support agent={data} />
            {is_admin && !data.built_in && <InstallControl agent={data} />}
            <Enforcement agent={data} />
            {is_admin && data.install && !data.built_in && <VerifyControl agent={data} />}
            <Credentials agent={data} />
            <Origin agent={data} />
            {data.capabilities && (
              <details className="border-t border-line">
                <summary className="cursor-pointer px-3 py-2 text-sm">Reported capabilities</summary>
                <Json value={data.capabilities} className="max-h-72 rounded-none" />
              </details>
            )}
          </>
        )}
      </Loaded>
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
        facts={{
          Id: <code>{agent}</code>,
          Size: megabytes !== null && `about ${megabytes} MB`,
          Platforms: platforms.join(", "),
        }}
      />
    </>
  );
}

/** The names of the credentials that an agent would find; values are never shown. */
function Credentials({ agent: { credentials } }: { agent: AgentDetail }) {
  const { found, missing } = credentials;
  return (
    <Section title="Credentials">
      <p className="flex flex-wrap gap-1.5 px-3 pt-1 pb-2 text-sm text-ink-soft">
        {found.length + missing.length === 0 && "None needed."}
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
    </Section>
  );
}

/** The enforcement level of an agent, and its evidence. */
function Enforcement({ agent: { enforcement, verification, hostile } }: { agent: AgentDetail }) {
  const { state, at, why, faults = [], held = {} } = verification;
  return (
    <Section title="Enforcement">
      <Facts
        facts={{
          Level: (
            <>
              <LevelBadge level={enforcement.level} /> {enforcement.reason}
            </>
          ),
          Verified: (
            <>
              <VerificationBadge verification={verification} />{" "}
              {state === "not_needed" && "not needed: Reins performs its actions itself"}
              {state === "unverified" && "not verified yet"}
              {at !== undefined && <Moment at={at} />} {why}
            </>
          ),
          Probes: Object.entries(held)
            .map(([what, result]) => `${what}: ${result}`)
            .join(", "),
          "Without asking": enforcement.unasked.join(", "),
          "Gate not live": faults.length > 0 && <span className="text-bad">{faults.join("; ")}</span>,
          "Hostile folder": hostile && (
            <div className={hostile.held ? "" : "text-bad"}>
              {hostile.held ? "its profile holds" : "its profile does not hold"}
              <Markdown text={hostile.reason} className="text-ink-soft" />
            </div>
          ),
        }}
      />
    </Section>
  );
}

const SOURCES = {
  lockfile: "exactly what the catalogue holds",
  override: "versions chosen at install",
  registry: "the version that the ACP registry names",
  local: "already on this machine",
  built_in: "part of Reins",
} as const;

/** The origin of an install, package by package. */
function Origin({ agent: { install, packages, versions } }: { agent: AgentDetail }) {
  if (!install) return null;
  const { source, version, outdated, update, registry, artifact, native, said, installed_at, lock } = install;
  return (
    <Section title="Origin">
      <Facts
        facts={{
          Source: SOURCES[source],
          Version: `${version}${outdated ? ", older than in the catalogue" : ""}`,
          Offered: update,
          Registry: registry?.url,
          Archive: artifact && `${artifact.url} (SHA-256 ${artifact.sha256})`,
          "The agent itself": native && `${native.name} ${native.version}`,
          "Reports itself as": said,
          Installed: installed_at !== undefined && <Moment at={installed_at} />,
          Lock: lock !== undefined && <Hash value={lock} length={16} />,
          "On disk": versions.length > 1 && versions.join(", "),
        }}
      />
      {packages.length > 0 && (
        <details className="border-t border-line">
          <summary className="cursor-pointer px-3 py-2 text-sm">
            {packages.length} {packages.length === 1 ? "package" : "packages"}, with checksums
          </summary>
          <div className="max-h-80 overflow-auto">
            <Table
              label="Packages"
              rows={packages}
              keyOf={({ name, version }) => `${name}@${version}`}
              columns={[
                { title: "Package", isExact: true, cell: ({ name }) => name },
                { title: "Version", isExact: true, cell: (one) => one.version },
                {
                  title: "Checksum",
                  cell: ({ integrity }) => integrity !== undefined && <Hash value={integrity} length={20} />,
                },
              ]}
            />
          </div>
        </details>
      )}
    </Section>
  );
}
