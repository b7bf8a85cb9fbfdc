import { inline } from "../../why/inline.ts";

/** What must hold for a rule to match, a line for each clause. */
export function ConditionView({ condition }: { condition: Readonly<Record<string, unknown>> }) {
  const clauses = Object.entries(condition);
  if (clauses.length === 0) return <span className="text-ink-soft">everything</span>;
  return (
    <ul className="flex flex-col gap-0.5">
      {clauses.map(([name, asked]) => (
        <li key={name}>
          <span className="text-ink-faint">{name.replaceAll("_", " ")} </span>
          <span className="font-mono text-xs break-words">{inline(asked)}</span>
        </li>
      ))}
    </ul>
  );
}
