import type { Harness, Principal } from "@reins/supervisor";
import { standingKey } from "./derived-key.ts";
import type { Haak, InitializedSession } from "./haak.ts";

/** What preloading stands on. */
export interface PreloadOptions {
  readonly harness: Pick<Harness, "policies">;
  readonly haak: Pick<Haak, "init">;
  /** Whose sessions the standing agents have. */
  readonly principal: Principal;
  /** Told of an agent whose session cannot be had; the others get theirs. */
  readonly onError: (error: unknown) => void;
}

/** Gives every standing agent its session, `{agent_id}:cli:local`, which is never evicted. */
export async function preloadStanding(options: PreloadOptions): Promise<readonly InitializedSession[]> {
  const { harness, haak, principal, onError } = options;
  const { roster } = harness.policies;
  const agents = new Set(roster.entries.map(({ session_id }) => session_id));
  const loaded: InitializedSession[] = [];
  for (const agent_id of agents) {
    if (roster.trustOf(agent_id) !== "standing") continue;
    const { backend, model } = { backend: undefined, model: undefined, ...roster.find(agent_id) };
    const params = {
      agent_id,
      session_key: standingKey(agent_id),
      mode: "persistent" as const,
      ...(typeof backend === "string" && { backend }),
      ...(typeof model === "string" && { model }),
    };
    try {
      loaded.push(await haak.init(principal, params));
    } catch (error) {
      onError(new Error(`the session of ${agent_id} cannot be had`, { cause: error }));
    }
  }
  return loaded;
}
