import type { SkillList, SkillSummary } from "@reins/api";
import { Badge, type Tone } from "../../design/badge.tsx";
import { Panel } from "../../design/layout.tsx";
import { Empty } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { visibleLine } from "../../design/visible.ts";

const TONES: Readonly<Record<SkillSummary["trust"]["status"], Tone>> = {
  trusted: "good",
  advisory: "note",
  untrusted: "bad",
};

/** On whose word a skill is used, or why not. */
export function TrustBadge({ trust }: { trust: SkillSummary["trust"] }) {
  const { status, by, who, signer, reason } = trust;
  const title = reason ?? who ?? signer;
  return (
    <Badge tone={TONES[status]} {...(title !== undefined && { title: visibleLine(title) })}>
      {by === undefined ? status : `${status}: ${by}`}
    </Badge>
  );
}

/** The skills of all layers, the strongest layer first. */
export function SkillTable({
  skills,
  chosen,
  onChoose,
}: {
  skills: readonly SkillSummary[];
  chosen: string | undefined;
  onChoose: (id: string) => void;
}) {
  return (
    <Table
      label="Skills"
      rows={skills}
      keyOf={({ id }) => id}
      isChosen={({ id }) => id === chosen}
      empty={
        <Empty title="No skills">
          Skills are folders with a SKILL.md: in the folder “skills” of the home, or in .reins/skills,
          .claude/skills and .agents/skills of a workspace.
        </Empty>
      }
      columns={[
        {
          title: "Skill",
          cell: ({ id }) => (
            <button
              type="button"
              className="cursor-pointer text-left font-medium text-accent hover:underline"
              onClick={() => onChoose(id)}
            >
              {visibleLine(id)}
            </button>
          ),
        },
        { title: "Layer", cell: ({ layer }) => <Badge>{layer}</Badge> },
        { title: "Trust", cell: ({ trust }) => <TrustBadge trust={trust} /> },
        { title: "About", className: "min-w-64", cell: ({ short }) => visibleLine(short) },
        {
          title: "Tools",
          isExact: true,
          className: "break-words",
          cell: ({ allowed_tools }) =>
            allowed_tools.length === 0 ? "all" : allowed_tools.map(visibleLine).join(", "),
        },
      ]}
    />
  );
}

/** What is shadowed, ambiguous, disabled or wrong. */
export function SkillFindings({ list }: { list: SkillList }) {
  const { shadowed, ambiguous, disabled_layers, warnings } = list;
  const found = [
    ...shadowed.map(({ id, winner, loser, loser_origin }) => ({
      kind: "shadowed",
      text: `${visibleLine(id)} of the layer ${loser}, hidden by ${winner}: ${visibleLine(loser_origin)}`,
    })),
    ...ambiguous.map(({ name, ids }) => ({
      kind: "ambiguous",
      text: `${visibleLine(name)} is ${ids.map(visibleLine).join(" or ")}`,
    })),
    ...disabled_layers.map((layer) => ({ kind: "disabled", text: `the layer ${layer}` })),
    ...warnings.map(({ source, message }) => ({
      kind: "warning",
      text: `${visibleLine(source)}: ${visibleLine(message)}`,
    })),
  ];
  if (found.length === 0) return null;
  return (
    <Panel title="Findings" className="min-w-0">
      <ul className="divide-y divide-line text-sm">
        {found.map(({ kind, text }) => (
          <li key={`${kind} ${text}`} className="flex gap-2 px-3 py-1.5">
            <span className="w-20 shrink-0">
              <Badge tone={kind === "warning" ? "warn" : "neutral"}>{kind}</Badge>
            </span>
            <span className="min-w-0 break-words">{text}</span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
