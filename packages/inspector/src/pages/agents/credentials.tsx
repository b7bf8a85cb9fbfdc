import type { AgentDetail } from "@reins/api";
import { Badge } from "../../design/badge.tsx";

/** Which credentials an agent would find, by name; what is in them is never shown. */
export function Credentials({ agent: { credentials } }: { agent: AgentDetail }) {
  const { found, missing } = credentials;
  return (
    <section className="border-t border-line px-3 py-2">
      <h3 className="pb-1 text-2xs font-medium text-ink-faint">Credentials</h3>
      {found.length + missing.length === 0 ? (
        <p className="text-sm text-ink-soft">It needs none.</p>
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
