import type { Session } from "@reins/api";
import type { Hosting, SessionRecord } from "@reins/host";
import type { Harness } from "@reins/supervisor";

const MOST_PENDING = 500;

/** Sessions of one tenant as they are shown. What clients sent to begin them stays here. */
export async function shownSessions(
  hosting: Hosting,
  harness: Harness,
  records: readonly SessionRecord[],
): Promise<Session[]> {
  const { hub } = hosting;
  const [first] = records;
  if (!first) return [];
  const { tenant } = first;
  const [counts, pending] = await Promise.all([
    hub.countsOf(
      tenant,
      records.map(({ id }) => id),
    ),
    harness.approvals.list({ tenant, state: "pending", limit: MOST_PENDING }),
  ]);
  return records.map((record) => {
    const { sealed_servers: _, daemon: __, turn_after: ___, asked_after: ____, ...shown } = record;
    const { tenant: _____, ended, ...kept } = shown;
    const { agent } = hub.live(record.id) ?? {};
    const cost = agent?.governor.session(record.id)?.cost ?? 0;
    return {
      ...kept,
      ...(ended && { ended: { ...ended } }),
      additional_directories: [...record.additional_directories],
      settings: hub.settingsOf(record.id),
      event_count: counts.get(record.id) ?? 0,
      agent_runs: agent !== undefined,
      trust: harness.policies.roster.trustOf(record.acts_as ?? record.agent),
      ...enforcementOf(hosting, record.agent),
      ...(cost > 0 && { cost_usd: cost }),
      pending_approvals: pending.filter(({ session }) => session === record.id).length,
    };
  });
}

/** How far an agent is held to a verdict; nothing for one that the catalogue has no more. */
function enforcementOf({ catalogue, host }: Hosting, agent: string): Pick<Partial<Session>, "enforcement"> {
  const entry = catalogue.entries.find(({ id }) => id === agent);
  if (!entry) return {};
  if (entry.builtIn) return { enforcement: "performed" };
  return { enforcement: host.networkFor(agent) === undefined ? entry.enforcement.level : "confined" };
}
