import { type Channel, CODE, type JsonObject, Peer, RpcError } from "@reins/acp";
import { z } from "zod";
import { type SearchableTool, ToolIndex } from "../search/tool-index.ts";
import { searchTools } from "../search/tool-search.ts";
import { hostSkill } from "../skills/host-skills.ts";
import { rankSkills } from "../skills/rank.ts";

/** Answers one request of an agent. */
type Answer = (params: JsonObject, signal: AbortSignal) => unknown;

/** What a host offers to the agent at the other end of a channel; a method that is absent is answered as unknown. */
export type HostOffer = Readonly<Record<string, Answer>>;

/** What is done with the notifications of the agent. */
export type HostListener = (method: string, params: JsonObject) => void;

/**
 * The host's end of the bridge over any channel: ACP, or plain lines below it. Requests are answered concurrently, by
 * string and number ids alike; the end of the channel aborts what is being answered and fails what waits.
 */
export function serveHost(
  channel: Channel,
  offer: HostOffer,
  listener: HostListener = () => undefined,
): Peer {
  return new Peer(channel, {
    async request(method, params, { signal }) {
      const answer = Object.hasOwn(offer, method) ? offer[method] : undefined;
      if (!answer) throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
      return answer(params, signal);
    },
    notification: listener,
  });
}

const MAX_CANDIDATES = 10_000;
const MAX_SKILLS = 1_000;
const MAX_MATCHES = 20;

const ToolQuery = z.object({
  query: z.string(),
  candidates: z.array(z.string()).max(MAX_CANDIDATES),
  candidate_details: z.array(z.object({ name: z.string(), description: z.string() })).optional(),
});
const SkillQuery = z.object({
  prompt: z.string(),
  working_files: z.array(z.string()).default([]),
  candidates: z.array(z.looseObject({ name: z.string() })).max(MAX_SKILLS),
});

/**
 * Answers `tool_search/query` and `skill/match` of an agent with the rankers that the native agent has. `tools` are those
 * that the host itself knows: an agent may send the names of its candidates alone.
 */
export function hostRankers(tools: readonly Pick<SearchableTool, "name" | "description">[] = []): HostOffer {
  const known = new Map(tools.map(({ name, description }) => [name, description]));
  return {
    "tool_search/query": async (params, signal) => {
      const { query, candidates, candidate_details = [] } = parsed(ToolQuery, params);
      const described = new Map(candidate_details.map(({ name, description }) => [name, description]));
      const index = new ToolIndex(
        candidates.map((name) => ({
          ...{ name, parameters: null },
          description: described.get(name) ?? known.get(name) ?? "",
        })),
      );
      const { hits, diagnostic } = await searchTools(index, query, { strategy: "bm25" }, signal);
      const tool_names = hits.map(({ name }) => name);
      return { tool_names, ...(diagnostic !== undefined && { diagnostic }) };
    },
    "skill/match": (params) => {
      const { prompt, working_files, candidates } = parsed(SkillQuery, params);
      const skills = candidates.flatMap((candidate) => {
        try {
          return [hostSkill({ ...candidate, id: candidate.name })];
        } catch {
          // What has no name that could be matched is no candidate.
          return [];
        }
      });
      const matches = rankSkills(skills, { prompt, workingFiles: working_files });
      return {
        matches: matches
          .slice(0, MAX_MATCHES)
          .map(({ skill, score, reason }) => ({ name: skill.id, score, reason })),
      };
    },
  };
}

function parsed<Type extends z.ZodType>(type: Type, params: JsonObject): z.infer<Type> {
  const { data, error } = type.safeParse(params);
  if (error)
    throw new RpcError(CODE.invalidParams, z.prettifyError(error).slice(0, 500), undefined, { cause: error });
  return data;
}
