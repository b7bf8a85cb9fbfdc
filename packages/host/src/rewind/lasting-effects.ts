import { membersOf } from "@reins/acp";
import type { PlacedEntry } from "@reins/ledger";
import { chainOf } from "../graph/run-place.ts";
import type { HubContext } from "../hub/context.ts";
import { paged } from "../hub/interruption.ts";
import { earlierWork, type TriedChange } from "../native/earlier-work.ts";
import type { SessionRecord } from "../sessions/session-record.ts";

/** An action that a rewind does not undo: what it ran, wrote and spoke to, as far as that is known. */
export interface LastingEffect extends Pick<TriedChange, "tool" | "outcome"> {
  readonly runs: readonly string[];
  readonly writes: readonly string[];
  readonly hosts: readonly string[];
  /** Whether no verdict came before it. */
  readonly isUngated: boolean;
  /** The session of the sub-agent that did it. */
  readonly session: string | undefined;
}

const MOST_EFFECTS = 500;
const MOST_ENTRIES = 50_000;
const PAGE = 500;
/**
 * What a session and its sub-agents did since a time, RFC 3339, that may have changed something, by the ledger. Without what
 * they wrote to the files that are kept.
 */
export async function effectsSince(
  hub: Pick<HubContext, "harness" | "sessions">,
  record: SessionRecord,
  { at: since, kept }: { readonly at: string; readonly kept: ReadonlySet<string> },
): Promise<{ readonly effects: readonly LastingEffect[]; readonly isCut: boolean }> {
  const { ledger } = hub.harness;
  const effects: LastingEffect[] = [];
  let left = MOST_ENTRIES;
  const take = async (one: SessionRecord): Promise<void> => {
    const range = { entity_id: chainOf(one), since, limit: PAGE } as const;
    const entries: PlacedEntry["entry"][] = [];
    for await (const { entry } of paged((last?: PlacedEntry) =>
      ledger.read({ ...range, after: last?.seq }),
    )) {
      left -= 1;
      if (left < 0) break;
      entries.push(entry);
    }
    const done = earlierWork(entries, []).changes.filter(({ tool }) => !SHOWN_OTHERWISE.has(tool));
    const session = one === record ? undefined : one.id;
    effects.push(...done.map((change) => lasting(change, session)).filter((effect) => !isKept(effect, kept)));
    const { id: parent, tenant } = one;
    const children = paged((last?: SessionRecord) =>
      hub.sessions.stored({ tenant, parent, limit: PAGE, after: last?.id }),
    );
    for await (const child of children) if (left > 0 && child.last_activity >= since) await take(child);
  };
  await take(record);
  return { effects: effects.slice(0, MOST_EFFECTS), isCut: left < 0 || effects.length > MOST_EFFECTS };
}

/** What a sub-agent did is listed itself, and questions change nothing. */
const SHOWN_OTHERWISE: ReadonlySet<string> = new Set(["spawn_subagent", "ask_person", "session/rewind"]);

function lasting({ tool, outcome, isUngated, effects }: TriedChange, session?: string): LastingEffect {
  const known = Array.isArray(effects) ? effects.map(membersOf) : [];
  const all = (kind: string, member: string) =>
    known.flatMap((one) => (one.kind === kind && typeof one[member] === "string" ? [one[member]] : []));
  const runs = known.flatMap(({ kind, command, arguments: words }) =>
    kind === "exec"
      ? [[command, ...(Array.isArray(words) ? words : [])].map((one) => one ?? "…").join(" ")]
      : [],
  );
  const writes = [...new Set(all("write", "path"))];
  return { tool, outcome, isUngated, runs, writes, hosts: [...new Set(all("net", "host"))], session };
}

/** Whether all that an action did is in files that go back. */
function isKept({ runs, hosts, writes }: LastingEffect, kept: ReadonlySet<string>): boolean {
  return runs.length + hosts.length === 0 && writes.length > 0 && writes.every((path) => kept.has(path));
}
