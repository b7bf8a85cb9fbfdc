import type { Session } from "@reins/api";
import type { Hub, SessionRecord } from "@reins/host";

/** Sessions of one tenant as they are shown. What clients sent to begin them stays here. */
export async function shownSessions(hub: Hub, records: readonly SessionRecord[]): Promise<Session[]> {
  const [first] = records;
  if (!first) return [];
  const counts = await hub.countsOf(
    first.tenant,
    records.map(({ id }) => id),
  );
  return records.map((record) => {
    const { mcp_servers: _, meta: __, turn_after: ___, tenant: ____, ended, ...kept } = record;
    return {
      ...kept,
      ...(ended && { ended: { ...ended } }),
      additional_directories: [...record.additional_directories],
      settings: hub.settingsOf(record.id),
      event_count: counts.get(record.id) ?? 0,
      agent_runs: hub.live(record.id)?.agent !== undefined,
    };
  });
}
