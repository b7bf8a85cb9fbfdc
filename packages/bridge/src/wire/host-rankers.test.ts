import { channelPair, Peer } from "@reins/acp";
import { expect, test } from "vitest";
import { skillWith } from "../../test/skills.ts";
import { ToolIndex } from "../search/tool-index.ts";
import { searchTools } from "../search/tool-search.ts";
import { matchSkills } from "../skills/match.ts";
import { hostRankers, PeerBridge, serveHost } from "./peer-bridge.ts";

const { signal } = new AbortController();
const tool = (name: string, description: string) => ({ name, description, parameters: null });
const TOOLS = [
  tool("deploy_service", "Deploys a new version of a service"),
  tool("rollback_service", "Returns a service to its earlier version"),
  tool("query_metrics", "Reads time series"),
];

/** An agent's bridge to a host that ranks. */
function bridgeToHost(known: typeof TOOLS = []) {
  const [ours, theirs] = channelPair();
  serveHost(theirs, hostRankers(known));
  const peer = new Peer(ours, { request: async () => undefined, notification: () => undefined });
  return new PeerBridge(peer);
}

test("a host finds the tools that the agent's own search would, of those that it is asked about", async () => {
  const bridge = bridgeToHost();
  const askHost = (params: object) => bridge.call("s", "tool_search/query", { ...params }, signal);
  const index = new ToolIndex(TOOLS);
  const found = await searchTools(index, "ship a version", { strategy: "host", askHost }, signal);
  const own = await searchTools(index, "ship a version", { strategy: "bm25" }, signal);
  expect(found.hits.map(({ name }) => name)).toEqual(own.hits.map(({ name }) => name));
  const none = await searchTools(index, "zebra", { strategy: "semantic", askHost }, signal);
  expect(none).toMatchObject({ hits: [], diagnostic: expect.stringContaining("no tool matches") });
});

test("a host that gets names alone describes those that it knows", async () => {
  const [params] = [{ strategy: "host", query: "time series", candidates: ["query_metrics", "other"] }];
  expect(await bridgeToHost(TOOLS).call("s", "tool_search/query", params, signal)).toEqual({
    tool_names: ["query_metrics"],
  });
});

test("a host matches the skills that the agent's own ranker would", async () => {
  const bridge = bridgeToHost();
  const skills = [
    skillWith({ id: "acme/ship", description: "Ship a production release", whenToUse: "deploy" }),
    skillWith({ id: "review", description: "Review code for correctness" }),
  ];
  const settings = { strategy: "host", topN: 1, sticky: true };
  const host = (_: string, params: object) => bridge.call("s", "skill/match", { ...params }, signal);
  const prompt = "Ship the new release to production";
  const [byHost, own] = await Promise.all([
    matchSkills({ prompt, skills, settings, host }, signal),
    matchSkills({ prompt, skills, settings: { ...settings, strategy: "metadata" } }, signal),
  ]);
  expect(byHost.warnings).toEqual([]);
  expect(byHost.matches).toMatchObject([{ skill: { id: "acme/ship" }, score: own.matches[0]?.score }]);
});

test.each([
  ["tool_search/query", {}],
  ["tool_search/query", { query: "x", candidates: [1] }],
  ["tool_search/query", { query: "x", candidates: new Array(10_001).fill("a") }],
  ["skill/match", { prompt: 1, candidates: [] }],
  ["skill/match", { prompt: "x", candidates: ["a"] }],
] as const)("a host refuses %s with wrong parameters", async (method, params) => {
  await expect(bridgeToHost().call("s", method, params, signal)).rejects.toMatchObject({ code: "failed" });
});
