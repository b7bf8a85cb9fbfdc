import type { Approval } from "@reins/api";
import { Choice, Field } from "../../design/field.tsx";
import { visibleLine } from "../../design/visible.ts";
import { commandText, effectText, saysAll } from "./effect-text.ts";

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
  prefix,
  onExpires,
  onPrefix,
}: {
  approval: Approval;
  expires: number | undefined;
  prefix: string[] | undefined;
  onExpires: (milliseconds: number | undefined) => void;
  onPrefix: (prefix: string[] | undefined) => void;
}) {
  const { agent, user, chain, facts, cwd, enforcement, prefixes = [], input_state = {} } = approval;
  const depends = Object.keys(input_state).length > 0;
  return (
    <div className="flex flex-col gap-2 rounded border border-line bg-sunken px-3 py-2 text-sm">
      <p className="font-medium">“Always” would grant exactly this, in any session:</p>
      <ul className="list-disc pl-5">
        <li>
          to <b>{visibleLine(agent)}</b>, for {visibleLine(user)}
          {chain.length > 0 && `, reached through ${visibleLine(chain.join(", "))}`}, held at level{" "}
          {enforcement}
        </li>
        {prefix ? (
          <li>
            every single command that begins with{" "}
            <code className="whitespace-pre-wrap">{commandText(prefix)}</code>, without redirections,
            substitutions or variables, and naming nothing outside of the folder
          </li>
        ) : (
          facts.effects.map((effect) => (
            <li key={JSON.stringify(effect)} className="font-mono text-xs whitespace-pre-wrap break-all">
              {effectText(effect)}
            </li>
          ))
        )}
        <li>
          with the tool <code className="whitespace-pre-wrap">{visibleLine(facts.tool)}</code>, in{" "}
          <code className="whitespace-pre-wrap break-all">{visibleLine(cwd)}</code>
          {!prefix &&
            (saysAll(facts) ? ", whatever else its arguments say" : ", with exactly these arguments")}
        </li>
        {depends && <li>as long as the scripts and manifests it depends on are what they are now</li>}
      </ul>
      {prefixes.length > 0 && (
        <Field label="What">
          {(id) => (
            <Choice
              id={id}
              className="max-w-96"
              value={prefix ? prefixes.findIndex((one) => one.join("\0") === prefix.join("\0")) : ""}
              onChange={({ target }) =>
                onPrefix(target.value === "" ? undefined : prefixes[Number(target.value)])
              }
            >
              <option value="">exactly this command</option>
              {prefixes.map((words, index) => (
                <option key={words.join("\0")} value={index}>
                  {commandText(words)} … here
                </option>
              ))}
            </Choice>
          )}
        </Field>
      )}
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
