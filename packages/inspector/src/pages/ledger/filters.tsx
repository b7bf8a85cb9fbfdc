import { LedgerQuality } from "@reins/api";
import { useEffect, useState } from "react";
import { z } from "zod";
import { Button } from "../../design/button.tsx";
import { Choice, Field, TextInput } from "../../design/form.tsx";

const AGO = [
  ["", "any time"],
  ["1", "the last hour"],
  ["24", "the last day"],
  ["168", "the last week"],
] as const;

/** Filters the ledger. Filters are search parameters, so a view has an address. */
export function Filters({
  search,
  onChange,
}: {
  search: LedgerSearch;
  onChange: (search: LedgerSearch) => void;
}) {
  const set = (change: LedgerSearch) => onChange(LedgerSearch.parse({ ...search, ...change }));
  const isNarrowed = Object.values(search).some((value) => value !== undefined);
  return (
    <form
      aria-label="Filters"
      className="grid grid-cols-2 items-end gap-2 md:flex md:flex-wrap"
      onSubmit={(event) => event.preventDefault()}
    >
      <Field label="Quality">
        {(id) => (
          <Choice
            id={id}
            value={search.quality ?? ""}
            onChange={({ target }) => set({ quality: LedgerQuality.safeParse(target.value).data })}
          >
            <option value="">all</option>
            {LedgerQuality.options.map((quality) => (
              <option key={quality} value={quality}>
                {quality.replaceAll("_", " ")}
              </option>
            ))}
          </Choice>
        )}
      </Field>
      <Field label="Verdict">
        {(id) => (
          <Choice
            id={id}
            value={VERDICT_TAGS.find((tag) => tag === search.tag) ?? ""}
            onChange={({ target }) => set({ tag: target.value || undefined })}
          >
            <option value="">any</option>
            {VERDICT_TAGS.map((tag) => (
              <option key={tag}>{tag}</option>
            ))}
          </Choice>
        )}
      </Field>
      <Words
        label="Actor"
        value={search.agent}
        placeholder="agent or user"
        onChange={(agent) => set({ agent })}
      />
      <Words
        label="Session"
        value={search.session}
        placeholder="its key, or reins:system"
        onChange={(session) => set({ session })}
      />
      <Words label="Tag" value={search.tag} placeholder="call:…, turn:…" onChange={(tag) => set({ tag })} />
      <Field label="Since">
        {(id) => (
          <Choice
            id={id}
            value={search.since === undefined ? "" : "chosen"}
            onChange={({ target }) => set({ since: hoursAgo(target.value) })}
          >
            {AGO.map(([hours, name]) => (
              <option key={hours} value={hours}>
                {name}
              </option>
            ))}
            {search.since !== undefined && (
              <option value="chosen">{new Date(search.since).toLocaleString()}</option>
            )}
          </Choice>
        )}
      </Field>
      {isNarrowed && (
        <Button kind="quiet" onClick={() => onChange({})}>
          Show all
        </Button>
      )}
    </form>
  );
}

/** A text filter that applies on blur or Enter, not on every key. */
function Words({
  label,
  value,
  placeholder,
  onChange,
}: {
  label: string;
  value: string | undefined;
  placeholder: string;
  onChange: (value: string | undefined) => void;
}) {
  const [text, setText] = useState(value ?? "");
  useEffect(() => setText(value ?? ""), [value]);
  const finish = () => text.trim() !== (value ?? "") && onChange(text.trim() || undefined);
  return (
    <Field label={label}>
      {(id) => (
        <TextInput
          id={id}
          value={text}
          placeholder={placeholder}
          className="md:w-44"
          onChange={({ target }) => setText(target.value)}
          onBlur={finish}
          onKeyDown={({ key }) => key === "Enter" && finish()}
        />
      )}
    </Field>
  );
}

function hoursAgo(hours: string): string | undefined {
  return hours === "" ? undefined : new Date(Date.now() - Number(hours) * 3_600_000).toISOString();
}

/** The search parameters of the ledger; invalid ones are ignored. */
export const LedgerSearch = z.object({
  quality: LedgerQuality.optional().catch(undefined),
  session: z.string().min(1).max(1_024).optional().catch(undefined),
  agent: z.string().min(1).max(1_024).optional().catch(undefined),
  tag: z.string().min(1).max(1_024).optional().catch(undefined),
  since: z.iso.datetime({ offset: true }).optional().catch(undefined),
});
export type LedgerSearch = z.infer<typeof LedgerSearch>;

/** Verdicts to filter by; each verdict entry carries its verdict as a tag. */
const VERDICT_TAGS = ["allowed", "ask", "blocked", "modify", "defer"] as const;
