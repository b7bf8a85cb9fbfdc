import type { Approval } from "@reins/api";
import { Choice, Field } from "../../design/field.tsx";
import { visible } from "../../design/visible.ts";
import { effectText, saysAll } from "./effect-text.ts";

const LENGTHS = [
  ["", "until it is taken back"],
  [3_600_000, "for an hour"],
  [86_400_000, "for a day"],
  [7 * 86_400_000, "for a week"],
] as const;

/** The grant that an "always" makes, before it is made. */
export function GrantPreview({
  approval,
  expires,
  onExpires,
}: {
  approval: Approval;
  expires: number | undefined;
  onExpires: (milliseconds: number | undefined) => void;
}) {
  const { agent, user, chain, facts, cwd, enforcement } = approval;
  return (
    <div className="flex flex-col gap-2 rounded border border-line bg-sunken px-3 py-2 text-sm">
      <p className="font-medium">“Always” would grant exactly this, in any session:</p>
      <ul className="list-disc pl-5">
        <li>
          to <b>{visible(agent)}</b>, for {visible(user)}
          {chain.length > 0 && `, reached through ${visible(chain.join(", "))}`}, held at level {enforcement}
        </li>
        {facts.effects.map((effect) => (
          <li key={JSON.stringify(effect)} className="font-mono text-xs break-all">
            {visible(effectText(effect))}
          </li>
        ))}
        <li>
          with the tool <code>{visible(facts.tool)}</code>, in{" "}
          <code className="break-all">{visible(cwd)}</code>
          {saysAll(facts) ? ", whatever else its arguments say" : ", with exactly these arguments"}
        </li>
      </ul>
      <Field label="How long">
        {(id) => (
          <Choice
            id={id}
            className="max-w-56"
            value={expires ?? ""}
            onChange={({ target }) => onExpires(target.value === "" ? undefined : Number(target.value))}
          >
            {LENGTHS.map(([length, name]) => (
              <option key={name} value={length}>
                {name}
              </option>
            ))}
          </Choice>
        )}
      </Field>
    </div>
  );
}
