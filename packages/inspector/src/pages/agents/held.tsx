import type { AgentDetail } from "@reins/api";
import { Facts } from "../../design/facts.tsx";
import { Markdown } from "../../design/markdown.tsx";
import { Moment } from "../../design/moment.tsx";
import { LevelBadge } from "../../design/verdict.tsx";
import { VerificationBadge } from "./verification-badge.tsx";

/** How far an agent is held to a verdict, and how that is known. */
export function Held({ agent: { enforcement, verification, hostile } }: { agent: AgentDetail }) {
  const faults = verification.faults ?? [];
  const tried = Object.entries(verification.held ?? {}).map(([what, held]) => `${what}: ${held}`);
  return (
    <section className="border-t border-line">
      <h3 className="px-3 pt-2 text-2xs font-medium text-ink-faint">How far it is held</h3>
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
              {verification.state === "not_needed" && "not needed: Reins itself carries its actions out"}
              {verification.state === "unverified" && "nobody has proved yet that it asks"}
              {verification.at !== undefined && <Moment at={verification.at} />} {verification.why}
            </span>,
          ],
          ...(tried.length > 0 ? ([["Told to", tried.join(", ")]] as const) : []),
          ...(enforcement.unasked.length > 0
            ? ([["Does unasked", enforcement.unasked.join(", ")]] as const)
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
