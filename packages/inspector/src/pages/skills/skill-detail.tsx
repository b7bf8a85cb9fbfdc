import { type SkillDetails, skillOperations } from "@reins/api";
import { call } from "../../api/call.ts";
import { useChange, useGet } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Facts, Panel, Section } from "../../design/layout.tsx";
import { Failure, Loaded } from "../../design/states.tsx";
import { visibleLine } from "../../design/visible.ts";
import { TrustBadge } from "./skill-list.tsx";

/** A skill with its instructions and files, and the buttons that trust it. */
export function SkillDetail({
  id,
  workspace,
  onClose,
}: {
  id: string;
  workspace: string | undefined;
  onClose: () => void;
}) {
  const place = workspace === undefined || workspace === "" ? {} : { workspace };
  const query = useGet(["skills", "detail", id, workspace], skillOperations.showSkill, {
    query: { skill: id, ...place },
  });
  return (
    <Panel title={visibleLine(id)} actions={<Button onClick={onClose}>Close</Button>}>
      <Loaded query={query} what="Loading the skill">
        {(details) => <Details details={details} place={place} />}
      </Loaded>
    </Panel>
  );
}

function Details({ details, place }: { details: SkillDetails; place: { workspace?: string } }) {
  const { skill, body, files, faults } = details;
  return (
    <>
      <Facts
        facts={{
          Trust: <TrustBadge trust={skill.trust} />,
          Reason: skill.trust.reason && visibleLine(skill.trust.reason),
          Layer: skill.layer,
          Folder: <span className="font-mono text-xs break-all">{visibleLine(skill.origin)}</span>,
          Description: visibleLine(skill.description),
          "Use when": visibleLine(skill.when_to_use),
          Tools: skill.allowed_tools.map(visibleLine).join(", "),
          Files: skill.paths.map(visibleLine).join(", "),
          "Used by": skill.disable_model_invocation && "people only",
          "Not applied": skill.not_applied.map(visibleLine).join(", "),
          Digest: skill.digest && <span className="font-mono text-xs break-all">{skill.digest}</span>,
          "Not covered": faults.map(visibleLine).join("; "),
        }}
      />
      <TrustControl details={details} place={place} />
      <Section title={`Files (${files.length})`}>
        <ul className="max-h-40 overflow-auto px-3 py-1 font-mono text-xs">
          {files.map(({ path, executable }) => (
            <li key={path} className="break-all">
              {visibleLine(path)}
              {executable && " (executable)"}
            </li>
          ))}
        </ul>
      </Section>
      <Section title="Instructions">
        <Code text={body} className="m-2 max-h-[32rem]" />
      </Section>
    </>
  );
}

function TrustControl({ details, place }: { details: SkillDetails; place: { workspace?: string } }) {
  const { skill, faults } = details;
  const { digest = "" } = skill;
  const trust = useChange(["skills"], () =>
    call(skillOperations.trustSkill, { body: { skill: skill.id, digest, ...place } }),
  );
  const distrust = useChange(["skills"], () => call(skillOperations.distrustSkill, { params: { digest } }));
  const isOfWorkspace = skill.layer === "project" || skill.layer === "package";
  return (
    <div className="flex flex-col gap-1 px-3 pb-2">
      {skill.trust.status === "untrusted" && isOfWorkspace && faults.length === 0 && (
        <>
          <p className="text-2xs text-ink-faint">
            Trust counts for exactly these files and ends when any of them changes.
          </p>
          <Button kind="primary" disabled={trust.isPending} onClick={() => trust.mutate()}>
            I have read it: trust this content
          </Button>
        </>
      )}
      {skill.trust.by === "grant" && (
        <Button kind="danger" disabled={distrust.isPending} onClick={() => distrust.mutate()}>
          No longer trust it
        </Button>
      )}
      <Failure error={trust.error ?? distrust.error} />
    </div>
  );
}
