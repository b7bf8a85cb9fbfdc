import { LedgerQuality } from "@reins/api";
import { useEffect, useState } from "react";
import { z } from "zod";
import { Button } from "../../design/button.tsx";
import { Choice, TextInput } from "../../design/form.tsx";
import { words } from "../../design/format.ts";

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
      <Choice
        label="Quality"
        value={search.quality ?? ""}
        options={[["", "all"], ...LedgerQuality.options.map((quality) => [quality, words(quality)] as const)]}
        onChange={(quality) => set({ quality: LedgerQuality.safeParse(quality).data })}
      />
      <Choice
        label="Verdict"
        value={VERDICT_TAGS.find((tag) => tag === search.tag) ?? ""}
        options={[["", "any"], ...VERDICT_TAGS]}
        onChange={(tag) => set({ tag: tag || undefined })}
      />
      <TextFilter
        label="Actor"
        value={search.agent}
        placeholder="agent or user"
        onChange={(agent) => set({ agent })}
      />
      <TextFilter
        label="Session"
        value={search.session}
        placeholder="its key, or reins:system"
        onChange={(session) => set({ session })}
      />
      <TextFilter
        label="Tag"
        value={search.tag}
        placeholder="call:…, turn:…"
        onChange={(tag) => set({ tag })}
      />
      <Choice
        label="Since"
        value={search.since === undefined ? "" : "chosen"}
        options={
          search.since === undefined
            ? AGO
            : [...AGO, ["chosen", new Date(search.since).toLocaleString()] as const]
        }
        onChange={(hours) => set({ since: hoursAgo(hours, Date.now()) })}
      />
      {isNarrowed && (
        <Button kind="quiet" onClick={() => onChange({})}>
          Show all
        </Button>
      )}
    </form>
  );
}

/** A text filter that applies on blur or Enter, not on every key. */
function TextFilter({
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
    <TextInput
      label={label}
      value={text}
      placeholder={placeholder}
      className="md:w-44"
      onChange={setText}
      onBlur={finish}
      onKeyDown={({ key }) => key === "Enter" && finish()}
    />
  );
}

/** The time some hours before now; none for an empty choice. */
export function hoursAgo(hours: string, now: number): string | undefined {
  return hours === "" ? undefined : new Date(now - Number(hours) * 3_600_000).toISOString();
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
